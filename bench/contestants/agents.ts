/** Cloudflare's `agents`: its handler for stateless servers. */
import { createMcpHandler } from "agents/mcp/server";
import { makeServer } from "./sdk-v2-server.ts";

const handler = createMcpHandler(makeServer);
export default { fetch: (request: Request, env: unknown, ctx: ExecutionContext) => handler(request, env, ctx) };
