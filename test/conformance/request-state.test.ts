/** The integrity, binding and lifetime of `requestState`. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { elicitQuestion, inputRequired, McpServer } from "../../src/core/index.ts";
import { replayRounds } from "../../src/core/run/replay.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { closePeers, openPeer } from "../features/peer.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { CAPABILITIES_KEY, CONTENT, type Members, meta, request, standardHeaders } from "../http/messages.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { WireOracle } from "../oracle/oracle.ts";
import type { ReadAnswer } from "../worker/client.ts";
import { errorOf, type ModernOptions, modern, resultOf } from "./modern.ts";

const ENTRY = "test/conformance/fixtures/input-required.ts";
const [FIRST_KEY, SECOND_KEY] = [newKeys(), newKeys()];
const ada = { action: "accept", content: { name: "Ada" } };
/** Handlers that return questions, and handlers that ask in the middle. */
const FORMS = [
  { form: "by returning", book: "book", other: "other" },
  { form: "in the middle", book: "book_straight", other: "other_straight" },
] as const;
let names: (typeof FORMS)[number] = FORMS[0];
const ABLE: ModernOptions = { capabilities: { elicitation: {} } };

let worker: Workerd;
let oracle: WireOracle;
let tap: HttpTap;

beforeAll(async () => {
  worker = await Workerd.start({ entry: ENTRY, bindings: { MCP_KEYS: FIRST_KEY } });
});
afterAll(() => worker.stop());
beforeEach(async () => {
  oracle = new WireOracle();
  tap = await startHttpTap(`${worker.origin}/mcp`, { oracle });
});
afterEach(async () => {
  await tap.close();
});

/** Calls a tool, with a state if one is given. */
function book(args: Members, requestState?: unknown, options: ModernOptions & { url?: string; name?: string } = {}) {
  const { url = tap.url, name = names.book, ...more } = options;
  const retry = requestState === undefined ? {} : { requestState, inputResponses: { who: ada } };
  return modern(url, "tools/call", { name, arguments: args, ...retry }, { ...ABLE, ...more });
}

async function stateOf(args: Members = { value: "Oslo" }, options: Parameters<typeof book>[2] = {}): Promise<string> {
  const { requestState } = resultOf(await book(args, undefined, options));
  expect(requestState).toEqual(expect.any(String));
  return requestState as string;
}

/** Expects a refusal without a reason, and that the handler has not run. */
function expectRefused(answer: ReadAnswer): void {
  expect(errorOf(answer).code).toBe(-32602);
  expect(answer.raw).not.toContain("secret state");
  expect(answer.status).toBeLessThan(500);
}

function expectAccepted(answer: ReadAnswer, value: unknown = "Oslo"): void {
  expect(JSON.parse(answer.text ?? "null")).toEqual({ value, answer: ada, state: "secret state of book" });
}

describe.each(FORMS)("the requestState of a handler that asks $form", (form) => {
  beforeEach(() => {
    names = form;
  });
  afterEach(() => {
    names = FORMS[0];
    oracle.expectClean();
  });

  test("is returned intact, and reveals nothing to its holder", async () => {
    const state = await stateOf();
    for (const encoding of ["base64url", "base64", "latin1"] as const) {
      expect(Buffer.from(state, encoding).toString("latin1")).not.toMatch(/secret|Oslo|book/);
    }
    expectAccepted(await book({ value: "Oslo" }, state));
  });

  test("is different for two equal requests", async () => {
    expect(await stateOf()).not.toBe(await stateOf());
  });

  test("is refused if any character is changed", async () => {
    const state = await stateOf();
    const places = [...state].map((_, index) => index).filter((index) => index % 7 === 0 || index === state.length - 1);
    const changed = places.map((at) => `${state.slice(0, at)}${state[at] === "A" ? "Q" : "A"}${state.slice(at + 1)}`);
    const answers = await Promise.all(changed.map((each) => book({ value: "Oslo" }, each)));
    for (const answer of answers) expectRefused(answer);
  });

  test("is refused in another encoding of the same bytes: a state has exactly one representation", async () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const states = await Promise.all([names.book, names.other].map((name) => stateOf({}, { name })));
    const respelled = states.flatMap((state, index) => {
      const others = [...alphabet]
        .map((last) => state.slice(0, -1) + last)
        .filter((other) => {
          const isSame = Buffer.from(other, "base64url").equals(Buffer.from(state, "base64url"));
          return other !== state && isSame;
        });
      return others.map((other) => [index === 0 ? names.book : names.other, other] as const);
    });
    // At least one of the two names results in a length with unused bits.
    expect(respelled.length).toBeGreaterThan(0);
    for (const [name, state] of respelled) expectRefused(await book({}, state, { name }));
  });

  test.each<[string, (state: string) => string]>([
    ["empty", () => ""],
    ["without its last character", (state) => state.slice(0, -1)],
    ["without its last byte", (state) => state.slice(0, -2)],
    ["cut in half", (state) => state.slice(0, state.length / 2)],
    ["without its first character", (state) => state.slice(1)],
    ["with an additional character", (state) => `${state}A`],
    ["repeated", (state) => state + state],
    ["with white space around it", (state) => ` ${state}\n`],
    ["in capitals", (state) => state.toUpperCase()],
    ["the plain text", () => "secret state of book"],
    ["with a character outside of its alphabet", (state) => `${state.slice(0, -1)}☃`],
    ["with a zero character", (state) => `${state}\u0000`],
    ["very long", (state) => state.padEnd(50_000, "A")],
  ])("is refused if it is %s", async (_, change) => {
    expectRefused(await book({ value: "Oslo" }, change(await stateOf())));
  });

  test.each([null, 0, 1, true, [], {}, ["a"]])("is refused if it is %j", async (requestState) => {
    expectRefused(await book({ value: "Oslo" }, requestState, { bad: true }));
  });

  test("is refused with the same message in all cases", async () => {
    const state = await stateOf();
    const answers = [
      await book({ value: "Oslo" }, `${state}A`),
      await book({ value: "Rome" }, state),
      await book({ value: "Oslo" }, state, { token: "alice" }),
      await book({ value: "Oslo" }, state, { name: names.other }),
    ];
    expect(new Set(answers.map((answer) => JSON.stringify(errorOf(answer)))).size).toBe(1);
  });
});

describe.each(FORMS)("the binding of requestState, of a handler that asks $form,", (form) => {
  beforeEach(() => {
    names = form;
  });
  afterEach(() => {
    names = FORMS[0];
    oracle.expectClean();
  });

  test.each<[string, string | undefined, string | undefined]>([
    ["of one user, presented by another", "alice", "bob"],
    ["of a user, presented anonymously", "alice", undefined],
    ["of an anonymous caller, presented by a user", undefined, "bob"],
  ])("covers the principal: the state is refused if it is %s", async (_, owner, presenter) => {
    const as = (token: string | undefined): ModernOptions => (token === undefined ? {} : { token });
    const state = await stateOf({ value: "Oslo" }, as(owner));
    expectRefused(await book({ value: "Oslo" }, state, as(presenter)));
    expectAccepted(await book({ value: "Oslo" }, state, as(owner)));
  });

  test("covers the tool: the state is refused for another tool", async () => {
    expectRefused(await book({ value: "Oslo" }, await stateOf(), { name: names.other }));
  });

  test("covers the method: the state is refused for a prompt of the same name, and the reverse", async () => {
    const state = await stateOf();
    const params = { name: names.book, arguments: { value: "Oslo" } };
    const asPrompt = { ...params, requestState: state, inputResponses: { who: ada } };
    expectRefused(await modern(tap.url, "prompts/get", asPrompt, ABLE));
    const { requestState } = resultOf(await modern(tap.url, "prompts/get", params, ABLE));
    expectRefused(await book({ value: "Oslo" }, requestState));
  });

  test.each<[string, unknown, unknown]>([
    ["another string", "Oslo", "Rome"],
    ["another case", "Oslo", "oslo"],
    ["a number instead of a string", "1", 1],
    ["null instead of an absent value", undefined, null],
    ["false instead of null", null, false],
    ["an additional member", { a: 1 }, { a: 1, b: 2 }],
    ["a missing member", { a: 1, b: 2 }, { a: 1 }],
    ["another order in a list", [1, 2], [2, 1]],
    ["a nested change", { a: [{ b: 1 }] }, { a: [{ b: 2 }] }],
  ])("covers the arguments: the state is refused with %s", async (_, before, after) => {
    expectRefused(await book({ value: after }, await stateOf({ value: before })));
  });

  test("covers the arguments but not their order: the state is accepted if the members have another order", async () => {
    const state = await stateOf({ value: { a: 1, b: { c: 2, d: 3 } } });
    const answer = await book({ value: { b: { d: 3, c: 2 }, a: 1 } }, state);
    expectAccepted(answer, { a: 1, b: { c: 2, d: 3 } });
  });

  test("covers neither the id, the connection nor the client's name: the retry is a separate request", async () => {
    const state = await stateOf({ value: "Oslo" }, { id: 1 });
    const clientInfo = { name: "another", version: "2.0.0" };
    const other = { id: "two", meta: { "io.modelcontextprotocol/clientInfo": clientInfo } };
    expectAccepted(await book({ value: "Oslo" }, state, other));
  });
});

describe("a replayed requestState", () => {
  test("gives only what it contains, because the server does not store anything", async () => {
    const state = await stateOf();
    const retry = (inputResponses: Members) =>
      modern(
        tap.url,
        "tools/call",
        { name: "book", arguments: { value: "Oslo" }, requestState: state, inputResponses },
        ABLE,
      );
    expectAccepted(await retry({ who: ada }));
    expect(JSON.parse((await retry({ who: { action: "decline" } })).text ?? "")).toMatchObject({
      answer: { action: "decline" },
    });
    expect(resultOf(await retry({}))).toMatchObject({ resultType: "input_required" });
    oracle.expectClean();
  });

  test("continues at its own round, whatever came after", async () => {
    const call = async (more: Members) =>
      resultOf(await modern(tap.url, "tools/call", { name: "three_rounds", arguments: {}, ...more }, ABLE));
    const first = await call({});
    const second = await call({ requestState: first.requestState, inputResponses: { q0: ada } });
    await call({ requestState: second.requestState, inputResponses: { q1: ada } });
    const replayed = await call({ requestState: first.requestState, inputResponses: { q0: ada } });
    expect(Object.keys(replayed.inputRequests as Members)).toEqual(["q1"]);
    oracle.expectClean();
  });
});

test("with several keys the first one seals, all of them open, and no other key does (key rotation)", {
  tags: "long",
}, async () => {
  const started: Workerd[] = [];
  const taps: HttpTap[] = [];
  const serve = async (keys: string): Promise<string> => {
    const each = await Workerd.start({ entry: ENTRY, bindings: { MCP_KEYS: keys } });
    started.push(each);
    const proxy = await startHttpTap(`${each.origin}/mcp`, { oracle });
    taps.push(proxy);
    return proxy.url;
  };
  try {
    const [both, after] = [await serve(`${SECOND_KEY},${FIRST_KEY}`), await serve(SECOND_KEY)];
    const old = await stateOf();
    expectAccepted(await book({ value: "Oslo" }, old, { url: both }));
    expectRefused(await book({ value: "Oslo" }, old, { url: after }));
    const fresh = await stateOf({ value: "Oslo" }, { url: both });
    expectAccepted(await book({ value: "Oslo" }, fresh, { url: after }));
    expectRefused(await book({ value: "Oslo" }, fresh));
    oracle.expectClean();
  } finally {
    for (const each of taps) await each.close();
    for (const each of started) await each.stop();
  }
});

test("kill -9 between the rounds has no effect, because the state contains everything", { tags: "long" }, async () => {
  const own = await Workerd.start({ entry: ENTRY, bindings: { MCP_KEYS: FIRST_KEY } });
  const reach = () => startHttpTap(`${own.origin}/mcp`, { oracle });
  try {
    const before = await reach();
    const state = await stateOf({ value: "Oslo" }, { url: before.url });
    await before.close();
    await own.killAndRestart();
    const after = await reach();
    expectAccepted(await book({ value: "Oslo" }, state, { url: after.url }));
    await after.close();
    oracle.expectClean();
  } finally {
    await own.stop();
  }
});

test.each(["explicit", "straight"])("is accepted for an hour, and refused after it (%s)", async (name) => {
  const question = elicitQuestion("Who?", { type: "object", properties: { name: { type: "string" } } });
  const server = new McpServer({ name: "expiring", version: "1.0.0" });
  server.tool("explicit", {}, (_, ctx) => ctx.requestState ?? inputRequired({ who: question }, "kept"));
  server.tool("straight", {}, async (_, ctx) => {
    const kept = await ctx.step("kept", () => "kept");
    await ctx.elicit("Who?", { type: "object", properties: { name: { type: "string" } } }, { key: "who" });
    return kept;
  });
  const peer = await openPeer(server, "2026-07-28", { capabilities: { elicitation: {} } });
  try {
    const first = await peer.request("tools/call", { name });
    const { requestState } = "result" in first ? first.result : {};
    const retry = { name, requestState, inputResponses: { who: ada } };
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 55 * 60_000 });
    expect(await peer.request("tools/call", retry)).toMatchObject({ result: { content: [{ text: "kept" }] } });
    vi.setSystemTime(Date.now() + 10 * 60_000);
    expect(await peer.request("tools/call", retry)).toMatchObject({ error: { code: -32602 } });
  } finally {
    vi.useRealTimers();
    await closePeers();
  }
});

test("the state of a replayed handler opens with the keys of the list and with no other key (key rotation)", async () => {
  const server = new McpServer({ name: "rotating", version: "1.0.0" });
  let steps = 0;
  server.tool("ask", {}, async (_, ctx) => {
    await ctx.step("count", () => {
      steps += 1;
    });
    const { action } = await ctx.elicit("Who?", { type: "object", properties: {} }, { key: "who" });
    return action;
  });
  const handle = createHttpHandler(server, { onError: () => undefined, replay: replayRounds });
  const rotating = new WireOracle();
  const call = async (keys: string, more: Members = {}) => {
    const _meta = meta({ [CAPABILITIES_KEY]: { elicitation: {} } });
    const message = request("tools/call", { name: "ask", ...more, _meta });
    rotating.observe("client", message);
    const headers = { ...CONTENT, ...standardHeaders(message) } as Record<string, string>;
    const asked = new Request("http://127.0.0.1/mcp", { method: "POST", headers, body: JSON.stringify(message) });
    const response = await (await handle(asked, { MCP_KEYS: keys })).json();
    rotating.observe("server", response);
    return response as { result?: Members; error?: Members };
  };
  const requestState = (await call(FIRST_KEY)).result?.requestState;
  const more = { requestState, inputResponses: { who: ada } };
  expect(await call(SECOND_KEY, more)).toMatchObject({ error: { code: -32602 } });
  expect(steps).toBe(1);
  expect(await call(`${SECOND_KEY},${FIRST_KEY}`, more)).toMatchObject({ result: { content: [{ text: "accept" }] } });
  expect(steps).toBe(1);
  rotating.expectClean();
});
