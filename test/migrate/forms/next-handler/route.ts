import { createMcpHandler } from "mcp-handler";
import { z } from "zod";

const handler = createMcpHandler(
  (server) => {
    server.registerTool("echo", { inputSchema: { message: z.string() } }, async ({ message }) => ({
      content: [{ type: "text", text: message }],
    }));
  },
  { serverInfo: { name: "next", version: "2.0.0" } },
  { basePath: "/api" },
);

export { handler as GET, handler as POST };
