import { edge } from "mcp-edge/worker";
import { serveHttp } from "mcp-edge/node";
import { McpServer } from "mcp-edge";

function buildServer() {
  const server = new McpServer({ name: "node", version: "1.0.0" });
  server.tool("hi", { description: "Greets" }, async () => ({ content: [{ type: "text", text: "hi" }] }));
  return server;
}

const port = Number(process.env.PORT ?? 3000);
await serveHttp(edge(buildServer()), { port: port });
