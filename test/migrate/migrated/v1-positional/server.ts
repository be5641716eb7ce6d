import { McpServer } from "mcp-edge";
import * as z from "zod/v4";

export const server = new McpServer({ name: "old", version: "1.0.0" });
const shape = { a: z.number(), b: z.number() };

server.tool("ping", {}, () => ({ content: [{ type: "text", text: "pong" }] }));
server.tool("described", { description: "Has a description" }, async () => ({ content: [{ type: "text", text: "yes" }] }));
server.tool("add", { input: z.object(shape) }, async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }));
server.tool("subtract", { description: "Subtracts", input: z.object({ a: z.number(), b: z.number() }), annotations: { readOnlyHint: true } }, async ({ a, b }) => ({
  content: [{ type: "text", text: String(a - b) }],
}));
server.tool("hinted", { annotations: { title: "Hinted", readOnlyHint: true } }, async () => ({ content: [] }));
server.prompt("hello", {}, () => ({ messages: [{ role: "user", content: { type: "text", text: "Hello" } }] }));
server.prompt("greet", { description: "Greets", arguments: z.object({ name: z.string() }) }, ({ name }) => ({
  messages: [{ role: "user", content: { type: "text", text: `Greet ${name}` } }],
}));
server.resource("config://app", { name: "config" }, async (uri) => ({ contents: [{ uri: uri, text: "on" }] }));
