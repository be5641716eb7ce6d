import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { elicitQuestion, inputRequired, McpServer, type Question } from "../../src/core/index.ts";
import {
  ALL_VERSIONS,
  closePeers,
  errorOf,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  type Peer,
  type PeerOptions,
  resultOf,
} from "./peer.ts";

afterEach(async () => {
  vi.useRealTimers();
  await closePeers();
});

const NAME = elicitQuestion("Who are you?", {
  type: "object",
  properties: { name: { type: "string" } },
  required: ["name"],
});
const ROOTS: Question = { method: "roots/list" };
const ada = { action: "accept", content: { name: "Ada" } };
const answers: Readonly<Record<string, Json>> = {
  "elicitation/create": ada,
  "roots/list": { roots: [{ uri: "file:///a" }] },
};
const able: PeerOptions = {
  capabilities: { elicitation: {}, roots: {} },
  onRequest: ({ method }) => answers[method] ?? {},
};

/** The versions in which all of these questions exist. */
const ELICITING = ["2025-06-18", "2025-11-25", MODERN_VERSION] as const;

/** Asks like a client of the version: a modern client repeats its request with answers until there is a result. */
async function converse(peer: Peer, method: string, params: Json): Promise<{ result: Json; rounds: Json[] }> {
  const rounds: Json[] = [];
  let more: Json = {};
  for (;;) {
    const result = resultOf(await peer.request(method, { ...params, ...more }));
    if (result.resultType !== "input_required") return { result, rounds };
    rounds.push(result);
    const asked = Object.entries((result.inputRequests ?? {}) as Record<string, { method: string }>);
    const inputResponses = Object.fromEntries(asked.map(([key, question]) => [key, answers[question.method]]));
    more = { inputResponses, ...(result.requestState === undefined ? {} : { requestState: result.requestState }) };
  }
}

function newServer(): McpServer {
  const server = new McpServer({ name: "asker", version: "1.0.0" });
  const input = z.object({ city: z.string(), days: z.number().optional() });
  for (const name of ["book", "other"]) {
    server.tool(name, { input }, ({ city }, ctx) => {
      if (!ctx.inputResponses.who) return inputRequired({ who: NAME }, `chose ${city}`);
      return `${city}: ${JSON.stringify(ctx.inputResponses.who)} ${ctx.requestState}`;
    });
  }
  server.prompt("book", { arguments: [{ name: "city" }] }, ({ city }, ctx) => {
    if (!ctx.inputResponses.who) return inputRequired({ who: NAME }, `chose ${city}`);
    return `${city}: ${JSON.stringify(ctx.inputResponses.who)} ${ctx.requestState}`;
  });
  return server;
}

describe.each(ELICITING)("inputRequired in %s", (version) => {
  test("the same handler asks, and gets the answer and its state in the next run", async () => {
    const peer = await openPeer(newServer(), version, able);
    const { result } = await converse(peer, "tools/call", { name: "book", arguments: { city: "Oslo" } });
    expect(result.content).toEqual([{ type: "text", text: `Oslo: ${JSON.stringify(ada)} chose Oslo` }]);
    expect(peer.questions.map(({ method }) => method)).toEqual(
      version === MODERN_VERSION ? [] : ["elicitation/create"],
    );
  });

  test("a prompt can ask in the same way", async () => {
    const peer = await openPeer(newServer(), version, able);
    const { result } = await converse(peer, "prompts/get", { name: "book", arguments: { city: "Oslo" } });
    const text = `Oslo: ${JSON.stringify(ada)} chose Oslo`;
    expect(result.messages).toEqual([{ role: "user", content: { type: "text", text } }]);
  });

  test("several concurrent questions are answered by their keys", async () => {
    const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("ask", {}, (_, ctx) => {
      if (!ctx.inputResponses.a) return inputRequired({ a: NAME, b: ROOTS });
      return JSON.stringify([ctx.inputResponses, ctx.requestState === undefined]);
    });
    const peer = await openPeer(server, version, able);
    const { result } = await converse(peer, "tools/call", { name: "ask", arguments: {} });
    const [block] = result.content as { text: string }[];
    expect(JSON.parse(block?.text ?? "")).toEqual([{ a: ada, b: answers["roots/list"] }, true]);
  });

  test("in every round the handler has the state and the answers of the previous one", async () => {
    const seen: unknown[] = [];
    const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("ask", {}, (_, ctx) => {
      seen.push([ctx.requestState, Object.keys(ctx.inputResponses)]);
      const step = Number(ctx.requestState ?? 0);
      return step < 3 ? inputRequired({ [`q${step}`]: NAME }, String(step + 1)) : "done";
    });
    const peer = await openPeer(server, version, able);
    const { result } = await converse(peer, "tools/call", { name: "ask", arguments: {} });
    expect(result.content).toEqual([{ type: "text", text: "done" }]);
    expect(seen).toEqual([
      [undefined, []],
      ["1", ["q0"]],
      ["2", ["q1"]],
      ["3", ["q2"]],
    ]);
  });

  test("decline and cancel reach the handler as values", async () => {
    for (const action of ["decline", "cancel"]) {
      const peer = await openPeer(newServer(), version, { ...able, onRequest: () => ({ action }) });
      const params = { name: "book", arguments: { city: "Oslo" } };
      const first = resultOf(await peer.request("tools/call", params));
      const { requestState } = first;
      const last =
        version === MODERN_VERSION
          ? resultOf(await peer.request("tools/call", { ...params, inputResponses: { who: { action } }, requestState }))
          : first;
      expect(last.content).toMatchObject([{ text: expect.stringContaining(`{"action":"${action}"}`) }]);
    }
  });
});

test.each(LEGACY_VERSIONS)("in %s roots are requested on the stream of the call", async (version) => {
  const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("ask", {}, (_, ctx) =>
    ctx.inputResponses.roots ? JSON.stringify(ctx.inputResponses.roots) : inputRequired({ roots: ROOTS }),
  );
  const peer = await openPeer(server, version, able);
  const { result, rounds } = await converse(peer, "tools/call", { name: "ask", arguments: {} });
  expect(result.content).toEqual([{ type: "text", text: JSON.stringify(answers["roots/list"]) }]);
  expect([rounds, peer.questions.length]).toEqual([[], 1]);
});

test.each(LEGACY_VERSIONS)(
  "in %s a client that cannot answer gets an error result and is not asked",
  async (version) => {
    const peer = await openPeer(newServer(), version);
    const result = resultOf(await peer.request("tools/call", { name: "book", arguments: { city: "Oslo" } }));
    expect([result.isError, peer.questions]).toEqual([true, []]);
    expect(peer.reports).toHaveLength(1);
  },
);

test.each(["2025-06-18", "2025-11-25"])("in %s a handler that asks in every round fails", async (version) => {
  const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("ask", {}, () => inputRequired({ who: NAME }));
  const peer = await openPeer(server, version, able);
  expect(resultOf(await peer.request("tools/call", { name: "ask", arguments: {} })).isError).toBe(true);
  expect(peer.questions.length).toBeLessThan(100);
});

describe("requestState in 2026-07-28", () => {
  const params = { name: "book", arguments: { city: "Oslo", days: 2 } };
  const inputResponses = { who: ada };

  async function begin() {
    const peer = await openPeer(newServer(), MODERN_VERSION, able);
    const first = resultOf(await peer.request("tools/call", params));
    return { peer, first, requestState: first.requestState as string };
  }

  async function refused(peer: Peer, again: Json, method = "tools/call"): Promise<void> {
    const error = errorOf(await peer.request(method, again));
    expect(error.code).toBe(-32602);
    expect(error.message).toContain("requestState");
  }

  test("is returned sealed, with the questions by key in the form of the version", async () => {
    const { first, requestState } = await begin();
    expect(first).toMatchObject({
      resultType: "input_required",
      inputRequests: {
        who: {
          method: "elicitation/create",
          params: {
            mode: "form",
            message: "Who are you?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
          },
        },
      },
    });
    expect(Buffer.from(requestState, "base64url").toString("latin1")).not.toContain("Oslo");
    expect(Object.hasOwn(first, "content")).toBe(false);
  });

  test("is rejected with -32602 if any character is changed", async () => {
    const { peer, requestState } = await begin();
    for (const place of [0, 1, 5, 20, Math.floor(requestState.length / 2), requestState.length - 1]) {
      const other = requestState[place] === "A" ? "B" : "A";
      const tampered = requestState.slice(0, place) + other + requestState.slice(place + 1);
      await refused(peer, { ...params, inputResponses, requestState: tampered });
    }
  });

  test("is rejected with -32602 if it is truncated, extended, empty or invented", async () => {
    const { peer, requestState } = await begin();
    for (const state of [
      requestState.slice(0, -1),
      requestState.slice(0, 20),
      `${requestState}A`,
      "",
      "chose Oslo",
      "%",
    ]) {
      await refused(peer, { ...params, inputResponses, requestState: state });
    }
  });

  test("is rejected with -32602 if it is not a string", async () => {
    const { peer } = await begin();
    for (const requestState of [1, null, {}]) {
      const error = errorOf(await peer.request("tools/call", { ...params, requestState }, undefined, { bad: true }));
      expect(error.code).toBe(-32602);
    }
  });

  test("is rejected with -32602 for another tool, or for a prompt of the same name", async () => {
    const { peer, requestState } = await begin();
    await refused(peer, { ...params, name: "other", inputResponses, requestState });
    await refused(peer, { name: "book", arguments: { city: "Oslo" }, inputResponses, requestState }, "prompts/get");
  });

  test("is rejected with -32602 with other arguments", async () => {
    const { peer, requestState } = await begin();
    for (const args of [
      { city: "Rome", days: 2 },
      { city: "Oslo" },
      { city: "Oslo", days: 3 },
      { city: "Oslo", days: 2, x: 1 },
    ]) {
      await refused(peer, { ...params, arguments: args, inputResponses, requestState });
    }
  });

  test("is accepted with the same arguments in another order", async () => {
    const { peer, requestState } = await begin();
    const again = { name: "book", arguments: { days: 2, city: "Oslo" }, inputResponses, requestState };
    expect(resultOf(await peer.request("tools/call", again)).content).toMatchObject([
      { text: expect.stringContaining("chose Oslo") },
    ]);
  });

  test("is rejected with -32602 after an hour", async () => {
    const { peer, requestState } = await begin();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61 * 60_000 });
    await refused(peer, { ...params, inputResponses, requestState });
  });

  test("is repeated without the answer, and the question is asked again", async () => {
    const { peer, requestState } = await begin();
    for (const responses of [{}, { someone: ada }]) {
      const again = resultOf(await peer.request("tools/call", { ...params, inputResponses: responses, requestState }));
      expect(again).toMatchObject({ resultType: "input_required", inputRequests: { who: {} } });
    }
  });

  test("is not returned for a question that needs an undeclared capability: -32021 names the missing capabilities", async () => {
    const url: Question = {
      method: "elicitation/create",
      params: { mode: "url", message: "Sign in", url: "https://example.com", elicitationId: "1" },
    };
    const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("ask", {}, () =>
      inputRequired({ url, ROOTS }),
    );
    for (const [capabilities, requiredCapabilities] of [
      [{}, { elicitation: { url: {} }, roots: {} }],
      [{ roots: {} }, { elicitation: { url: {} } }],
      [{ roots: {}, elicitation: {} }, { elicitation: { url: {} } }],
    ] as const) {
      const peer = await openPeer(server, MODERN_VERSION, { capabilities });
      const error = errorOf(await peer.request("tools/call", { name: "ask", arguments: {} }));
      expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities } });
    }
  });
});

test("in every version a client without capabilities still gets the tool list", async () => {
  for (const version of ALL_VERSIONS) {
    const peer = await openPeer(newServer(), version);
    expect(resultOf(await peer.request("tools/list")).tools).toHaveLength(2);
  }
});

test.each(["2025-06-18", "2025-11-25"])(
  "in %s a handler that never stops asking fails after 32 rounds",
  async (version) => {
    const server = new McpServer({ name: "asker", version: "1.0.0" });
    server.tool("forever", {}, () => inputRequired({ who: NAME }));
    const peer = await openPeer(server, version, able);
    expect(resultOf(await peer.request("tools/call", { name: "forever" }))).toMatchObject({ isError: true });
    expect(peer.questions).toHaveLength(32);
    expect(String(peer.reports.at(-1))).toContain("asked for input 32 times");
  },
);

test("if one of several questions fails, the other questions are cancelled", async () => {
  const server = new McpServer({ name: "asker", version: "1.0.0" });
  server.tool("ask", {}, () => inputRequired({ who: NAME, where: ROOTS }));
  const onRequest = ({ method }: { method: string }) => {
    if (method === "roots/list") throw new Error("there are none");
    return new Promise<Json>(() => undefined);
  };
  const peer = await openPeer(server, "2025-11-25", { ...able, onRequest });
  expect(resultOf(await peer.request("tools/call", { name: "ask" }))).toMatchObject({ isError: true });
  const id = peer.questions.find(({ method }) => method === "elicitation/create")?.id;
  const cancelled = { method: "notifications/cancelled", params: { requestId: id } };
  await expect.poll(() => peer.notifications).toMatchObject([cancelled]);
});

test("if one of several questions cannot be asked, no question is sent", async () => {
  const server = new McpServer({ name: "asker", version: "1.0.0" });
  const messages = [{ role: "user", content: { type: "text", text: "hi" } }];
  const sample: Question = { method: "sampling/createMessage", params: { messages, maxTokens: 0 } };
  server.tool("ask", {}, () => inputRequired({ who: NAME, sample }));
  const capabilities = { elicitation: {}, sampling: {} };
  const peer = await openPeer(server, "2025-11-25", { ...able, capabilities });
  expect(resultOf(await peer.request("tools/call", { name: "ask" }))).toMatchObject({ isError: true });
  expect(peer.questions).toEqual([]);
});

test("answers that are not objects are rejected with -32602 before the handler runs", async () => {
  const peer = await openPeer(newServer(), MODERN_VERSION, able);
  const params = { name: "book", arguments: { city: "Oslo" }, inputResponses: { who: "Ada" } };
  const refused = await peer.request("tools/call", params, undefined, { bad: true });
  expect(errorOf(refused)).toMatchObject({ code: -32602, data: { field: "inputResponses" } });
});
