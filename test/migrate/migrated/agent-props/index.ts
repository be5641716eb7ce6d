import OAuthProvider from "@cloudflare/workers-oauth-provider";
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { bearer, workersOAuthProvider } from "mcp-edge/worker/auth";
import { McpServer } from "mcp-edge";
import { z } from "zod";

interface Env {
  readonly ADMIN: string;
}

type Props = { login: string };

function createServer(env: Env, props: Props): McpServer<Env> {
  function greeting(name: string) {
    return `Hello ${name}, ${props!.login}`;
  }

  const server = new McpServer<Env>({ name: "props", version: "1.0.0" });

  server.tool("greet", { input: z.object({ name: z.string() }) }, async ({ name }) => ({
    content: [{ type: "text", text: greeting(name) }],
  }));
  if (props!.login === env.ADMIN) {
    server.tool("secret", { input: z.object({}) }, async () => ({ content: [{ type: "text", text: "secret" }] }));
  }

  return server;
}

// The issuer names the authorization server in ctx.auth: write the URL of this Worker.
const verify = workersOAuthProvider({ claims: (props: Props) => ({ ...props }) });
export const app = edge((_request, env: Env, principal) => createServer(env, principal?.claims as Props), { use: [bearer({ issuer: "https://mcp.example.com", verify }), durable()] });
export class McpObject extends app.McpObject {}

export default new OAuthProvider({
  apiRoute: "/mcp",
  apiHandler: app as any,
  defaultHandler: { fetch: async () => new Response("Sign in") },
  authorizeEndpoint: "/authorize",
  tokenEndpoint: "/token",
  resourceMetadata: { resource: "https://mcp.example.com/mcp" },
});
