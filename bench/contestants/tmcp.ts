/** tmcp: both eras at one path, sessions in this isolate's memory. */
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { HttpTransport } from "@tmcp/transport-http";
import { McpServer } from "tmcp";
import { EMIT, echoText, echoTools, emitInput, INFO, pauseOf } from "../tools.ts";

const server = new McpServer(INFO, { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } });
for (const { name, description, input } of echoTools) {
  server.tool({ name, description, schema: input }, (given) => ({
    content: [{ type: "text", text: echoText(given) }],
  }));
}
server.tool({ ...EMIT, schema: emitInput }, async ({ count, pace }) => {
  for (let progress = 1; progress <= count; progress += 1) {
    server.progress(progress);
    if (pace) await pauseOf(pace);
  }
  return { content: [{ type: "text", text: "done" }] };
});

const transport = new HttpTransport(server, { path: "/mcp" });
export default {
  async fetch(request: Request): Promise<Response> {
    return (await transport.respond(request)) ?? new Response(null, { status: 404 });
  },
};
