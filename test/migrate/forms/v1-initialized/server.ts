import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "initialized", version: "1.0.0" });
let folders: string[] = [];

server.registerTool("folders", { description: "Lists the folders", inputSchema: {} }, async () => {
  return { content: [{ type: "text", text: folders.join(" ") }] };
});
server.registerTool("open", { description: "Opens a folder", inputSchema: { name: z.string() } }, ({ name }) => ({
  content: [{ type: "text", text: folders.includes(name) ? "open" : "closed" }],
}));

server.server.oninitialized = async () => {
  if (!server.server.getClientCapabilities()?.roots) return;
  const { roots } = await server.server.listRoots();
  folders = roots.map((root) => root.uri);
};

await server.connect(new StdioServerTransport());
