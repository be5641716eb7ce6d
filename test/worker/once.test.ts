/** Calls that run once: by a client's key or by declaration, in both eras, whatever fails meanwhile. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, openStream, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { type Members, meta, request, standardHeaders } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { type CallOptions, type Client, clientOf, LegacyClient, ModernClient, readAnswer, VERSIONS } from "./client.ts";
import { useTaps } from "./taps.ts";

let worker: TestWorker;
const tapped = useTaps();

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/once.ts",
    objects: { MCP: "McpObject", BRIEF: "BriefObject", STATELESS: "StatelessObject", EFFECTS: "Effects", BARE: "Bare" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

let url: string;

const at = (path: string) => tapped(worker.origin + path);

beforeEach(async () => {
  url = await at("/mcp");
});

const KEY = "mcp-edge/idempotencyKey";
const newKey = () => crypto.randomUUID();
const effectsOf = async (key: string) => Number(await (await fetch(`${worker.origin}/effects/${key}`)).text());
const remembered = async () => (await worker.objects("McpObject", "once")).length;
const keyed = (key: unknown): CallOptions => ({ meta: { [KEY]: key } });

/** Makes a call with `_meta` in either era. */
async function call(client: Client, name: string, args: Members, { id, meta }: CallOptions = {}) {
  if (client.era === "modern")
    return readAnswer(client.call(name, args, { ...(id === undefined ? {} : { id }), meta: meta ?? {} }));
  return readAnswer(
    client.request("tools/call", { name, arguments: args, _meta: meta ?? {} }, id === undefined ? {} : { id }),
  );
}

describe.each(VERSIONS)("a call with its client's key (%s)", (version) => {
  test("runs once, and a repeated call gets its outcome under its own id", async () => {
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

  test("keeps its first outcome even if that was an error", async () => {
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

  test("is rejected with -32602 and does not run under the key of another call", async () => {
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

  test("is rejected with -32602 if the key is invalid, and the error describes a valid key", async () => {
    const client = await clientOf(version, url);
    for (const bad of ["", "x".repeat(257), 5, null, {}]) {
      const { messages } = await call(client, "pay", { key: "k" }, keyed(bad));
      expect(messages).toMatchObject([{ error: { code: -32602, message: expect.stringContaining("1 to 256") } }]);
    }
  });
});

const ABLE = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };

/** Presents a round of a modern call under a key. */
function present(client: ModernClient, name: string, key: string, more: Members = {}, token?: string) {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return readAnswer(
    client.request("tools/call", { name, arguments: { key }, ...more }, { headers, meta: { ...ABLE, [KEY]: key } }),
  );
}

const resultOf = ({ messages }: Awaited<ReturnType<typeof present>>) => (messages[0] as { result: Members }).result;
const accept = { action: "accept", content: { yes: true } };
const decline = { action: "decline" };

describe("calls with a key", () => {
  test.each(VERSIONS)("a call runs once, whatever inputResponses a repetition has (%s)", async (version) => {
    const client = await clientOf(version, url);
    const key = newKey();
    const repeats: Members[] = [{}, { inputResponses: {} }, { inputResponses: { sure: accept } }, {}];
    for (const more of repeats) {
      const params = { name: "pay", arguments: { key }, ...more };
      const options = client.era === "modern" ? { meta: { [KEY]: key } } : {};
      const all = client.era === "modern" ? params : { ...params, _meta: { [KEY]: key } };
      expect((await readAnswer(client.request("tools/call", all, options))).text).toBe("paid 1");
    }
    expect(await effectsOf(key)).toBe(1);
  });

  test("a call that asks continues exactly once with its answer, and is then finished", { tags: "long" }, async () => {
    const client = new ModernClient(url);
    const key = newKey();
    const asked = resultOf(await present(client, "ask_and_pay", key));
    const { requestState } = asked;
    expect(resultOf(await present(client, "ask_and_pay", key, { inputResponses: {} }))).toEqual(asked);
    const answers = [accept, decline].map((sure) => ({ requestState, inputResponses: { sure } }));
    const both = await Promise.all(answers.map((more) => present(client, "ask_and_pay", key, more)));
    const [text = ""] = both.map((each) => each.text);
    expect(text).toMatch(/^(accept|decline): paid 1$/);
    expect(both.map((each) => each.text)).toEqual([text, text]);
    await worker.restart();
    const later = new ModernClient(await at("/mcp"));
    for (const more of [...answers, {}, { inputResponses: { sure: accept } }, { requestState, inputResponses: {} }]) {
      expect((await present(later, "ask_and_pay", key, more)).text).toBe(text);
    }
    expect(await effectsOf(key)).toBe(1);
  });

  test("a call that asks twice without a state continues twice, and a late repetition of an answer has no effect", async () => {
    const client = new ModernClient(await at("/stateless"));
    const key = newKey();
    let state: Members = {};
    const say = (inputResponses: Members, more: Members = {}) =>
      present(client, "ask_twice_and_pay", key, { inputResponses, ...more });
    const asks = async (answer: ReturnType<typeof say>) => {
      const { inputRequests, requestState } = resultOf(await answer);
      // If a state was sealed anyway, the client has to send it.
      state = requestState === undefined ? {} : { requestState };
      return Object.keys(inputRequests as Members);
    };
    expect(await asks(say({}))).toEqual(["first"]);
    expect(await asks(say({ first: accept }))).toEqual(["second"]);
    expect(await asks(say({ first: accept }))).toEqual(["second"]);
    expect(await asks(say({ first: decline }))).toEqual(["second"]);
    expect(await asks(say({}))).toEqual(["second"]);
    expect((await say({ first: decline, second: accept }, state)).text).toBe("decline accept: paid 1");
    for (const answers of [{ first: accept, second: accept }, { first: accept }, {}]) {
      expect((await say(answers)).text).toBe("decline accept: paid 1");
    }
    expect(await effectsOf(key)).toBe(1);
  });

  test("a call that asks with more state than can be stored continues with its answer", async () => {
    const client = new ModernClient(url);
    const key = newKey();
    const { requestState } = resultOf(await present(client, "ask_much_and_pay", key));
    const { messages } = await present(client, "ask_much_and_pay", key);
    expect(messages).toMatchObject([{ error: { data: { reason: "outcome-too-large" } } }]);
    const answer = { requestState, inputResponses: { sure: accept } };
    for (let time = 0; time < 2; time += 1) {
      expect((await present(client, "ask_much_and_pay", key, answer)).text).toBe("accept: paid 1");
    }
  });

  test("a call that is refused does not store anything, and can be repeated correctly", { tags: "long" }, async () => {
    // Bypasses the oracle, which requires clients to be correct.
    const client = new ModernClient(`${worker.origin}/mcp`);
    const key = newKey();
    const { requestState } = resultOf(await present(client, "ask_and_pay", newKey(), { arguments: { key } }));
    const before = await remembered();
    const code =
      (more: Members, name = "ask_and_pay", token?: string) =>
      async () => {
        const [message] = (await present(client, name, key, more, token)).messages as [{ error?: Members }];
        return message.error?.code;
      };
    const refused = {
      "unknown tool": code({}, "no_such_tool"),
      "arguments that are not an object": code({ arguments: 5 }),
      "a forged state": code({ requestState: "A".repeat(200) }),
      "a state that is not a string": code({ requestState: 5 }),
      "the state of other arguments": code({ requestState, arguments: { key, more: "x" } }),
      "the state of another principal": code({ requestState }, "ask_and_pay", "bob"),
      "answers that are not objects": code({ inputResponses: { sure: 1 } }),
      "a capability that is lacking": code({}, "needs_sampling"),
    };
    for (const [what, present] of Object.entries(refused)) {
      expect([what, await present()]).toEqual([what, what === "a capability that is lacking" ? -32021 : -32602]);
    }
    const misfit = await present(client, "ask_and_pay", key, { arguments: { key: 5 } });
    expect(resultOf(misfit)).toMatchObject({ isError: true });
    expect(await remembered()).toBe(before);
    const own = await present(client, "ask_and_pay", key, {}, "carol");
    expect(resultOf(own)).toMatchObject({ resultType: "input_required" });
    expect(await remembered()).toBe(before + 1);
  });

  test.each(VERSIONS.filter((version) => version !== "2026-07-28"))(
    "a call that is refused in a session does not store anything (%s)",
    async (version) => {
      const client = await clientOf(version, url);
      const before = await remembered();
      for (const [name, args] of [
        ["no_such_tool", {}],
        ["pay", { key: 5 }],
        ["pay_once", { more: 5 }],
      ] as const) {
        const { messages } = await call(client, name, args, keyed(newKey()));
        expect(messages).toMatchObject([
          name === "no_such_tool" ? { error: { code: -32602 } } : { result: { isError: true } },
        ]);
      }
      expect(await remembered()).toBe(before);
    },
  );
});

test.each(["2025-11-25", "2026-07-28"] as const)("a call with a key creates one task (%s)", async (version) => {
  const client = await clientOf(version, url);
  const key = newKey();
  const meta = {
    [KEY]: key,
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const ids = new Set<unknown>();
  for (let time = 0; time < 2; time += 1) {
    const params = { name: "pay_in_background", arguments: { key } };
    const { messages } = await (version === "2026-07-28"
      ? readAnswer(client.request("tools/call", params, { meta }))
      : readAnswer(client.request("tools/call", { ...params, task: {}, _meta: { [KEY]: key } })));
    const { taskId, task } = (messages[0] as { result: Members & { task?: Members } }).result;
    ids.add(taskId ?? task?.taskId);
  }
  expect([...ids]).toEqual([expect.any(String)]);
});

test("calls without a key to tools without once are not stored", async () => {
  const before = await remembered();
  for (const version of VERSIONS) {
    const client = await clientOf(version, url);
    const key = newKey();
    for (const paid of ["paid 1", "paid 2"]) expect((await call(client, "pay", { key }, { id: 1 })).text).toBe(paid);
  }
  expect(await remembered()).toBe(before);
});

test("a key belongs to its principal: an equal key of another principal is another call, and sessions of one principal share it", async () => {
  const key = newKey();
  const texts = [];
  for (const token of ["alice", "bob", "alice"]) {
    const client = await LegacyClient.open(url, { token });
    texts.push((await call(client, "pay", { key }, keyed("shared"))).text);
  }
  const headers = { authorization: "Bearer alice" };
  const modern = new ModernClient(url);
  texts.push((await readAnswer(modern.call("pay", { key }, { headers, meta: { [KEY]: "shared" } }))).text);
  expect(texts).toEqual(["paid 1", "paid 2", "paid 1", "paid 1"]);
});

describe("a tool declared once", () => {
  test("runs once per session, request id, tool and arguments", async () => {
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

  test("runs once for each state if it asks, whoever repeats the round and whatever is lost (2026-07-28)", {
    tags: "long",
  }, async () => {
    const key = newKey();
    const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
    const present = (client: ModernClient, more: Members = {}, token = "alice") => {
      const headers = { authorization: `Bearer ${token}` };
      return readAnswer(
        client.request("tools/call", { name: "pay_asking", arguments: { key }, ...more }, { headers, meta }),
      );
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

  test("fails if no part can store its calls, and onError gets the solution", async () => {
    const client = new ModernClient(await at("/forgetful"));
    const key = newKey();
    const { messages } = await call(client, "pay_once", { key });
    expect(messages).toMatchObject([{ result: { isError: true } }]);
    expect(await effectsOf(key)).toBe(0);
    const errors = (await (await fetch(`${worker.origin}/errors`)).json()) as string[];
    expect(errors.at(-1)).toContain('once() from "mcp-edge/worker/once"');
  });
});

/** Presents calls to one object, named by numbers. */
async function presentBare(how: "begin" | "end" | "other", from: number, to: number, object = "one") {
  return (await fetch(`${worker.origin}/bare/${how}/${from}/${to}?object=${object}`)).json() as Promise<string[]>;
}

describe("calls of callers without a principal", () => {
  test("create at most 32 objects, however many keys there are, and each outcome is stored", async () => {
    const client = new ModernClient(`${worker.origin}/stateless`);
    const all = Array.from({ length: 200 }, newKey);
    const pay = () => Promise.all(all.map(async (key) => (await call(client, "pay", { key }, keyed(key))).text));
    expect(new Set(await pay())).toEqual(new Set(["paid 1"]));
    expect(new Set(await pay())).toEqual(new Set(["paid 1"]));
    expect((await worker.objects("StatelessObject", "once")).length).toBeLessThanOrEqual(32);
  });

  test("share an object that evicts the outcome that expires first, and never a running call", {
    tags: "long",
  }, async () => {
    expect(await presentBare("begin", 0, 1)).toEqual(["run"]);
    expect(await presentBare("end", 1, 2)).toEqual(["run"]);
    expect(new Set(await presentBare("end", 2, 500))).toEqual(new Set(["run"]));
    expect(await presentBare("end", 1, 2)).toEqual(["outcome of 1"]);
    // One more than fit.
    expect(await presentBare("end", 500, 501)).toEqual(["run"]);
    expect(await presentBare("end", 2, 501)).toEqual(Array.from({ length: 499 }, (_, at) => `outcome of ${at + 2}`));
    expect(await presentBare("other", 0, 1)).toEqual(["409"]);
    expect(await presentBare("end", 1, 2)).toEqual(["run"]);
  });

  test("are refused while too many of them run in one object", { tags: "long" }, async () => {
    expect(new Set(await presentBare("begin", 0, 500, "full"))).toEqual(new Set(["run"]));
    expect(await presentBare("begin", 500, 502, "full")).toEqual(["429", "429"]);
  });
});

test("the outcome of a call is deleted completely after ttlMs", async () => {
  const client = new ModernClient(await at("/brief"));
  const key = newKey();
  expect((await call(client, "pay", { key }, keyed(key))).text).toBe("paid 1");
  await until("it is forgotten", async () => (await call(client, "pay", { key }, keyed(key))).text === "paid 2");
});

test("an outcome too large to store reaches the first caller, and a repetition gets an error without running", async () => {
  const client = new ModernClient(url);
  const key = newKey();
  const first = await call(client, "large", { key }, keyed(key));
  expect(first.text).toHaveLength(3_000_000);
  const { messages } = await call(client, "large", { key }, keyed(key));
  expect(messages).toMatchObject([{ error: { code: -32603, data: { reason: "outcome-too-large" } } }]);
  expect(await effectsOf(key)).toBe(1);
});

/** Begins a call and leaves it while it runs. */
async function beginAndLeave(key: string): Promise<void> {
  const params = { name: "pay_slowly", arguments: { key }, _meta: meta({ [KEY]: key, progressToken: "p" }) };
  const message = request("tools/call", params);
  // Not through the tap, and with RST, so that the Worker notifications at once that its client has left.
  const stream = await openStream(`${worker.origin}/mcp`, { body: message, headers: standardHeaders(message) });
  await until("the call runs", async () => (await effectsOf(key)) === 1);
  stream.cut("rst");
  const client = new ModernClient(url);
  await until("the call knows it", async () => (await call(client, "has_left", { key })).text === "true");
}

test("a client that disconnects gets the outcome when it repeats the key", async () => {
  const key = newKey();
  const client = new ModernClient(url);
  await beginAndLeave(key);
  const back = call(client, "pay_slowly", { key }, keyed(key));
  await call(client, "release", { key });
  expect((await back).text).toBe("paid 1");
  expect(await effectsOf(key)).toBe(1);
});

test("the WebSocket of a call that has ended no longer keeps the object of its session in memory", {
  tags: "long",
}, async () => {
  const before = await worker.objects("McpObject");
  const key = newKey();
  await call(await LegacyClient.open(url), "pay", { key }, keyed(key));
  const isNew = (id: string) => !before.includes(id);
  const [own = ""] = (await worker.objects("McpObject", "once")).filter(isNew);
  const [session = ""] = (await worker.objects("McpObject", "session")).filter(isNew);
  // The object of the call stays in memory, because its WebSocket is closed in any case when it leaves memory after 10 s.
  await fetch(`${worker.origin}/stay/${own}`);
  expect(await worker.evict("McpObject", session)).toBe(1);
});

describe("a call with a key and a loss", () => {
  test.each(["2025-11-25", "2026-07-28"] as const)(
    "the outcome of a call is kept after SIGKILL (%s)",
    async (version) => {
      const key = newKey();
      expect((await call(await clientOf(version, url), "pay", { key }, keyed(key))).text).toBe("paid 1");
      await worker.restart();
      expect((await call(await clientOf(version, url), "pay", { key }, keyed(key))).text).toBe("paid 1");
      expect(await effectsOf(key)).toBe(1);
    },
  );

  test("a call that was interrupted by SIGKILL does not run again, and a repetition reports that it may have had effects", {
    tags: "long",
  }, async () => {
    const key = newKey();
    const lost = call(new ModernClient(url), "pay_slowly", { key }, keyed(key)).catch(() => undefined);
    await until("the call runs", async () => (await effectsOf(key)) === 1);
    await worker.restart();
    await lost;
    const { messages } = await call(new ModernClient(await at("/mcp")), "pay_slowly", { key }, keyed(key));
    expect(messages).toMatchObject([{ error: { code: -32603, data: { reason: "interrupted" } } }]);
    expect(await effectsOf(key)).toBe(1);
  });

  test("a run continues when the object that stores it is reset, and its outcome is kept", {
    tags: "long",
  }, async () => {
    const key = newKey();
    const client = new ModernClient(url);
    const before = new Set(await worker.objects("McpObject", "once"));
    const running = call(client, "pay_slowly", { key }, keyed(key));
    await until("the call runs", async () => (await effectsOf(key)) === 1);
    const [object] = (await worker.objects("McpObject", "once")).filter((id) => !before.has(id));
    await worker.abort("McpObject", object ?? "");
    await call(client, "release", { key });
    expect((await running).text).toBe("paid 1");
    expect((await call(client, "pay_slowly", { key }, keyed(key))).text).toBe("paid 1");
    expect(await effectsOf(key)).toBe(1);
  });

  test("the outcome is kept if the client disconnects and the object that stores it is reset", {
    tags: "long",
  }, async () => {
    const key = newKey();
    const before = new Set(await worker.objects("McpObject", "once"));
    await beginAndLeave(key);
    const [object] = (await worker.objects("McpObject", "once")).filter((id) => !before.has(id));
    await worker.abort("McpObject", object ?? "");
    const client = new ModernClient(url);
    await call(client, "release", { key });
    expect((await call(client, "pay_slowly", { key }, keyed(key))).text).toBe("paid 1");
    expect(await effectsOf(key)).toBe(1);
  });
});

// This test and the next are the last ones, because the clock cannot be set back.
test("an expired state returns its outcome if it was answered in time, and is refused otherwise", async () => {
  const client = new ModernClient(url);
  const [paid, unpaid] = [newKey(), newKey()];
  const rounds = new Map<string, Members>();
  for (const key of [paid, unpaid]) {
    const { requestState } = resultOf(await present(client, "ask_and_pay", key));
    rounds.set(key, { requestState, inputResponses: { sure: accept } });
  }
  expect((await present(client, "ask_and_pay", paid, rounds.get(paid))).text).toBe("accept: paid 1");
  await worker.advance(61 * 60_000);
  expect((await present(client, "ask_and_pay", paid, rounds.get(paid))).text).toBe("accept: paid 1");
  const before = await remembered();
  const late = await present(client, "ask_and_pay", unpaid, rounds.get(unpaid));
  expect(late.messages).toMatchObject([{ error: { code: -32602 } }]);
  expect(await effectsOf(unpaid)).toBe(0);
  expect(await remembered()).toBe(before);
  // The refusal was not stored as the outcome of the call.
  expect(resultOf(await present(client, "ask_and_pay", unpaid))).toMatchObject({ resultType: "input_required" });
});

test("a call of several rounds is deleted ttlMs after its first request", { tags: "long" }, async () => {
  const client = new ModernClient(await at("/stateless"));
  const key = newKey();
  const asks = async (inputResponses: Members) => {
    const { inputRequests } = resultOf(await present(client, "ask_twice_and_pay", key, { inputResponses }));
    return Object.keys(inputRequests as Members);
  };
  const hourMs = 60 * 60_000;
  expect(await asks({})).toEqual(["first"]);
  await worker.advance(20 * hourMs);
  expect(await asks({ first: accept })).toEqual(["second"]);
  await worker.advance(3 * hourMs);
  expect(await asks({})).toEqual(["second"]);
  await worker.advance(2 * hourMs);
  // 25 hours after its first request the call is unknown.
  expect(await asks({})).toEqual(["first"]);
  await worker.advance(25 * hourMs);
  expect(await worker.objects("StatelessObject", "once")).toEqual([]);
});

test("calls that expire within ten minutes of one another are deleted together, and no alarm is left", {
  tags: "long",
}, async () => {
  const minuteMs = 60_000;
  await presentBare("end", 0, 1, "swept");
  await worker.advance(minuteMs);
  await presentBare("end", 1, 3, "swept");
  await worker.advance(59 * minuteMs);
  await worker.advance(minuteMs);
  expect(await worker.runAlarm("BARE", "swept")).toBe(false);
});
