import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import express from "express";

const getServer = () => {
  const server = new McpServer({ name: "http", version: "1.0.0" });
  server.registerTool("hi", {}, () => ({ content: [{ type: "text", text: "hi" }] }));
  return server;
};

const app = express();
app.use(express.json());

const transports: { [id: string]: StreamableHTTPServerTransport } = {};

app.post("/mcp", async (req, res) => {
  const id = req.headers["mcp-session-id"] as string | undefined;
  let transport: StreamableHTTPServerTransport;
  if (id && transports[id]) transport = transports[id];
  else if (isInitializeRequest(req.body)) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (session) => {
        transports[session] = transport;
      },
    });
    await getServer().connect(transport);
  } else {
    res.status(400).end();
    return;
  }
  await transport.handleRequest(req, res, req.body);
});

app.get("/mcp", async (_req, res) => {
  res.status(405).end();
});

const PORT = 3000;
app.listen(PORT, () => {
  console.log(`Listening on ${PORT}`);
});
