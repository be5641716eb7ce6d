import { edge } from "mcp-edge/worker";
import { serveHttp } from "mcp-edge/node";
import { McpServer } from "mcp-edge";

const getServer = () => {
  const server = new McpServer({ name: "routes", version: "1.0.0" });
  const ticks = setInterval(() => server.toolsChanged(), 60_000);
  process.once("exit", () => {
    clearInterval(ticks);
  });
  server.tool("hi", { description: "Greets" }, () => ({ content: [{ type: "text", text: "hi" }] }));
  return server;
};

async function main() {


  await serveHttp(edge(getServer()), { port: 3000 });
}

main().catch(console.error);
