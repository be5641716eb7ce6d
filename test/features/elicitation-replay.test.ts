/** Elicitation in the middle of a handler in a version without requests from the server: the same values, in rounds. */
import { afterEach, describe, expect, test } from "vitest";
import {
  type ElicitationSchema,
  type HandlerContext,
  type JSONRPCRequest,
  McpServer,
  UrlElicitationRequiredError,
} from "../../src/core/index.ts";
import { closePeers, errorOf, type Json, MODERN_VERSION, openPeer, type PeerOptions, resultOf } from "./peer.ts";

afterEach(closePeers);

type Ask = (ctx: HandlerContext) => Promise<unknown>;

const text = { type: "string" } as const;
const formOf = (properties: { [name: string]: Json }, required: readonly string[] = []): ElicitationSchema =>
  ({ type: "object", properties, required }) as ElicitationSchema;

/** Opens a peer whose tool returns the value of its question as JSON. */
async function open(ask: Ask, options: PeerOptions = {}) {
  const server = new McpServer({ name: "asker", version: "1.0.0" });
  server.tool("ask", {}, async (_, ctx) => JSON.stringify(await ask(ctx)));
  const capabilities = { elicitation: { form: {}, url: {} } };
  const peer = await openPeer(server, MODERN_VERSION, { capabilities, ...options });
  const request = (more: Json = {}) => peer.request("tools/call", { name: "ask", ...more });
  return { peer, request, call: async (more?: Json) => resultOf(await request(more)) };
}

/** Returns the only question of a round. */
function askedIn(result: Json): [key: string, question: JSONRPCRequest] {
  const asked = Object.entries(result.inputRequests as Record<string, JSONRPCRequest>);
  expect(asked).toHaveLength(1);
  return asked[0] as [string, JSONRPCRequest];
}

const reply = (result: Json, answer: Json): Json => ({
  inputResponses: { [askedIn(result)[0]]: answer },
  requestState: result.requestState,
});
const saidBy = ({ content }: Json): unknown => JSON.parse((content as { text: string }[])[0]?.text ?? "");

describe("a form asked in the middle of a modern call", () => {
  const FIELDS: readonly [string, Json, unknown, unknown][] = [
    ["email", { ...text, format: "email" }, "a@example.com", "a"],
    ["uri", { ...text, format: "uri" }, "https://example.com/", "not a uri"],
    ["date", { ...text, format: "date" }, "2026-02-28", "2026-13-01"],
    ["date-time", { ...text, format: "date-time" }, "2026-02-28T12:00:00Z", "noon"],
    ["number", { type: "number", minimum: 0 }, 0.5, -1],
    ["integer", { type: "integer", maximum: 9 }, 7, 7.5],
    ["boolean", { type: "boolean" }, false, "no"],
    ["enum", { ...text, enum: ["S", "M"] }, "M", "XL"],
    ["array", { type: "array", items: { ...text, enum: ["S", "M"] } }, ["S", "M"], ["S", "XL"]],
  ];

  test.each(FIELDS)(
    "returns the validated content if accepted; a value that is not %s is asked for again",
    async (_, field, good, bad) => {
      const { call, peer } = await open((ctx) => ctx.elicit("Which?", formOf({ field }, ["field"])));
      const asked = await call();
      expect(askedIn(asked)[1]).toMatchObject({ method: "elicitation/create", params: { message: "Which?" } });
      const again = await call(reply(asked, { action: "accept", content: { field: bad as never } }));
      expect(String(askedIn(again)[1].params?.message)).toMatch(/^Which\?\s+\(.*field/);
      const done = await call(reply(again, { action: "accept", content: { field: good as never } }));
      expect(saidBy(done)).toEqual({ action: "accept", content: { field: good } });
      expect(peer.reports).toEqual([]);
    },
  );

  test.each(["decline", "cancel"])("returns %s as a value instead of throwing", async (action) => {
    const { call } = await open((ctx) => ctx.elicit("Which?", formOf({ field: text })));
    expect(saidBy(await call(reply(await call(), { action })))).toEqual({ action });
  });

  test("is refused if its schema is nested, naming the property, and is not sent", async () => {
    const nested = formOf({ address: { type: "object", properties: { city: text } } });
    const { call, peer } = await open((ctx) => ctx.elicit("Where?", nested));
    expect(await call()).toMatchObject({ isError: true });
    expect(String(peer.reports.at(-1))).toContain("address");
  });
});

describe("a URL asked for in the middle of a modern call", () => {
  const url = "https://pay.example/";

  test.each(["accept", "decline", "cancel"])("returns %s as a value with the given id", async (action) => {
    const { call } = await open((ctx) => ctx.elicitUrl("Pay", url, { elicitationId: "order-1" }));
    const asked = await call();
    expect(askedIn(asked)[1]).toEqual({ method: "elicitation/create", params: { mode: "url", message: "Pay", url } });
    expect(saidBy(await call(reply(asked, { action })))).toEqual({ action, elicitationId: "order-1" });
  });

  test("generates an id if none is given, the same in each run and a different one for each call", async () => {
    const seen: unknown[] = [];
    const { call } = await open(async (ctx) => {
      const { elicitationId } = await ctx.elicitUrl("Pay", url);
      seen.push(elicitationId);
      await ctx.elicit("Sure?", formOf({}));
      return elicitationId;
    });
    for (const times of [1, 2]) {
      const second = await call(reply(await call(), { action: "accept" }));
      expect(saidBy(await call(reply(second, { action: "accept", content: {} })))).toMatch(/^[\da-f-]{36}$/);
      expect([seen.length, new Set(seen).size]).toEqual([2 * times, times]);
    }
  });
});

describe("UrlElicitationRequiredError after other questions of the same call", () => {
  test("is returned as input_required with the URL in 2026-07-28, and the earlier questions are not asked again", async () => {
    const { call } = await open(async (ctx) => {
      const first = await ctx.elicit("Which?", formOf({ field: text }));
      if (ctx.inputResponses["url-1"] === undefined) {
        throw new UrlElicitationRequiredError([{ message: "Sign in", url: "https://example.com/sign-in" }]);
      }
      return first.action;
    });
    const asked = await call(reply(await call(), { action: "decline" }));
    expect(askedIn(asked)[1]).toMatchObject({ params: { mode: "url", url: "https://example.com/sign-in" } });
    expect(saidBy(await call(reply(asked, { action: "accept" })))).toBe("decline");
  });
});

describe("a question in 2026-07-28", () => {
  const form: Ask = (ctx) => ctx.elicit("Which?", formOf({ field: text }));
  const visit: Ask = (ctx) => ctx.elicitUrl("Pay", "https://pay.example/");

  test.each<[string, Ask, Json, Json]>([
    ["a form for a client without elicitation", form, {}, { elicitation: { form: {} } }],
    ["a form for a client with only URL mode", form, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ["a URL for a client whose elicitation is {}", visit, { elicitation: {} }, { elicitation: { url: {} } }],
  ])("is not sent but rejected with -32021: %s", async (_, ask, capabilities, requiredCapabilities) => {
    const { request } = await open(ask, { capabilities });
    expect(errorOf(await request())).toMatchObject({ code: -32021, data: { requiredCapabilities } });
  });

  test("may be a form if the client declares elicitation as {}", async () => {
    const { call } = await open(form, { capabilities: { elicitation: {} } });
    expect(await call()).toMatchObject({ resultType: "input_required" });
  });
});

test("a handler that generates a new elicitationId in each run still gets its answer", async () => {
  const url = "https://example.com/pay";
  const { call } = await open(async (ctx) => {
    const { action } = await ctx.elicitUrl("Pay", url, { elicitationId: crypto.randomUUID(), key: "pay" });
    return action;
  });
  expect(saidBy(await call(reply(await call(), { action: "accept" })))).toBe("accept");
});

test("a question whose key is the name of an inherited member waits for its answer", async () => {
  const { call } = await open(async (ctx) => {
    const { action } = await ctx.elicit("Which?", formOf({ field: text }), { key: "constructor" });
    return action;
  });
  const asked = await call();
  const again = await call({ inputResponses: {}, requestState: asked.requestState });
  expect(askedIn(again)[0]).toBe("constructor");
  expect(saidBy(await call(reply(again, { action: "decline" })))).toBe("decline");
});
