import OAuthProvider from "@cloudflare/workers-oauth-provider";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpAgent } from "agents/mcp";
import { z } from "zod";

interface Env {
  readonly ADMIN: string;
}

type Props = { login: string };

export class MyMCP extends McpAgent<Env, unknown, Props> {
  server = new McpServer({ name: "props", version: "1.0.0" });

  greeting(name: string) {
    return `Hello ${name}, ${this.props!.login}`;
  }

  async init() {
    this.server.tool("greet", { name: z.string() }, async ({ name }) => ({
      content: [{ type: "text", text: this.greeting(name) }],
    }));
    if (this.props!.login === this.env.ADMIN) {
      this.server.tool("secret", {}, async () => ({ content: [{ type: "text", text: "secret" }] }));
    }
  }
}

export default new OAuthProvider({
  apiRoute: "/mcp",
  apiHandler: MyMCP.serve("/mcp") as any,
  defaultHandler: { fetch: async () => new Response("Sign in") },
  authorizeEndpoint: "/authorize",
  tokenEndpoint: "/token",
  resourceMetadata: { resource: "https://mcp.example.com/mcp" },
});
