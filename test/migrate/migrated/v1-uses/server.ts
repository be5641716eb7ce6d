import { type ContentBlock, ErrorCode, type HandlerContext, McpError, McpServer } from "mcp-edge";
import { z } from "zod";

export const server = new McpServer({ name: "uses", version: "1.0.0", onSubscribe: async (uri) => void (await (async (request: { params: { uri: string } }) => {
  watched.add(request.params.uri);
  return {};
})({ params: { uri } })) });
const watched = new Set<string>();

function meta(extra: HandlerContext) {
  return JSON.stringify(extra.meta);
}

server.tool("ask", { input: z.object({ question: z.string() }) }, async ({ question }, extra) => {
  await extra.log("info", "asking", "uses");
  const result = await extra.elicit(question, { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] });
  if (result.action !== "accept") throw new McpError(ErrorCode.InvalidRequest, "Not sure");
  server.resourceUpdated("uses://answers");
  return { content: [{ type: "text", text: `${result.content?.sure} ${meta(extra)}` }] };
});

server.tool("summarize", {}, async (_args, ctx) => {
  const answer = (await ctx.sample({
    messages: [{ role: "user", content: { type: "text", text: "Summarize" } }],
    maxTokens: 10,
  })) as { readonly content: ContentBlock };
  return { content: [{ type: "text", text: answer.content.type === "text" ? answer.content.text : "" }] };
});

server.onRootsChanged(async (ctx) => {
  const { roots } = await ctx.listRoots().then((roots) => ({ roots: [...roots] }));
  console.error(roots.length, watched.size);
});

// TODO(mcp-edge): onclose has no counterpart: the kit serves clients of all versions, also without a handshake. See node_modules/mcp-edge/docs/migration/sdk-v1.md
// server.server.onclose = () => {
//   watched.clear();
// };
