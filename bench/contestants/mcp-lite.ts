/** mcp-lite: without sessions at /mcp, with sessions in this isolate's memory at /sessions. */
import { Hono } from "hono";
import { InMemorySessionAdapter, McpServer, StreamableHttpTransport } from "mcp-lite";
import * as z from "zod";
import { EMIT, echoText, echoTools, emitInput, INFO, pauseOf } from "../tools.ts";

function makeServer(): McpServer {
  const server = new McpServer({ ...INFO, schemaAdapter: (schema) => z.toJSONSchema(schema as z.ZodType) as never });
  for (const { name, description, input } of echoTools) {
    server.tool(name, {
      description,
      inputSchema: input,
      handler: (given) => ({ content: [{ type: "text", text: echoText(given) }] }),
    });
  }
  server.tool(EMIT.name, {
    description: EMIT.description,
    inputSchema: emitInput,
    handler: async ({ count, pace }, ctx) => {
      for (let progress = 1; progress <= count; progress += 1) {
        await ctx.progress?.({ progress });
        if (pace) await pauseOf(pace);
      }
      return { content: [{ type: "text", text: "done" }] };
    },
  });
  return server;
}

const stateless = new StreamableHttpTransport().bind(makeServer());
const sessionAdapter = new InMemorySessionAdapter({ maxEventBufferSize: 1024 });
const sessions = new StreamableHttpTransport({ sessionAdapter }).bind(makeServer());

const app = new Hono();
app.all("/mcp", (context) => stateless(context.req.raw));
app.all("/sessions", (context) => sessions(context.req.raw));
export default app;
