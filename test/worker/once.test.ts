/** Calls that run once: by a key of the client's, or by declaration; in both eras, whoever dies meanwhile. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import type { Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { type CallOptions, type Client, clientOf, LegacyClient, ModernClient, told, VERSIONS } from "./client.ts";

let worker: TestWorker;
let taps: HttpTap[] = [];

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/once.ts",
    objects: { MCP_SESSION: "McpSession", MCP_ONCE: "McpOnce", BRIEF_ONCE: "BriefOnce", EFFECTS: "Effects" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());
afterEach(async () => {
  for (const { oracle } of taps) if (oracle.messages > 0) oracle.expectClean();
  await Promise.all(taps.map((tap) => tap.close()));
  taps = [];
});

let url: string;

async function at(path: string): Promise<string> {
  const tap = await startHttpTap(`${worker.origin}${path}`);
  taps.push(tap);
  return tap.url;
}

beforeEach(async () => {
  url = await at("/mcp");
});

const KEY = "mcp-edge/idempotencyKey";
const newKey = () => crypto.randomUUID();
const effectsOf = async (key: string) => Number(await (await fetch(`${worker.origin}/effects/${key}`)).text());
const remembered = async () => (await worker.objects("MCP_ONCE")).length;
const keyed = (key: unknown): CallOptions => ({ meta: { [KEY]: key } });

/** A call that carries `_meta` in either era. */
async function call(client: Client, name: string, args: Members, { id, meta }: CallOptions = {}) {
  if (client.era === "modern")
    return told(client.call(name, args, { ...(id === undefined ? {} : { id }), meta: meta ?? {} }));
  return told(
    client.request("tools/call", { name, arguments: args, _meta: meta ?? {} }, id === undefined ? {} : { id }),
  );
}

describe.each(VERSIONS)("a call with a key of its client's (%s)", (version) => {
  test("runs once; a repeat has what came of it, under its own id", async () => {
    const client = await clientOf(version, url);
    const key = newKey();
    for (const id of [7, 8]) {
      expect(await call(client, "pay", { key }, { id, ...keyed(key) })).toMatchObject({
        text: "paid 1",
        messages: [{ id }],
      });
    }
    expect((await call(client, "pay", { key }, keyed(newKey()))).text).toBe("paid 2");
    expect(await effectsOf(key)).toBe(2);
  });

  test("is joined by repeats while it runs", async () => {
    const client = await clientOf(version, url);
    const key = newKey();
    const calls = [1, 2, 3].map((id) => call(client, "pay_slowly", { key }, { id, ...keyed(key) }));
    await until("the call runs", async () => (await effectsOf(key)) === 1);
    await call(client, "release", { key });
    for (const answer of await Promise.all(calls)) expect(answer.text).toBe("paid 1");
    expect(await effectsOf(key)).toBe(1);
  });

  test("has its first outcome also when that was an error", async () => {
    const client = await clientOf(version, url);
    const key = newKey();
    const answers = [];
    for (const id of [1, 1]) answers.push((await call(client, "refuse", { key }, { id, ...keyed(key) })).messages);
    expect(answers[0]).toMatchObject([{ error: { code: 4402, message: "No money, asked 1", data: { key } } }]);
    expect(answers[1]).toEqual(answers[0]);
    const failed = newKey();
    const failures = [];
    for (const id of [2, 2])
      failures.push((await call(client, "fail", { key: failed }, { id, ...keyed(failed) })).messages);
    expect(failures[0]).toMatchObject([{ result: { isError: true } }]);
    expect(failures[1]).toEqual(failures[0]);
    expect(await effectsOf(failed)).toBe(1);
  });

  test("under the key of another call is -32602 and does not run", async () => {
    const client = await clientOf(version, url);
    const key = newKey();
    await call(client, "pay", { key }, keyed(key));
    for (const [name, args] of [
      ["pay", { key, more: "x" }],
      ["fail", { key }],
    ] as const) {
      const { messages } = await call(client, name, args, keyed(key));
      expect(messages).toMatchObject([{ error: { code: -32602, message: expect.stringContaining(KEY) } }]);
    }
    expect(await effectsOf(key)).toBe(1);
  });

  test("with a key that is none is -32602 and says what a key is", async () => {
    const client = await clientOf(version, url);
    for (const bad of ["", "x".repeat(257), 5, null, {}]) {
      const { messages } = await call(client, "pay", { key: "k" }, keyed(bad));
      expect(messages).toMatchObject([{ error: { code: -32602, message: expect.stringContaining("1 to 256") } }]);
    }
  });
});

test("calls without a key to tools that are not once are remembered by nobody", async () => {
  const before = await remembered();
  for (const version of VERSIONS) {
    const client = await clientOf(version, url);
    const key = newKey();
    for (const paid of ["paid 1", "paid 2"]) expect((await call(client, "pay", { key }, { id: 1 })).text).toBe(paid);
  }
  expect(await remembered()).toBe(before);
});

test("a key is its principal's: another's equal key is another call, and sessions of one share it", async () => {
  const key = newKey();
  const texts = [];
  for (const token of ["alice", "bob", "alice"]) {
    const client = await LegacyClient.open(url, { token });
    texts.push((await call(client, "pay", { key }, keyed("shared"))).text);
  }
  const headers = { authorization: "Bearer alice" };
  const modern = new ModernClient(url);
  texts.push((await told(modern.call("pay", { key }, { headers, meta: { [KEY]: "shared" } }))).text);
  expect(texts).toEqual(["paid 1", "paid 2", "paid 1", "paid 1"]);
});

describe("a tool declared once", () => {
  test("runs once for a session, request id, tool and arguments", async () => {
    const [one, two] = [await LegacyClient.open(url), await LegacyClient.open(url)];
    const key = newKey();
    const paid = async (client: LegacyClient, id: number, args: Members = { key }) =>
      (await call(client, "pay_once", args, { id })).text;
    expect([await paid(one, 5), await paid(one, 5)]).toEqual(["paid 1", "paid 1"]);
    expect(await paid(one, 6)).toBe("paid 2");
    expect(await paid(two, 5)).toBe("paid 3");
    expect(await paid(one, 5, { key, more: "other" })).toBe("paid 4");
    expect(await paid(one, 5)).toBe("paid 1");
  });

  test("that asks runs once for each state, whoever repeats the round and whatever is lost (2026-07-28)", async () => {
    const key = newKey();
    const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
    const present = (client: ModernClient, more: Members = {}, token = "alice") => {
      const headers = { authorization: `Bearer ${token}` };
      return told(client.request("tools/call", { name: "pay_asking", arguments: { key }, ...more }, { headers, meta }));
    };
    const client = new ModernClient(url);
    const asked = (await present(client)).messages as { result: { requestState: string; inputRequests: Members } }[];
    const { requestState, inputRequests } = asked[0]?.result ?? { requestState: "", inputRequests: {} };
    expect(Object.keys(inputRequests)).toEqual(["sure"]);
    const accept = { requestState, inputResponses: { sure: { action: "accept", content: { yes: true } } } };
    const both = await Promise.all([present(client, accept), present(client, accept)]);
    expect(both.map(({ text }) => text)).toEqual(["accept: paid 1", "accept: paid 1"]);
    await worker.restart();
    const later = new ModernClient(await at("/mcp"));
    const decline = { requestState, inputResponses: { sure: { action: "decline" } } };
    expect((await present(later, decline)).text).toBe("accept: paid 1");
    expect((await present(later, accept, "bob")).messages).toMatchObject([{ error: { code: -32602 } }]);
    expect(await effectsOf(key)).toBe(1);
  });

  test("fails where nothing can remember its calls, and onError learns what to do", async () => {
    const client = new ModernClient(await at("/forgetful"));
    const key = newKey();
    const { messages } = await call(client, "pay_once", { key });
    expect(messages).toMatchObject([{ result: { isError: true } }]);
    expect(await effectsOf(key)).toBe(0);
    const errors = (await (await fetch(`${worker.origin}/errors`)).json()) as string[];
    expect(errors.at(-1)).toContain("give edge() the option once");
  });
});

test("what came of a call is forgotten after keepMs, all of it", async () => {
  const client = new ModernClient(await at("/brief"));
  const key = newKey();
  expect((await call(client, "pay", { key }, keyed(key))).text).toBe("paid 1");
  await until("it is forgotten", async () => (await call(client, "pay", { key }, keyed(key))).text === "paid 2");
});

test("an outcome too large to keep is the first caller's; a repeat is told, and nothing runs", async () => {
  const client = new ModernClient(url);
  const key = newKey();
  const first = await call(client, "large", { key }, keyed(key));
  expect(first.text).toHaveLength(3_000_000);
  const { messages } = await call(client, "large", { key }, keyed(key));
  expect(messages).toMatchObject([{ error: { code: -32603, data: { reason: "outcome-too-large" } } }]);
  expect(await effectsOf(key)).toBe(1);
});

test("a client that leaves loses nothing: who comes back with the key has the outcome", async () => {
  const key = newKey();
  const leave = new AbortController();
  const client = new ModernClient(url);
  const left = client.call("pay_slowly", { key }, { ...keyed(key), signal: leave.signal }).catch(() => undefined);
  await until("the call runs", async () => (await effectsOf(key)) === 1);
  leave.abort();
  await left;
  const back = call(client, "pay_slowly", { key }, keyed(key));
  await call(client, "release", { key });
  expect((await back).text).toBe("paid 1");
  expect(await effectsOf(key)).toBe(1);
});

describe("when things are lost", () => {
  test.each(["2025-11-25", "2026-07-28"] as const)(
    "SIGKILL after the outcome: it is the outcome still (%s)",
    async (version) => {
      const key = newKey();
      expect((await call(await clientOf(version, url), "pay", { key }, keyed(key))).text).toBe("paid 1");
      await worker.restart();
      expect((await call(await clientOf(version, url), "pay", { key }, keyed(key))).text).toBe("paid 1");
      expect(await effectsOf(key)).toBe(1);
    },
  );

  test("SIGKILL while it runs: a repeat does not run it, and says that it may have had effects", async () => {
    const key = newKey();
    const lost = call(new ModernClient(url), "pay_slowly", { key }, keyed(key)).catch(() => undefined);
    await until("the call runs", async () => (await effectsOf(key)) === 1);
    await worker.restart();
    await lost;
    const { messages } = await call(new ModernClient(await at("/mcp")), "pay_slowly", { key }, keyed(key));
    expect(messages).toMatchObject([{ error: { code: -32603, data: { reason: "interrupted" } } }]);
    expect(await effectsOf(key)).toBe(1);
  });

  test("the object that remembers is reset while the call runs: the run goes on, and its outcome is kept", async () => {
    const key = newKey();
    const client = new ModernClient(url);
    const before = new Set(await worker.objects("MCP_ONCE"));
    const running = call(client, "pay_slowly", { key }, keyed(key));
    await until("the call runs", async () => (await effectsOf(key)) === 1);
    const [object] = (await worker.objects("MCP_ONCE")).filter((id) => !before.has(id));
    await worker.abort("MCP_ONCE", object ?? "");
    await call(client, "release", { key });
    expect((await running).text).toBe("paid 1");
    expect((await call(client, "pay_slowly", { key }, keyed(key))).text).toBe("paid 1");
    expect(await effectsOf(key)).toBe(1);
  });
});
