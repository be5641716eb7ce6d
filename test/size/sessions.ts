import { McpServer } from "../../src/core/index.ts";
import { hub } from "../../src/worker/hub/index.ts";
import { edge } from "../../src/worker/index.ts";
import { keys } from "../../src/worker/keys/index.ts";
import { durable } from "../../src/worker/sessions/index.ts";
import { nameSchema } from "./tool.ts";

const server = new McpServer({ name: "size", version: "1.0.0" });
server.tool("greet", { input: nameSchema }, ({ name }) => `Hello, ${name}!`);

const app = edge(server, { sessions: durable(), notices: hub(), keys: keys() });
export default app;
export const { McpSession, McpHub, McpKeys } = app;
