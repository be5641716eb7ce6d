/** The shop assistant as a Cloudflare Worker. With `npm start`, it runs at http://127.0.0.1:8787/mcp. */
import { anonymous, edge, page } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { server } from "./shop.ts";

// Everyone may shop. A basket is protected by its secret id.
const app = edge(server, { use: [durable(), page(), anonymous()] });

export default app;
/** The Durable Object classes that wrangler.toml names. */
export class McpObject extends app.McpObject {}
export { BasketObject } from "./basket-object.ts";
