/** mcp-edge with all that sessions need. */
import { hub } from "../../src/worker/hub/index.ts";
import { edge } from "../../src/worker/index.ts";
import { keys } from "../../src/worker/keys/index.ts";
import { durable } from "../../src/worker/sessions/index.ts";
import { makeServer } from "./ours-server.ts";

const app = edge(makeServer(), { sessions: durable(), notices: hub(), keys: keys() });
export default app;
export const { McpSession, McpHub, McpKeys } = app;
