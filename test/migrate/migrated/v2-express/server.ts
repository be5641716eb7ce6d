import { edge } from "mcp-edge/worker";
import { serveHttp } from "mcp-edge/node";
import { McpServer } from "mcp-edge";

const handler = edge((() => {
  const server = new McpServer({ name: "routed", version: "1.0.0" });
  server.tool("hi", { description: "Greets" }, async () => ({ content: [{ type: "text", text: "hi" }] }));
  return server;
})(), { path: "/api/mcp" });


await serveHttp(handler, { port: Number(process.env.PORT ?? 3000), hostname: "127.0.0.1" });
