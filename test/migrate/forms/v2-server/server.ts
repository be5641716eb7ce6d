import { serve } from "@hono/node-server";
import { createMcpHonoApp } from "@modelcontextprotocol/hono";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { createMcpHandler, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod/v4";

function buildServer(): McpServer {
  const server = new McpServer({ name: "modern", version: "1.0.0" }, { instructions: "Hello" });
  server.registerTool(
    "work",
    { description: "Works", inputSchema: z.object({ steps: z.number() }) },
    async ({ steps }, ctx): Promise<CallToolResult> => {
      await ctx.mcpReq.log("info", `${steps} steps`);
      await ctx.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken: ctx.mcpReq._meta?.progressToken ?? 0, progress: steps },
      });
      const answer = await ctx.mcpReq.elicitInput({
        message: "Continue?",
        requestedSchema: { type: "object", properties: { yes: { type: "boolean" } } },
      });
      return { content: [{ type: "text", text: ctx.mcpReq.signal.aborted ? "stopped" : answer.action }] };
    },
  );
  server.registerResource(
    "greeting",
    new ResourceTemplate("greeting://{name}", { list: undefined }),
    { description: "Greets" },
    async (uri, variables) => ({ contents: [{ uri: uri.href, text: `Hello ${variables.name}` }] }),
  );
  return server;
}

if (process.argv.includes("--http")) {
  const handler = createMcpHandler(buildServer);
  const app = createMcpHonoApp();
  app.all("/mcp", (c) => handler.fetch(c.req.raw));
  serve({ fetch: app.fetch, port: 3000 });
} else {
  void serveStdio(buildServer);
}
