import { McpServer } from "mcp-edge";

const server = new McpServer({ name: "notes", version: "1.0.0" });

server.resource("notes://about", { name: "about", mimeType: "text/plain" }, async (uri) => ({
  contents: [{ uri: uri, text: `About ${new URL(uri).host} at ${uri}` }],
}));

server.resourceTemplate("notes://{id}", { name: "note", title: "A note", complete: { id: (value) => ["1", "2"].filter((id) => id.startsWith(value)) } }, async (uri: string, { id }, extra) => ({
  contents: [{ uri: uri, text: `Note ${id} for ${extra.requestId}` }],
}));
server.resourceProvider({ list: async () => (await (async () => ({ resources: [{ uri: "notes://1", name: "One" }] }))()).resources, read: () => undefined });

export { server };
