/**
 * The reference server as a Worker: what `npm start` runs and `wrangler deploy` would deploy.
 *
 * @module
 */
import { hub } from "../worker/hub/index.ts";
import { edge } from "../worker/index.ts";
import { durable } from "../worker/sessions/index.ts";
import { createReferenceServer } from "./server.ts";

const app = edge(createReferenceServer(), { sessions: durable(), notices: hub() });
export default app;
export const { McpSession, McpHub } = app;
