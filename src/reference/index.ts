/**
 * The reference server as a Worker. `npm start` runs it, and `wrangler deploy` would deploy it.
 *
 * @module
 */
import { durable } from "../worker/durable/index.ts";
import { edge } from "../worker/index.ts";
import { page } from "../worker/page/index.ts";
import { createReferenceServer } from "./server.ts";

const app = edge(createReferenceServer(), { use: [durable(), page()] });
export default app;
export class McpObject extends app.McpObject {}
