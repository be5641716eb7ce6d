import { serve } from "@hono/node-server";
import { edge } from "mcp-edge/worker";
import { type InputRequired, McpServer, type ToolResult, elicitQuestion, inputRequired } from "mcp-edge";
import { Hono } from "hono";
import { serveStdio } from "mcp-edge/node";
import * as z from "zod/v4";

let count = 0;

function buildServer(publish?: (uri: string) => void): McpServer {
  const server = new McpServer({ name: "eras", version: "1.0.0" });
  server.tool("count", { description: "Counts" }, async (_args, ctx) => {
    count += 1;
    if (publish) publish("count://value");
    else if (ctx.client.era === "modern") await server.resourceUpdated("count://value");
    return { content: [{ type: "text", text: `${count} in the ${ctx.client.era} era` }] };
  });
  server.tool(
    "order",
    { description: "Orders", input: z.object({ what: z.string() }) },
    async ({ what }, ctx): Promise<ToolResult | InputRequired> => {
      const size = ctx.inputResponses?.size as { action?: string } | undefined;
      const state = ctx.requestState;
      if (!size) {
        return inputRequired({
            size: elicitQuestion("Which size?", { type: "object", properties: { size: { type: "string" } } }),
          }, what);
      }
      return { content: [{ type: "text", text: `${state}: ${size.action}` }] };
    },
  );
  return server;
}

if (process.argv.includes("--http")) {
  const mcpServer: McpServer = buildServer((uri) => mcpServer.resourceUpdated(uri));
  const handler = edge(mcpServer);
  const app = new Hono();
  app.all("/mcp", (c) => handler.fetch(c.req.raw));
  serve({ fetch: app.fetch, port: 3000 });
} else {
  void serveStdio(buildServer());
}
