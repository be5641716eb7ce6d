import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";

const server = new McpServer({ name: "notes", version: "1.0.0" });

server.registerResource("about", "notes://about", { mimeType: "text/plain" }, async (uri) => ({
  contents: [{ uri: uri.href, text: `About ${uri.host} at ${uri.toString()}` }],
}));

const template = new ResourceTemplate("notes://{id}", {
  list: async () => ({ resources: [{ uri: "notes://1", name: "One" }] }),
  complete: { id: (value) => ["1", "2"].filter((id) => id.startsWith(value)) },
});

server.registerResource("note", template, { title: "A note" }, async (uri: URL, { id }, extra) => ({
  contents: [{ uri: uri.href, text: `Note ${id} for ${extra.requestId}` }],
}));

export { server };
