import { createMcpExpressApp } from "@modelcontextprotocol/express";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import express from "express";

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "routed", version: "1.0.0" });
  server.registerTool("hi", { description: "Greets" }, async () => ({ content: [{ type: "text", text: "hi" }] }));
  return server;
});

const app = createMcpExpressApp();
app.use(express.json());
// The handler for Node.
const node = toNodeHandler(handler);
app.all("/api/mcp", (req, res) => void node(req, res, req.body));

app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.error("listening"));
