import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpAgent } from "agents/mcp";

// TODO(mcp-edge): Counter was not migrated: it uses this.setState: keep such data in your own Durable Object or in D1 (docs/guides/data.md). See node_modules/mcp-edge/docs/migration/mcp-agent.md
export class Counter extends McpAgent<object, { count: number }> {
  server = new McpServer({ name: "counter", version: "1.0.0" });
  initialState = { count: 0 };

  async init() {
    this.server.tool("count", async () => {
      this.setState({ count: this.state.count + 1 });
      return { content: [{ type: "text", text: String(this.state.count) }] };
    });
  }
}

export default Counter.serve("/mcp");
