import OAuthProvider from "@cloudflare/workers-oauth-provider";
import { edge } from "mcp-edge/worker";
import { bearer, workersOAuthProvider } from "mcp-edge/worker/auth";
import { McpServer } from "mcp-edge";

function createServer() {
  const server = new McpServer({ name: "auth", version: "1.0.0" });
  server.tool("whoami", { description: "Names the user" }, async (_args, context) => {
    const auth = context.auth;
    const login = auth?.claims?.login as string | undefined;
    const scopes = context.auth?.scopes ?? [];
    return { content: [{ type: "text", text: `${login ?? "nobody"} ${scopes.join(" ")}` }] };
  });
  return server;
}

// The issuer names the authorization server in ctx.auth: write the URL of this Worker.
const verify = workersOAuthProvider({ claims: (props: Record<string, unknown>) => ({ ...props }) });
const apiHandler = edge(createServer(), { use: [bearer({ issuer: "https://mcp.example.com", verify })] });

export default new OAuthProvider({
  apiRoute: "/mcp",
  apiHandler: apiHandler as any,
  defaultHandler: { fetch: async () => new Response("Sign in") },
  authorizeEndpoint: "/authorize",
  tokenEndpoint: "/token",
  resourceMetadata: { resource: "https://mcp.example.com/mcp" },
});
