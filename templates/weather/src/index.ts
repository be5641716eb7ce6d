/** The weather server as a Cloudflare Worker: http://127.0.0.1:8787/mcp under `npm start`. */
import { edge } from "mcp-edge/worker";
import { keys } from "mcp-edge/worker/keys";
import { page } from "mcp-edge/worker/page";
import { durable } from "mcp-edge/worker/sessions";
import { server } from "./weather.ts";

const app = edge(server, { sessions: durable(), keys: keys(), page: page() });

export default app;
export const { McpSession, McpKeys } = app; // the Durable Object classes bound in wrangler.toml
