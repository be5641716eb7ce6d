/** mcp-edge with everything that sessions need. */
import { hub } from "../../src/worker/hub/index.ts";
import { edge } from "../../src/worker/index.ts";
import { keys } from "../../src/worker/keys/index.ts";
import { sessions } from "../../src/worker/sessions/index.ts";
import { makeServer } from "./ours-server.ts";

const MIB = 1024 * 1024;
const server = makeServer();
// Room for the 100,000 events of growth runs; by default a stream keeps its newest 8 MiB.
const caps = { streamBytesMax: 64 * MIB, sessionBytesMax: 128 * MIB };
const app = edge(server, { use: [sessions(caps), hub(), keys()] });
// Growth runs use this route to publish a notification.
app.get("/tools-changed", async (context) => {
  await server.toolsChanged();
  return context.text("told");
});
export default app;
export const { McpObject } = app;
