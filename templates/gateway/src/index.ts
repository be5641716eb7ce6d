/** The gateway as a Cloudflare Worker. With `npm start`, it runs at http://127.0.0.1:8787/mcp. */
import { authenticate, edge, page } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { identifyCaller } from "./callers.ts";
import { server } from "./gateway.ts";

const app = edge(server, { use: [durable(), authenticate(identifyCaller), page()] });

export default app;
/** The Durable Object classes that wrangler.toml names. */
export class McpObject extends app.McpObject {}
export { CallObject } from "./call-object.ts";
export { ListsObject } from "./lists-object.ts";
