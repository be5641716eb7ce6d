import { McpServer } from "../../src/core/index.ts";
import { EMIT, echoText, echoTools, emitInput, INFO, pauseOf } from "../tools.ts";

export function makeServer(): McpServer {
  const server = new McpServer(INFO);
  for (const { name, description, input } of echoTools) server.tool(name, { description, input }, echoText);
  server.tool(EMIT.name, { description: EMIT.description, input: emitInput }, async ({ count, pace }, ctx) => {
    for (let progress = 1; progress <= count; progress += 1) {
      ctx.progress(progress);
      if (pace) await pauseOf(pace);
    }
    return "done";
  });
  return server;
}
