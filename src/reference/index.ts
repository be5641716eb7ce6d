/**
 * The reference server as a Worker: what `npm start` runs and `wrangler deploy` would deploy.
 *
 * @module
 */
import { edge } from "../worker/index.ts";
import { durable } from "../worker/sessions/index.ts";
import { createReferenceServer } from "./server.ts";

const app = edge(createReferenceServer(), { sessions: durable() });

export default app;
export const { McpSession } = app;
