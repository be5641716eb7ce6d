/** The Worker whose costs of signing in are counted: an authorization server with default options. */

import { authorizationServer } from "../../src/authorization-server/index.ts";
import { McpServer } from "../../src/core/index.ts";
import { durable } from "../../src/worker/durable/index.ts";
import { edge } from "../../src/worker/index.ts";
import { believing } from "../../test/worker/fixtures/believing-provider.ts";
import { countedObject, countedWorker } from "./counted-worker.ts";

const server = new McpServer({ name: "cost", version: "1.0.0" });
server.tool("who", {}, (_, { auth }) => `${auth?.subject}`);
const client = { id: "known", name: "Known", redirectUris: ["https://known.example/callback"] };
const auth = authorizationServer({
  name: "Cost",
  identity: believing("people"),
  allow: { anyone: true },
  clients: [client],
});
const app = edge(server, { use: [durable({ binding: "MCP" }), auth] });
export default countedWorker(app);
export const McpObject = countedObject(app.McpObject);
