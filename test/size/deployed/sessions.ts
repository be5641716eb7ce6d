import { McpServer } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { hub, keys, sessions } from "mcp-edge/worker/durable";
import { addTools } from "./tools.ts";

const server = new McpServer({ name: "size", version: "1.0.0" });
addTools(server);

const app = edge(server, { use: [sessions(), hub(), keys()] });
export default app;
export class McpObject extends app.McpObject {}
