import { jsonSchema } from "mcp-edge/json-schema";
import { McpServer, type PromptReturn, ToolError } from "mcp-edge";
import { serveStdio } from "mcp-edge/node";

const server = new McpServer(
  { name: "low-level", version: "1.0.0" }
);

const toolList = [
    {
      name: "add",
      description: "Adds two numbers",
      inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
    },
    { name: "fail", description: "Fails", inputSchema: { type: "object", properties: {} } },
  ];

const callTool = async (request: { params: { name: string; arguments: Record<string, any> } }) => {
  const { name, arguments: args } = request.params;
  switch (name) {
    case "add":
      return { content: [{ type: "text", text: String(Number(args?.a) + Number(args?.b)) }] };
    default:
      throw new ToolError(`${name} failed`);
  }
};
for (const { name, inputSchema, outputSchema: _output, ...listed } of toolList as readonly { name: string; inputSchema: object; outputSchema?: object }[]) {
  server.tool(name, { ...listed, input: jsonSchema({ ...inputSchema }) }, (args) =>
    callTool({ params: { name, arguments: args as Record<string, never> } }),
  );
}

const promptList = [{ name: "hello", description: "Says hello", arguments: [{ name: "who", required: true }] }];

const getPrompt = async (request: { params: { name: string; arguments?: Record<string, any> } }) => ({
  messages: [{ role: "user", content: { type: "text", text: `Hello ${request.params.arguments?.who}` } }],
});
for (const { name, ...listed } of promptList) {
  server.prompt(name, listed, async (args) => (await getPrompt({ params: { name, arguments: { ...args } } })) as PromptReturn);
}

server.resourceProvider({ list: async () => (await (async () => ({
  resources: [{ uri: "memo://1", name: "One" }],
}))()).resources, read: async (uri) => (async (request: { params: { uri: string } }) => {
  const { uri } = request.params;
  return { contents: [{ uri, text: "One" }] };
})({ params: { uri } }) });

console.error("running");
await serveStdio(server);
