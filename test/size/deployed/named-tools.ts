/** The tools of `tools.ts`, with the import that bundles all of zod. A test compares the two files. */

import type { McpServer } from "mcp-edge";
import { z } from "zod";

const place = z.object({
  city: z.string().min(1).max(100).describe("Name of the place"),
  days: z.number().int().min(1).max(14).describe("How many days ahead"),
  units: z.enum(["metric", "imperial"]).optional().describe("Units of the answer"),
  tags: z.array(z.string()).max(10).optional().describe("Marks to put on the answer"),
});
const count = z.object({ count: z.number().int().min(0).describe("Events to report") });

export function addTools(server: McpServer): void {
  for (let number = 1; number <= 52; number += 1) {
    const input = place.extend({});
    server.tool(`forecast_${number}`, { description: `Forecast ${number}`, input }, ({ city }) => `${city}: sun`);
  }
  server.tool("report", { description: "Reports its progress", input: count }, (given, ctx) => {
    for (let progress = 1; progress <= given.count; progress += 1) ctx.progress(progress);
    return "done";
  });
}
