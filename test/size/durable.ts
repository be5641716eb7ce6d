import { McpServer } from "../../src/core/index.ts";
import { durable } from "../../src/worker/durable/index.ts";
import { edge } from "../../src/worker/index.ts";
import { nameSchema } from "./tool.ts";

const server = new McpServer({ name: "size", version: "1.0.0" });
server.tool("greet", { input: nameSchema }, ({ name }) => `Hello, ${name}!`);

const app = edge(server, { use: [durable()] });
export default app;
export class McpObject extends app.McpObject {}
