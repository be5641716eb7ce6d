import { edge } from "mcp-edge/worker";
import { McpServer } from "mcp-edge";
import { z } from "zod";

function createServer() {
  const server = new McpServer({ name: "stateless", version: "1.0.0" });
  server.tool("add", { input: z.object({ a: z.number(), b: z.number() }) }, async ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  return server;
}

const app = edge(createServer(), { path: "/tools" });

export default {
  fetch(request: Request, env: object, ctx: ExecutionContext) {
    return app.fetch(request, env, ctx);
  },
};
