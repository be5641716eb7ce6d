import { serve } from "@hono/node-server";
import { edge } from "mcp-edge/worker";
import { Hono } from "hono";
import { serveStdio } from "mcp-edge/node";
import { McpServer, type ToolResult } from "mcp-edge";
import * as z from "zod/v4";

function buildServer(): McpServer {
  const server = new McpServer({ name: "modern", version: "1.0.0", instructions: "Hello" });
  server.tool(
    "work",
    { description: "Works", input: z.object({ steps: z.number() }) },
    async ({ steps }, ctx): Promise<ToolResult> => {
      await ctx.log("info", `${steps} steps`);
      await ctx.progress(steps);
      const answer = await ctx.elicit("Continue?", { type: "object", properties: { yes: { type: "boolean" } } });
      return { content: [{ type: "text", text: ctx.signal.aborted ? "stopped" : answer.action }] };
    },
  );
  server.resourceTemplate(
    "greeting://{name}", { name: "greeting", description: "Greets" },
    async (uri, variables) => ({ contents: [{ uri: uri, text: `Hello ${variables.name}` }] }),
  );
  return server;
}

if (process.argv.includes("--http")) {
  const handler = edge(buildServer());
  const app = new Hono();
  app.all("/mcp", (c) => handler.fetch(c.req.raw));
  serve({ fetch: app.fetch, port: 3000 });
} else {
  void serveStdio(buildServer());
}
