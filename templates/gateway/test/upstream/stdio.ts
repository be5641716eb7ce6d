/** A local server that asks questions, for `mcp-edge expose`. */
import { McpServer } from "mcp-edge";
import { serveStdio } from "mcp-edge/node";
import * as z from "zod";

const server = new McpServer({ name: "local", version: "1.0.0" });
server.tool("greet", {}, async (_, ctx) => {
  const answer = await ctx.elicit("Which size of name?", z.object({ size: z.string() }));
  return answer.action === "accept" ? `Hello, ${answer.content.size}!` : "Nobody.";
});
await serveStdio(server);
