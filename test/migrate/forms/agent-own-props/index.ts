import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpAgent } from "agents/mcp";

interface Env {
  readonly CITY: string;
}

type Props = { token: string };

export class MyMCP extends McpAgent<Env, null, Props> {
  server = new McpServer({ name: "own-props", version: "1.0.0" });

  async init() {
    this.server.tool("token", {}, async () => ({
      content: [{ type: "text", text: `${this.props!.token} in ${this.env.CITY}` }],
    }));
  }
}

export default {
  fetch(request: Request, env: Env, ctx: ExecutionContext) {
    const token = request.headers.get("authorization");
    if (!token) return new Response("Unauthorized", { status: 401 });
    (ctx as { props: unknown }).props = { token };
    return MyMCP.serve("/mcp").fetch(request, env, ctx);
  },
};
