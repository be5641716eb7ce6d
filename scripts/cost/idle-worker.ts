/** The Worker whose idle objects are watched: everything of `durable()`, and `rates()`. */
import * as z from "zod";
import { McpServer } from "../../src/core/index.ts";
import { rates } from "../../src/worker/access/rates/index.ts";
import { durable } from "../../src/worker/durable/index.ts";
import { edge } from "../../src/worker/index.ts";

const server = new McpServer({ name: "idle", version: "1.0.0" });
server.tool("plain", {}, () => "done");
const asked = z.object({ yes: z.boolean() });
server.tool("question", {}, async (_, ctx) => (await ctx.elicit("Go on?", asked)).action);
server.tool("asks", { task: "optional" }, async (_, ctx) => {
  const { action } = await ctx.elicit("Go on?", asked);
  return action;
});
server.resource("test://one", { name: "one" }, () => "one");

const app = edge(server, {
  use: [durable({ binding: "MCP" }), rates({ principal: { max: 1_000_000, perMs: 60_000 } })],
});
export default app;
export class McpObject extends app.McpObject {}
