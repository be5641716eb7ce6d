// @module-tag long
/** A second isolate of the same Worker, with the configuration file of the documents, which has no bindings. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { startWorker } from "../../src/testing/index.ts";
import { until } from "../http/wire.ts";

/** Requests to /twin/mcp run in the second isolate. */
const SOURCE = `
import { McpServer } from "./src/core/index.ts";
import { durable } from "./src/worker/durable/index.ts";
import { anonymous, edge } from "./src/worker/index.ts";

const server = new McpServer({ name: "twins", version: "1.0.0" });
server.resource("app://news", {}, () => "news");
server.tool("change", {}, () => {
  server.resourceUpdated("app://news");
  return "changed";
});
const app = edge(server, { use: [durable(), anonymous()] });
export class McpObject extends app.McpObject {}
export class Shelf extends app.McpObject {}
export default {
  fetch(request, env, ctx) {
    const url = new URL(request.url);
    if (url.pathname !== "/twin/mcp") return app.fetch(request, env, ctx);
    url.pathname = "/mcp";
    return env.TWIN.fetch(new Request(url, request));
  },
};
`;
const configurationOf = (...classes: readonly string[]) =>
  [
    'name = "twins"\nmain = "index.ts"\ncompatibility_date = "2026-10-20"',
    'compatibility_flags = ["enable_request_signal"]',
    ...classes.map((name) => `[exports.${name}]\ntype = "durable-object"\nstorage = "sqlite"`),
  ].join("\n");

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "twin-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("both isolates use the same objects: a change in one reaches a subscriber of the other", async () => {
  const wrangler = join(folder, "one.toml");
  writeFileSync(wrangler, configurationOf("McpObject"));
  await using worker = await startWorker({ wrangler, entry: { source: SOURCE }, twin: true });
  const changed: string[] = [];
  const options = { name: "test", version: "1.0.0" };
  const onResourceUpdated = (uri: string) => void changed.push(uri);
  const subscriber = await connect(worker.url("/mcp"), { ...options, onResourceUpdated });
  const writer = await connect(worker.url("/twin/mcp"), options);
  await subscriber.subscribe("app://news");
  await writer.callTool("change");
  await until("the subscriber is notified", async () => changed.includes("app://news"));
  await Promise.all([subscriber.close(), writer.close()]);
});

test("a class without a binding is refused with the lines to write", async () => {
  const wrangler = join(folder, "two.toml");
  writeFileSync(wrangler, configurationOf("McpObject", "Shelf"));
  await expect(startWorker({ wrangler, entry: { source: SOURCE }, twin: true })).rejects.toThrow(
    /need a binding to use the same objects of the class Shelf\. .* objects: \{ BINDING: "Shelf" \}/,
  );
});
