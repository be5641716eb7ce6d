import { serve } from "@hono/node-server";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { Hono } from "hono";

const getServer = () => {
  const server = new McpServer({ name: "hono", version: "1.0.0" });
  server.registerTool("hi", { description: "Greets" }, () => ({ content: [{ type: "text", text: "hi" }] }));
  return server;
};

const app = new Hono();

app.get("/health", (c) => c.json({ status: "ok" }));

// A transport and a server for each request.
app.all("/api/mcp", async (c) => {
  const transport = new WebStandardStreamableHTTPServerTransport();
  const server = getServer();
  await server.connect(transport);
  return transport.handleRequest(c.req.raw);
});

// Only POST is used.
app.get("/api/mcp", (c) => c.text("", 405));

serve({ fetch: app.fetch, port: 3000 });
