import { authorizationServer, oidc } from "../../src/authorization-server/index.ts";
import { McpServer } from "../../src/core/index.ts";
import { edge } from "../../src/worker/index.ts";
import { keys } from "../../src/worker/keys/index.ts";
import { nameSchema } from "./tool.ts";

const server = new McpServer({ name: "size", version: "1.0.0" });
server.tool("greet", { input: nameSchema }, ({ name }) => `Hello, ${name}!`);

const identity = oidc({ issuer: "https://login.example.com", clientId: "size", clientSecret: "secret" });
const auth = authorizationServer({ name: "Size", identity, allow: { domains: ["example.com"] } });
const app = edge(server, { use: [keys(), auth] });
export default app;
export class McpObject extends app.McpObject {}
