/** The Worker whose costs are counted: 53 tools, with sessions, hub and keys in their default settings. */
import * as z from "zod";
import { McpServer } from "../../src/core/index.ts";
import { hub } from "../../src/worker/hub/index.ts";
import { edge, objects } from "../../src/worker/index.ts";
import { keys } from "../../src/worker/keys/index.ts";
import { sessions } from "../../src/worker/sessions/index.ts";
import { countedObject, countedWorker } from "./counted-worker.ts";

const server = new McpServer({ name: "cost", version: "1.0.0" });
const place = z.object({ city: z.string().min(1), days: z.number().int().min(1).max(14) });
for (let number = 0; number < 52; number += 1) {
  const name = `forecast_${String(number).padStart(2, "0")}`;
  server.tool(name, { description: `Forecast ${number}`, input: place.extend({}) }, ({ city }) => `${city}: sun`);
}
const emitted = z.object({ count: z.number().int() });
server.tool("emit", { description: "Reports its progress", input: emitted }, async ({ count }, ctx) => {
  for (let progress = 1; progress <= count; progress += 1) {
    ctx.progress(progress);
    await undefined;
  }
  return "done";
});

const app = edge(server, { use: [sessions(), hub(), keys(), objects({ binding: "MCP" })] });
export default countedWorker(app);
export const McpObject = countedObject(app.McpObject);
