import { McpServer } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { z } from "zod";

const server = new McpServer({ name: "next", version: "2.0.0" });

server.tool("echo", { input: z.object({ message: z.string() }) }, async ({ message }) => ({
  content: [{ type: "text", text: message }],
}));

const app = edge(server, { path: "/api/mcp" });
const handler = (request: Request) => app.fetch(request);

export { handler as GET, handler as POST };
