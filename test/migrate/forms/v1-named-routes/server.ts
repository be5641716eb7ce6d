import { randomUUID } from "node:crypto";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import type { Request, Response } from "express";

const getServer = () => {
  const server = new McpServer({ name: "routes", version: "1.0.0" });
  const ticks = setInterval(() => server.sendToolListChanged(), 60_000);
  server.server.onclose = () => {
    clearInterval(ticks);
  };
  server.server.onerror = (error) => console.error("[MCP Error]", error);
  server.registerTool("hi", { description: "Greets" }, () => ({ content: [{ type: "text", text: "hi" }] }));
  return server;
};

async function main() {
  const app = createMcpExpressApp();

  // The transports by the id of their session.
  const transports: Record<string, StreamableHTTPServerTransport> = {};

  const handlePost = async (req: Request, res: Response) => {
    const id = req.headers["mcp-session-id"] as string | undefined;
    let transport = id === undefined ? undefined : transports[id];
    if (!transport && isInitializeRequest(req.body)) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (created) => {
          if (transport) transports[created] = transport;
        },
      });
      const server = getServer();
      await server.connect(transport);
    }
    await transport?.handleRequest(req, res, req.body);
  };
  app.post("/mcp", handlePost);

  // Streams of notifications.
  async function handleGet(req: Request, res: Response) {
    await transports[String(req.headers["mcp-session-id"])]?.handleRequest(req, res);
  }
  app.get("/mcp", handleGet);

  app.listen(3000, () => console.log("listening"));
}

main().catch(console.error);
