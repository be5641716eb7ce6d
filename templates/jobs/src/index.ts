/** The server as a Cloudflare Worker, with jobs run by alarms. With `npm start`, it runs at http://127.0.0.1:8787/mcp. */
import { edge, page } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { server } from "./jobs.ts";

const app = edge(server, { use: [durable(), page()] });

export default app;
/** The Durable Object classes that wrangler.toml names. */
export class McpObject extends app.McpObject {}
export { JobListObject } from "./job-list-object.ts";
