import { edge } from "mcp-edge/worker";
import { serveHttp } from "mcp-edge/node";
import { McpServer } from "mcp-edge";

const getServer = () => {
  const server = new McpServer({ name: "http", version: "1.0.0" });
  server.tool("hi", {}, () => ({ content: [{ type: "text", text: "hi" }] }));
  return server;
};


const PORT = 3000;
await serveHttp(edge(getServer), { port: PORT });
