/** The guarantees about streams, tested with the tools that users get. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CutHow, newKeys, openStream, startWorker, type TestWorker } from "../../src/testing/index.ts";

const source = `
import { McpServer } from "./src/core/index.ts";
import { edge } from "./src/worker/index.ts";
import { sessions } from "./src/worker/sessions/index.ts";
const server = new McpServer({ name: "counting", version: "1.0.0" });
server.tool("count", {}, async (_, ctx) => {
  for (let i = 1; i <= 5; i += 1) {
    ctx.progress(i, { total: 5 });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return "counted";
});
const app = edge(server, { use: [sessions()] });
export default app;
export const { McpObject } = app;
`;

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({
    entry: { source },
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker.stop());

async function openSession(): Promise<Record<string, string | undefined>> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } };
  const message = { jsonrpc: "2.0", id: 0, method: "initialize", params };
  const opened = await openStream(worker.url("/mcp"), { body: message });
  await opened.end();
  return { "Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25" };
}

const HOW: readonly CutHow[] = ["fin", "rst"];

test.each(HOW)(
  "a call cut anywhere by %s is resumed: every message once, even by a new instance",
  { tags: "long" },
  async (cutHow) => {
    const params = { name: "count", arguments: {}, _meta: { progressToken: "p" } };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const cuts = new Set<string>();
    // From within the first event with an id to beyond the last.
    for (const cutAfterBytes of [60, 137, 250, 400, 655, 10_000]) {
      const headers = await openSession();
      const first = await openStream(worker.url("/mcp"), { body, headers, cutAfterBytes, cutHow });
      cuts.add(await first.end());
      const messages = [...first.messages];
      if (first.ended === "cut") {
        const lastEventId = first.ids.at(-1);
        expect(lastEventId).toBeDefined();
        await worker.evict("McpObject");
        const rest = await openStream(worker.url("/mcp"), { headers: { ...headers, "Last-Event-ID": lastEventId } });
        expect(await rest.end()).toBe("complete");
        messages.push(...rest.messages);
      }
      expect(messages).toMatchObject([
        ...[1, 2, 3, 4, 5].map((progress) => ({ method: "notifications/progress", params: { progress } })),
        { id: 1, result: { content: [{ text: "counted" }] } },
      ]);
    }
    expect([...cuts].sort()).toEqual(["complete", "cut"]);
  },
);
