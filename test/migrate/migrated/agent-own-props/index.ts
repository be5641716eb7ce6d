import * as z from "zod";
import { authenticate, edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { McpServer } from "mcp-edge";

interface Env {
  readonly CITY: string;
}

type Props = { token: string };

const server = new McpServer<Env>({ name: "own-props", version: "1.0.0" });

server.tool("token", { input: z.object({}) }, async (_args, ctx) => ({
  content: [{ type: "text", text: `${(ctx.auth?.claims as Props | undefined)!.token} in ${ctx.env.CITY}` }],
}));

// The Worker has authenticated the request and set the props, which become the claims of the principal. Sessions are bound to the subject.
// Replace the hash with the id of the user, which does not change when a token in the props is renewed.
const withProps = authenticate<Env>(async (_request, _env, execution) => {
  const { props } = execution as { readonly props?: Props };
  if (!props || Object.keys(props).length === 0) return "anonymous";
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(props)));
  const subject = Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { issuer: "https://mcp.example.com", subject, claims: { ...props } };
});
export const app = edge(server, { use: [withProps, durable()] });
export class McpObject extends app.McpObject {}

export default {
  fetch(request: Request, env: Env, ctx: ExecutionContext) {
    const token = request.headers.get("authorization");
    if (!token) return new Response("Unauthorized", { status: 401 });
    (ctx as { props: unknown }).props = { token };
    return app.fetch(request, env, ctx);
  },
};
