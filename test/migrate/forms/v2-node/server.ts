import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";

function buildServer() {
  const server = new McpServer({ name: "node", version: "1.0.0" });
  server.registerTool("hi", { description: "Greets" }, async () => ({ content: [{ type: "text", text: "hi" }] }));
  return server;
}

const port = Number(process.env.PORT ?? 3000);
createServer(toNodeHandler(createMcpHandler(buildServer))).listen(port, () => console.error(`port ${port}`));
