import { McpServer } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { bearer } from "mcp-edge/worker/auth";
import { durable, rates } from "mcp-edge/worker/durable";

const server = new McpServer({ name: "rates", version: "1.0.0" });
for (const name of ["cheap", "expensive"]) server.tool(name, { description: `A ${name} tool` }, () => "ok");

const limits = rates({ tools: { expensive: { max: 5, perMs: 60_000 } } });
const app = edge(server, { use: [durable(), bearer({ issuer: "https://login.example.com" }), limits] });
export default app;
export class McpObject extends app.McpObject {}
