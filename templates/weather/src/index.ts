/** The weather server as a Cloudflare Worker: http://127.0.0.1:8787/mcp under `npm start`. */
import { anonymous, edge, page } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { server } from "./weather.ts";

// Weather is public: everyone may call. `mcp-edge add auth` admits only callers with a token.
const app = edge(server, { use: [durable(), page(), anonymous()] });

export default app;
/** The Durable Object class that wrangler.toml names. */
export class McpObject extends app.McpObject {}
