import OAuthProvider from "@cloudflare/workers-oauth-provider";
import { McpServer } from "@modelcontextprotocol/server";
import { createMcpHandler, getMcpAuthContext } from "agents/mcp/server";

function createServer() {
  const server = new McpServer({ name: "auth", version: "1.0.0" });
  server.registerTool("whoami", { description: "Names the user" }, async (context) => {
    const auth = getMcpAuthContext();
    const login = auth?.props?.login as string | undefined;
    const scopes = context.http?.authInfo?.scopes ?? [];
    return { content: [{ type: "text", text: `${login ?? "nobody"} ${scopes.join(" ")}` }] };
  });
  return server;
}

const apiHandler = createMcpHandler(createServer);

export default new OAuthProvider({
  apiRoute: "/mcp",
  apiHandler: apiHandler as any,
  defaultHandler: { fetch: async () => new Response("Sign in") },
  authorizeEndpoint: "/authorize",
  tokenEndpoint: "/token",
  resourceMetadata: { resource: "https://mcp.example.com/mcp" },
});
