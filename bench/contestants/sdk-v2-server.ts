import { McpServer } from "@modelcontextprotocol/server";
import { EMIT, echoText, echoTools, emitInput, INFO, pauseOf } from "../tools.ts";

/** Creates one server per request, as the SDK's documentation asks. */
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
    async ({ count, pace }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (let progress = 1; progressToken !== undefined && progress <= count; progress += 1) {
        await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress } });
        if (pace) await pauseOf(pace);
      }
      return { content: [{ type: "text", text: "done" }] };
    },
  );
  return server;
}
