/**
 * The reference server as a Worker: what `npm start` runs and `wrangler deploy` would deploy.
 *
 * @module
 */
import { httpSse } from "../worker/http-sse/index.ts";
import { hub } from "../worker/hub/index.ts";
import { edge } from "../worker/index.ts";
import { keys } from "../worker/keys/index.ts";
import { once } from "../worker/once/index.ts";
import { page } from "../worker/page/index.ts";
import { replay } from "../worker/replay/index.ts";
import { durable } from "../worker/sessions/index.ts";
import { tasks } from "../worker/tasks/index.ts";
import { createReferenceServer } from "./server.ts";

const app = edge(createReferenceServer(), {
  sessions: durable(),
  notices: hub(),
  keys: keys(),
  once: once(),
  tasks: tasks(),
  replay: replay(),
  httpSse: httpSse(),
  page: page(),
});
export default app;
export const { McpSession, McpHub, McpKeys, McpOnce, McpTask } = app;
