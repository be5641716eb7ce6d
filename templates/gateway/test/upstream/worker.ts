/** The servers behind the gateway in the tests: the same server in the newest protocol version, and in an older one. */
import { McpServer, type WithContext } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import * as z from "zod";

type Env = WithContext<object, { authorization: string | null }>;

function createServer(version: string): McpServer<Env> {
  const orders: string[] = [];
  const server = new McpServer<Env>({
    name: `upstream of ${version}`,
    version: "1.0.0",
    protocolVersions: [version],
    context: (request) => ({ authorization: request?.headers.get("Authorization") ?? null }),
  });
  server.tool(
    "add",
    {
      description: "Adds\u200b numbers",
      input: z.object({ a: z.number(), b: z.number() }),
      output: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => ({ sum: a + b }),
  );
  server.tool("order", { input: z.object({ id: z.string() }) }, async ({ id }, ctx) => {
    ctx.progress(1, { total: 2, message: "looking" });
    await ctx.step("begin", () => orders.push(id));
    const size = await ctx.elicit("Which size?", z.object({ size: z.enum(["S", "M"]) }));
    if (size.action !== "accept") return `${size.action}, begun ${orders.filter((each) => each === id).length} times`;
    ctx.progress(2, { total: 2, message: "almost done" });
    const sure = await ctx.elicit(`Order ${size.content.size}?`, z.object({ yes: z.boolean() }));
    const agreed = sure.action === "accept" && sure.content.yes;
    return `${size.content.size} ${agreed}, begun ${orders.filter((each) => each === id).length} times`;
  });
  server.tool("ask_model", {}, async (_, ctx) => {
    const messages = [{ role: "user", content: { type: "text", text: "Which color?" } }] as const;
    const { content } = await ctx.sample({ messages, maxTokens: 10 });
    return `The model says: ${(content as { text: string }).text}`;
  });
  server.tool("whoami", {}, (_, ctx) => `authorization: ${ctx.context.authorization}`);
  server.tool("link", {}, () => [
    { type: "resource_link", uri: "notes:///today", name: "today" },
    { type: "resource", resource: { uri: "notes:///today", text: "inside" } },
  ]);
  server.tool("grow", { input: z.object({ name: z.string() }) }, ({ name }) => {
    server.tool(name, {}, () => `I am ${name}`);
    return "grown";
  });
  server.tool("touch", {}, () => {
    server.resourceUpdated("notes:///today");
    return "touched";
  });
  server.tool(
    "wait",
    {},
    (_, ctx) => new Promise<string>((resolve) => ctx.signal.addEventListener("abort", () => resolve("ended"))),
  );
  server.resource("notes:///today", { name: "today", mimeType: "text/plain" }, () => `today of ${version}`);
  server.resourceTemplate(
    "notes:///days/{day}",
    { name: "day", complete: { day: (value) => ["monday", "tuesday"].filter((day) => day.startsWith(value)) } },
    (_, { day }) => (day === "sunday" ? undefined : `day ${day}`),
  );
  server.prompt(
    "explain",
    { arguments: z.object({ topic: z.string() }), complete: { topic: () => ["rain", "snow"] } },
    ({ topic }) => `Explain ${topic}.`,
  );
  return server;
}

const modern = edge(createServer("2026-07-28"), { path: "/modern", use: [durable()] });
const legacy = edge(createServer("2025-11-25"), { path: "/legacy", use: [durable({ className: "LegacyObject" })] });

export default {
  fetch: (request: Request, env: object, ctx: ExecutionContext) =>
    new URL(request.url).pathname === "/modern" ? modern.fetch(request, env, ctx) : legacy.fetch(request, env, ctx),
};
export class McpObject extends modern.McpObject {}
export class LegacyObject extends legacy.McpObject {}
