import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  ErrorCode,
  McpError,
  RootsListChangedNotificationSchema,
  type ServerNotification,
  type ServerRequest,
  SubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

export const server = new McpServer({ name: "uses", version: "1.0.0" });
const watched = new Set<string>();

function meta(extra: RequestHandlerExtra<ServerRequest, ServerNotification>) {
  return JSON.stringify(extra._meta);
}

server.registerTool("ask", { inputSchema: { question: z.string() } }, async ({ question }, extra) => {
  await server.sendLoggingMessage({ level: "info", data: "asking", logger: "uses" }, extra.sessionId);
  const result = await server.server.elicitInput({
    message: question,
    requestedSchema: { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] },
  });
  if (result.action !== "accept") throw new McpError(ErrorCode.InvalidRequest, "Not sure");
  server.server.sendResourceUpdated({ uri: "uses://answers" });
  return { content: [{ type: "text", text: `${result.content?.sure} ${meta(extra)}` }] };
});

server.registerTool("summarize", {}, async () => {
  const answer = await server.server.createMessage({
    messages: [{ role: "user", content: { type: "text", text: "Summarize" } }],
    maxTokens: 10,
  });
  return { content: [{ type: "text", text: answer.content.type === "text" ? answer.content.text : "" }] };
});

server.server.setRequestHandler(SubscribeRequestSchema, async (request) => {
  watched.add(request.params.uri);
  return {};
});

server.server.setNotificationHandler(RootsListChangedNotificationSchema, async () => {
  const { roots } = await server.server.listRoots();
  console.error(roots.length, watched.size);
});

server.server.onclose = () => {
  watched.clear();
};
