/** mcp-edge with everything that sessions need. */
import { hub } from "../../src/worker/hub/index.ts";
import { edge } from "../../src/worker/index.ts";
import { keys } from "../../src/worker/keys/index.ts";
import { sessions } from "../../src/worker/sessions/index.ts";
import { makeServer } from "./ours-server.ts";

const app = edge(makeServer(), { use: [sessions(), hub(), keys()] });
export default app;
export const { McpObject } = app;
