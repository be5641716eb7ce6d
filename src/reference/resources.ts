/**
 * The reference server's resources.
 *
 * @module
 */
import type { McpServer } from "../core/index.ts";
import { IMAGE_PNG } from "./samples.ts";

export function addResources(server: McpServer): void {
  server.resource(
    "test://static-text",
    { name: "static-text", title: "Static text", description: "Text that never changes", mimeType: "text/plain" },
    () => "This is the content of the static text resource.",
  );
  server.resource(
    "test://static-binary",
    { name: "static-binary", description: "An image that never changes", mimeType: "image/png" },
    (uri) => ({ uri, blob: IMAGE_PNG }),
  );
  server.resource(
    "test://watched-resource",
    {
      name: "watched-resource",
      description: "Text whose subscribers are notified of changes",
      mimeType: "text/plain",
    },
    () => "This is the content of the watched resource.",
  );
  server.resource(
    "file:///logs/app.log",
    {
      name: "app.log",
      description: "The application's log",
      mimeType: "text/plain",
      annotations: { audience: ["user"] },
    },
    () => "2026-07-28T10:00:00Z INFO started\n2026-07-28T10:00:01Z WARN disk is 91 % full\n",
  );
  server.resourceTemplate(
    "logs://recent{?timeframe}",
    { name: "recent-logs", description: "Log lines of a time frame", mimeType: "text/plain" },
    (_, { timeframe }) => `2026-07-28T10:00:00Z INFO the last ${timeframe ?? "1h"} were quiet\n`,
  );
  server.resourceTemplate(
    "test://template/{id}/data",
    {
      name: "template-data",
      description: "Data of an id",
      mimeType: "application/json",
      complete: { id: (typed) => ["1", "12", "123"].filter((id) => id.startsWith(typed)) },
    },
    (_, { id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
  );
}
