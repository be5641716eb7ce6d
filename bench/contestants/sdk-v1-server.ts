import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { EMIT, echoText, echoTools, emitInput, INFO, pauseOf } from "../tools.ts";

export function makeServer(): McpServer {
  const server = new McpServer(INFO);
  for (const { name, description, input } of echoTools) {
    server.registerTool(name, { description, inputSchema: input }, (given) => ({
      content: [{ type: "text", text: echoText(given) }],
    }));
  }
  server.registerTool(
    EMIT.name,
    { description: EMIT.description, inputSchema: emitInput },
    async ({ count, pace }, extra) => {
      const progressToken = extra._meta?.progressToken;
      for (let progress = 1; progressToken !== undefined && progress <= count; progress += 1) {
        await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress } });
        if (pace) await pauseOf(pace);
      }
      return { content: [{ type: "text", text: "done" }] };
    },
  );
  return server;
}
