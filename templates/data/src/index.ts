/** The data server as a Cloudflare Worker. With `npm start`, it runs at http://127.0.0.1:8787/mcp. */
import { edge, page } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { server } from "./data.ts";

const app = edge(server, { use: [durable(), page()] });

export default app;
/** The Durable Object class that wrangler.toml names. */
export class McpObject extends app.McpObject {}
