import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { McpServer } from "mcp-edge";
import { z } from "zod";

/** The bindings. */
interface Env {
  readonly CITY: string;
}

const server = new McpServer<Env>({ name: "weather", version: "1.0.0" });

// Says where.
server.tool("where", {}, async (_args, ctx) => ({ content: [{ type: "text", text: ctx.env.CITY }] }));

server.tool("add", { input: z.object({ a: z.number(), b: z.number() }) }, async ({ a, b }) => ({
  content: [{ type: "text", text: String(a + b) }],
}));

export const app = edge(server, { use: [durable()] });
export class McpObject extends app.McpObject {}

export default {
  fetch(request: Request, env: Env, ctx: ExecutionContext) {
    const url = new URL(request.url);
    if (url.pathname === "/sse" || url.pathname === "/sse/message") {
      return app.fetch(request, env, ctx);
    }
    if (url.pathname === "/mcp") {
      return app.fetch(request, env, ctx);
    }
    return new Response("Not found", { status: 404 });
  },
};
