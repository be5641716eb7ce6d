import { McpServer } from "../../src/core/index.ts";
import { hub } from "../../src/worker/hub/index.ts";
import { edge } from "../../src/worker/index.ts";
import { keys } from "../../src/worker/keys/index.ts";
import { sessions } from "../../src/worker/sessions/index.ts";
import { nameSchema } from "./tool.ts";

const server = new McpServer({ name: "size", version: "1.0.0" });
server.tool("greet", { input: nameSchema }, ({ name }) => `Hello, ${name}!`);

const app = edge(server, { use: [sessions(), hub(), keys()] });
export default app;
export const { McpObject } = app;
