/** The weather server as a Cloudflare Worker: http://127.0.0.1:8787/mcp under `npm start`. */
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/sessions";
import { server } from "./weather.ts";

const app = edge(server, { sessions: durable() });

export default app;
export const { McpSession } = app; // the Durable Object class bound in wrangler.toml
