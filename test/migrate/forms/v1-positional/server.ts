import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import * as z from "zod/v4";

export const server = new McpServer({ name: "old", version: "1.0.0" });
const shape = { a: z.number(), b: z.number() };

server.tool("ping", () => ({ content: [{ type: "text", text: "pong" }] }));
server.tool("described", "Has a description", async () => ({ content: [{ type: "text", text: "yes" }] }));
server.tool("add", shape, async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }));
server.tool("subtract", "Subtracts", { a: z.number(), b: z.number() }, { readOnlyHint: true }, async ({ a, b }) => ({
  content: [{ type: "text", text: String(a - b) }],
}));
server.tool("hinted", { title: "Hinted", readOnlyHint: true }, async () => ({ content: [] }));
server.prompt("hello", () => ({ messages: [{ role: "user", content: { type: "text", text: "Hello" } }] }));
server.prompt("greet", "Greets", { name: z.string() }, ({ name }) => ({
  messages: [{ role: "user", content: { type: "text", text: `Greet ${name}` } }],
}));
server.resource("config", "config://app", async (uri) => ({ contents: [{ uri: uri.href, text: "on" }] }));
