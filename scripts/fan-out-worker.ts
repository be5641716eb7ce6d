/** The Worker of fan-out-of.ts: notifications, through a hub whose objects take as many streams as a binding says. */
import { env } from "cloudflare:workers";
import { McpServer } from "../src/core/index.ts";
import { hub } from "../src/worker/hub/index.ts";
import { edge } from "../src/worker/index.ts";

const server = new McpServer({ name: "fan-out", version: "1.0.0" });
server.tool("plain", {}, () => "done");

const { STREAMS_MAX } = env as unknown as { readonly STREAMS_MAX: string };
const app = edge(server, { notices: hub({ streamsMax: Number(STREAMS_MAX) }) });
app.post("/publish", (context) => {
  server.toolsChanged();
  return context.body(null, 204);
});

export default app;
export const { McpObject } = app;
