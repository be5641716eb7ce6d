/** mcp-edge as README recommends it, with room for the 100,000 events of growth runs: by default a stream keeps its newest 8 MiB. */
import { durable } from "../../src/worker/durable/index.ts";
import { edge, page } from "../../src/worker/index.ts";
import { makeServer } from "./ours-server.ts";

const MIB = 1024 * 1024;
const server = makeServer();
const sessions = { streamBytesMax: 64 * MIB, sessionBytesMax: 128 * MIB };
const app = edge(server, { use: [durable({ sessions }), page()] });
app.get("/tools-changed", async (context) => {
  await server.toolsChanged();
  return context.text("told");
});
export default app;
export const { McpObject } = app;
