/**
 * Definitions and clients that an author's functions hide or refuse stay so in legacy sessions, whose calls run in
 * objects.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { initialize, request } from "../http/messages.ts";

let worker: Workerd;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/visibility.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

function post(message: unknown, headers: Record<string, string>): Promise<Response> {
  const content = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  const body = JSON.stringify(message);
  return fetch(`${worker.origin}/mcp`, { method: "POST", headers: { ...content, ...headers }, body });
}

async function open(user: string): Promise<Record<string, string>> {
  const opened = await post(initialize("2025-11-25"), { "X-User": user });
  return { "X-User": user, "Mcp-Session-Id": opened.headers.get("Mcp-Session-Id") ?? "" };
}

const secret = request("tools/call", { name: "secret", arguments: {} });

test("a tool that visible hides from a principal is neither listed nor called in its session", async () => {
  const [alice, bob] = [await open("alice"), await open("bob")];
  const names = async (session: Record<string, string>) => {
    const { result } = (await (await post(request("tools/list"), session)).json()) as { result: { tools: unknown[] } };
    return result.tools.map((tool) => (tool as { name: string }).name);
  };
  expect([await names(alice), await names(bob)]).toEqual([["open", "secret"], ["open"]]);
  expect(await (await post(secret, alice)).json()).toMatchObject({ result: { content: [{ text: "the secret" }] } });
  expect(await (await post(secret, bob)).json()).toMatchObject({ error: { code: -32602 } });
});

test("an initialize request that a hook refuses does not open a session", async () => {
  const refused = await post(initialize("2025-11-25"), { "X-Refuse": "yes" });
  expect(refused.status).toBe(400);
  expect(refused.headers.get("Mcp-Session-Id")).toBeNull();
  expect(await refused.json()).toMatchObject({ error: { code: -31_000 } });
  expect((await post(initialize("2025-11-25"), {})).headers.get("Mcp-Session-Id")).not.toBeNull();
});
