import { serve } from "@hono/node-server";
import { createMcpHonoApp } from "@modelcontextprotocol/hono";
import type { CallToolResult, InputRequiredResult, McpRequestContext } from "@modelcontextprotocol/server";
import { createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod/v4";

let count = 0;

function buildServer(request: McpRequestContext, publish?: (uri: string) => void): McpServer {
  const server = new McpServer({ name: "eras", version: "1.0.0" });
  server.registerTool("count", { description: "Counts" }, async () => {
    count += 1;
    if (publish) publish("count://value");
    else if (request.era === "modern") await server.server.sendResourceUpdated({ uri: "count://value" });
    return { content: [{ type: "text", text: `${count} in the ${request.era} era` }] };
  });
  server.registerTool(
    "order",
    { description: "Orders", inputSchema: z.object({ what: z.string() }) },
    async ({ what }, ctx): Promise<CallToolResult | InputRequiredResult> => {
      const size = ctx.mcpReq.inputResponses?.size as { action?: string } | undefined;
      const state = ctx.mcpReq.requestState<string>();
      if (!size) {
        return inputRequired({
          requestState: what,
          inputRequests: {
            size: inputRequired.elicit({
              message: "Which size?",
              requestedSchema: { type: "object", properties: { size: { type: "string" } } },
            }),
          },
        });
      }
      return { content: [{ type: "text", text: `${state}: ${size.action}` }] };
    },
  );
  return server;
}

if (process.argv.includes("--http")) {
  const handler = createMcpHandler((request) => buildServer(request, (uri) => handler.notify.resourceUpdated(uri)));
  const app = createMcpHonoApp();
  app.all("/mcp", (c) => handler.fetch(c.req.raw));
  serve({ fetch: app.fetch, port: 3000 });
} else {
  void serveStdio((request) => buildServer(request));
}
