import { serve } from "@hono/node-server";
import { edge } from "mcp-edge/worker";
import { McpServer } from "mcp-edge";
import { Hono } from "hono";

const getServer = () => {
  const server = new McpServer({ name: "hono", version: "1.0.0" });
  server.tool("hi", { description: "Greets" }, () => ({ content: [{ type: "text", text: "hi" }] }));
  return server;
};

const app = new Hono();

app.get("/health", (c) => c.json({ status: "ok" }));

// A transport and a server for each request.
app.route("/", edge(getServer, { path: "/api/mcp" }));

serve({ fetch: app.fetch, port: 3000 });
