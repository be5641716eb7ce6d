/** The weather server as a Cloudflare Worker. With `npm start`, it runs at http://127.0.0.1:8787/mcp. */
import { anonymous, edge, page } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { server } from "./weather.ts";

// The weather is public, so everyone may call. To require a token, run `mcp-edge add auth`.
const app = edge(server, { use: [durable(), page(), anonymous()] });

export default app;
/** The Durable Object class that wrangler.toml names. */
export class McpObject extends app.McpObject {}
