/** The data server as a Cloudflare Worker. With `npm start`, it runs at http://127.0.0.1:8787/mcp. */
import { edge, page } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { files } from "mcp-edge/worker/files";
import { server, store } from "./data.ts";

// Files of more than 1 MB need an R2 bucket: files(store, { bucket: (env) => env.FILES }).
const app = edge(server, { use: [durable(), page(), files(store)] });

export default app;
/** The Durable Object class that wrangler.toml names. */
export class McpObject extends app.McpObject {}
