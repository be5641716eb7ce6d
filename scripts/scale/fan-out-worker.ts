/** The Worker of fan-out.ts: notifications, through a hub whose objects take as many streams as a binding says. */
import { env } from "cloudflare:workers";
import { McpServer } from "../../src/core/index.ts";
import { RoleObjects } from "../../src/worker/bindings.ts";
import type { HubRpc } from "../../src/worker/hub/hub-object.ts";
import { hub } from "../../src/worker/hub/index.ts";
import { edge } from "../../src/worker/index.ts";
import { hubName } from "../../src/worker/roles.ts";

const server = new McpServer({ name: "fan-out", version: "1.0.0" });
server.tool("plain", {}, () => "done");

const { STREAMS_MAX } = env as unknown as { readonly STREAMS_MAX: string };
const app = edge(server, { use: [hub({ streamsMax: Number(STREAMS_MAX) })] });
app.post("/publish", (context) => {
  server.toolsChanged();
  return context.body(null, 204);
});
/** Publishes, and answers with the milliseconds until the root has returned. */
app.post("/timed", async (context) => {
  const place = { className: "McpObject", binding: undefined, jurisdiction: undefined, locationHint: undefined };
  const objects = new RoleObjects<HubRpc>("hub", place);
  const beganMs = Date.now();
  await objects.call(objects.named(env, hubName(0)), "publish", [JSON.stringify({ kind: "tools" })]);
  return context.json(Date.now() - beganMs);
});

export default app;
export const { McpObject } = app;
