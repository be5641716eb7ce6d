import { McpServer } from "../../../src/core/index.ts";
import { hub } from "../../../src/worker/hub/index.ts";
import { edge } from "../../../src/worker/index.ts";
import { keys } from "../../../src/worker/keys/index.ts";
import { sessions } from "../../../src/worker/sessions/index.ts";
import { addTools } from "./tools.ts";

const server = new McpServer({ name: "size", version: "1.0.0" });
addTools(server);

const app = edge(server, { sessions: sessions(), notices: hub(), keys: keys() });
export default app;
export class McpObject extends app.McpObject {}
