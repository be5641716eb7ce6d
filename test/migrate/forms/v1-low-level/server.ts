import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

const server = new Server(
  { name: "low-level", version: "1.0.0" },
  { capabilities: { tools: {}, prompts: {}, resources: {} } },
);

server.setRequestHandler(ListToolsRequestSchema, async () => ({
  tools: [
    {
      name: "add",
      description: "Adds two numbers",
      inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
    },
    { name: "fail", description: "Fails", inputSchema: { type: "object", properties: {} } },
  ],
}));

server.setRequestHandler(CallToolRequestSchema, async (request) => {
  const { name, arguments: args } = request.params;
  switch (name) {
    case "add":
      return { content: [{ type: "text", text: String(Number(args?.a) + Number(args?.b)) }] };
    default:
      throw new Error(`${name} failed`);
  }
});

server.setRequestHandler(ListPromptsRequestSchema, async () => ({
  prompts: [{ name: "hello", description: "Says hello", arguments: [{ name: "who", required: true }] }],
}));

server.setRequestHandler(GetPromptRequestSchema, async (request) => ({
  messages: [{ role: "user", content: { type: "text", text: `Hello ${request.params.arguments?.who}` } }],
}));

server.setRequestHandler(ListResourcesRequestSchema, async () => ({
  resources: [{ uri: "memo://1", name: "One" }],
}));

server.setRequestHandler(ReadResourceRequestSchema, async (request) => {
  const { uri } = request.params;
  return { contents: [{ uri, text: "One" }] };
});

const transport = new StdioServerTransport();
await server.connect(transport);
console.error("running");
