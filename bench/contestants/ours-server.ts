import { McpServer } from "../../src/core/index.ts";
import { EMIT, echoText, echoTools, emitInput, INFO } from "../tools.ts";

export function makeServer(): McpServer {
  const server = new McpServer(INFO);
  for (const { name, description, input } of echoTools) server.tool(name, { description, input }, echoText);
  server.tool(EMIT.name, { description: EMIT.description, input: emitInput }, ({ count }, ctx) => {
    for (let progress = 1; progress <= count; progress += 1) ctx.progress(progress);
    return "done";
  });
  return server;
}
