/** The Worker that sessions.ts fills: sessions, notifications and two minimal tools. */
import { McpServer } from "../../src/core/index.ts";
import { hub } from "../../src/worker/hub/index.ts";
import { edge } from "../../src/worker/index.ts";
import { sessions } from "../../src/worker/sessions/index.ts";

const server = new McpServer({ name: "scale", version: "1.0.0" });
server.tool("plain", {}, () => "done");
server.tool("change", {}, () => {
  server.toolsChanged();
  return "told";
});

const app = edge(server, { use: [sessions(), hub()] });

export default app;
export const { McpObject } = app;
