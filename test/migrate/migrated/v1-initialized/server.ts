import { type HandlerContext, McpServer } from "mcp-edge";
import { serveStdio } from "mcp-edge/node";
import { z } from "zod";

const server = new McpServer({ name: "initialized", version: "1.0.0" });
let folders: string[] = [];

server.tool("folders", { description: "Lists the folders", input: z.object({}) }, async (_args, ctx) => {
  await initialize(ctx);
  return { content: [{ type: "text", text: folders.join(" ") }] };
});
server.tool("open", { description: "Opens a folder", input: z.object({ name: z.string() }) }, async ({ name }, ctx) => { await initialize(ctx); return ({
  content: [{ type: "text", text: folders.includes(name) ? "open" : "closed" }],
}); });

const onInitialized: (ctx: HandlerContext) => unknown = async (ctx) => {
  if (!ctx.client.capabilities?.roots) return;
  const { roots } = await ctx.listRoots().then((roots) => ({ roots: [...roots] }));
  folders = roots.map((root) => root.uri);
};
let isInitialized = false;

/** Runs before the first call, because only older clients report that they are initialized. */
async function initialize(ctx: HandlerContext): Promise<void> {
  if (isInitialized) return;
  try {
    await onInitialized(ctx);
  } catch (error) {
    console.error(error);
  }
  isInitialized = true;
}

await serveStdio(server);
