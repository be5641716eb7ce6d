import { expect, test } from "vitest";
import * as z from "zod";
import { McpServer } from "../../src/core/index.ts";
import { connectInMemory } from "../../src/testing/index.ts";

const VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

function createServer(): McpServer {
  const server = new McpServer({ name: "calculator", version: "1.0.0" });
  server.tool("add", { input: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }, ctx) => {
    ctx.progress(1, { total: 1 });
    return String(a + b);
  });
  server.tool("ask", {}, async (_, ctx) => {
    const answer = await ctx.elicit("Which?", { type: "object", properties: { which: { type: "string" } } });
    return JSON.stringify(answer);
  });
  server.tool("broken", {}, () => {
    throw new Error("a secret");
  });
  return server;
}

test.each(VERSIONS)("the client in memory calls a tool in %s", async (version) => {
  await using client = await connectInMemory(createServer(), { version });
  const result = await client.request("tools/call", { name: "add", arguments: { a: 1, b: 2 } });
  expect(result.content).toEqual([{ type: "text", text: "3" }]);
});

test("the newest version is used unless another is given", async () => {
  await using client = await connectInMemory(createServer());
  expect(await client.request("server/discover")).toMatchObject({ supportedVersions: ["2026-07-28"] });
});

test("notifications are collected, and the _meta of a request is sent", async () => {
  await using client = await connectInMemory(createServer());
  await client.request("tools/call", { name: "add", arguments: { a: 1, b: 2 }, _meta: { progressToken: "p" } });
  expect(client.notifications).toMatchObject([{ method: "notifications/progress", params: { progressToken: "p" } }]);
});

test("questions of the server are answered, or fail as configured", async () => {
  const options = { version: "2025-11-25", capabilities: { elicitation: {} } };
  await using client = await connectInMemory(createServer(), {
    ...options,
    onRequest: ({ method }) => ({ action: "accept", content: { which: method } }),
  });
  const { content } = await client.request("tools/call", { name: "ask" });
  expect(JSON.stringify(content)).toContain("elicitation/create");
  await using other = await connectInMemory(createServer(), {
    ...options,
    onRequest: () => {
      throw new Error("not now");
    },
  });
  expect(await other.request("tools/call", { name: "ask" })).toMatchObject({ isError: true });
});

test("an error is thrown with its code, or returned unchanged", async () => {
  await using client = await connectInMemory(createServer());
  await expect(client.request("tools/call", { name: "none" })).rejects.toMatchObject({ code: -32602 });
  expect(await client.ask("no/such/method")).toMatchObject({ error: { code: -32601 } });
});

test("an exception of a handler is reported, and its details are not sent to the client", async () => {
  await using client = await connectInMemory(createServer());
  expect(JSON.stringify(await client.ask("tools/call", { name: "broken" }))).not.toContain("a secret");
  expect(client.reports).toHaveLength(1);
});

test("requests without a response reject when the connection closes", async () => {
  const client = await connectInMemory(createServer(), { version: "2025-11-25", capabilities: { elicitation: {} } });
  const asked = client.request("tools/call", { name: "ask" });
  const refused = expect(asked).rejects.toThrow("The connection was closed before the response.");
  await client.close();
  await refused;
});
