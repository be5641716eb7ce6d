/** Which questions may be asked, in which form, and how the answers are handled. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { McpServer, QuestionError } from "../../src/core/index.ts";
import { closePeers, type Json, openPeer, type PeerOptions } from "../features/peer.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import type { Members } from "../http/messages.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import type { ReadAnswer } from "../worker/client.ts";
import { errorOf, type ModernOptions, modern, resultOf } from "./modern.ts";

let worker: Workerd;
let tap: HttpTap;

beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/conformance/fixtures/input-required.ts",
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker.stop());
beforeEach(async () => {
  tap = await startHttpTap(`${worker.origin}/mcp`);
});
afterEach(async () => {
  await tap.close();
  // The tests of 2025-11-25 run in memory, without the tap and with their own oracle.
  if (tap.exchanges.length > 0) tap.oracle.expectClean();
});

const ABLE = { elicitation: { form: {}, url: {} }, roots: {}, sampling: { tools: {}, context: {} } };
const ada = { action: "accept", content: { name: "Ada" } };

function ask(which: readonly string[], more: Members = {}, options: ModernOptions = {}): Promise<ReadAnswer> {
  return call("ask", { which }, more, options);
}

function call(name: string, args: Members = {}, more: Members = {}, options: ModernOptions = {}): Promise<ReadAnswer> {
  return modern(tap.url, "tools/call", { name, arguments: args, ...more }, { capabilities: ABLE, ...options });
}

describe("the result input_required", () => {
  test("has each question under its key, is not complete, and contains no content or cache hints", async () => {
    const answer = await ask(["form", "roots", "sample"], {}, { id: 0 });
    expect(answer).toMatchObject({ status: 200, messages: [{ id: 0 }] });
    const { _meta, ...result } = resultOf(answer);
    expect(result).toEqual({
      resultType: "input_required",
      inputRequests: {
        form: {
          method: "elicitation/create",
          params: {
            mode: "form",
            message: "Who are you?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
          },
        },
        roots: expect.objectContaining({ method: "roots/list" }),
        sample: {
          method: "sampling/createMessage",
          params: { messages: [{ role: "user", content: { type: "text", text: "Hi" } }], maxTokens: 10 },
        },
      },
    });
  });

  test("can have inputRequests without requestState: the answers alone continue the request", async () => {
    const first = resultOf(await ask(["form"]));
    expect(first).not.toHaveProperty("requestState");
    const again = await ask(["form"], { inputResponses: { form: ada } });
    expect(JSON.parse(again.text ?? "")).toEqual({ form: ada });
    expect(resultOf(again).resultType).toBe("complete");
  });

  test("can have requestState without inputRequests: a retry with the state alone continues the request", async () => {
    const { requestState, ...first } = resultOf(await call("state_only"));
    expect(first.resultType).toBe("input_required");
    expect(first).not.toHaveProperty("inputRequests");
    expect(await call("state_only", {}, { requestState })).toMatchObject({ text: "first round" });
  });

  test("gives every round the answers and the state of the previous round", async () => {
    let more: Members = {};
    for (const key of ["q0", "q1", "q2"]) {
      const round = resultOf(await call("three_rounds", {}, more));
      expect(Object.keys(round.inputRequests as Members)).toEqual([key]);
      more = { requestState: round.requestState, inputResponses: { [key]: ada } };
    }
    expect(await call("three_rounds", {}, more)).toMatchObject({ text: "answers of the last round: q2" });
  });

  test("is sent again for missing answers, and unknown answers are ignored", async () => {
    const first = resultOf(await ask(["form", "roots"]));
    const again = resultOf(await ask(["form", "roots"], { inputResponses: { form: ada, other: ada } }));
    expect(again).toMatchObject({ resultType: "input_required" });
    expect(again.inputRequests).toEqual(first.inputRequests);
    const inputResponses = { form: ada, roots: { roots: [] }, other: ada };
    expect(await ask(["form", "roots"], { inputResponses })).toMatchObject({ status: 200, text: expect.any(String) });
  });

  test("is also sent for a prompt", async () => {
    const params = { name: "book", arguments: { value: "Oslo" } };
    const { requestState, ...first } = resultOf(await modern(tap.url, "prompts/get", params, { capabilities: ABLE }));
    expect(first).toMatchObject({
      resultType: "input_required",
      inputRequests: { who: { method: "elicitation/create" } },
    });
    const retry = { ...params, requestState, inputResponses: { who: ada } };
    const second = resultOf(await modern(tap.url, "prompts/get", retry, { capabilities: ABLE }));
    const text = JSON.stringify({ value: "Oslo", answer: ada, state: "secret state of the prompt" });
    expect(second).toMatchObject({ resultType: "complete", messages: [{ content: { text } }] });
  });

  test.each([
    [
      "a completion",
      "completion/complete",
      { ref: { type: "ref/prompt", name: "completed" }, argument: { name: "value", value: "" } },
    ],
    ["a list", "resources/list", {}],
  ])("is not sent for %s, whatever its author returns", async (_, method, params) => {
    const answer = await modern(tap.url, method, params, { capabilities: ABLE });
    expect(answer.raw).not.toContain("input_required");
    expect(answer.raw).not.toContain("elicitation/create");
    expect(errorOf(answer).code).toBe(-32603);
  });
});

describe("decline, cancel and error answers", () => {
  test.each([{ action: "decline" }, { action: "cancel" }, { action: "accept", content: {} }])(
    "%j reaches the handler as a value",
    async (form) => {
      const answer = await ask(["form"], { inputResponses: { form } });
      expect(resultOf(answer)).not.toHaveProperty("isError", true);
      expect(JSON.parse(answer.text ?? "")).toEqual({ form });
    },
  );
});

/** Answers a form as a client of 2025-11-25, and returns what the handler got. */
async function elicited(
  onRequest: NonNullable<PeerOptions["onRequest"]>,
  judgeClient = true,
  times = 1,
): Promise<unknown> {
  const server = new McpServer({ name: "asker", version: "1.0.0" });
  const form = { type: "object", properties: { age: { type: "integer", minimum: 0 } }, required: ["age"] } as const;
  server.tool("ask", {}, async (_, ctx) => {
    const answer = await ctx.elicit("How old?", form).catch((error: unknown) => {
      if (error instanceof QuestionError) return { reason: error.reason, code: error.code, says: error.message };
      throw error;
    });
    return JSON.stringify(answer);
  });
  const peer = await openPeer(server, "2025-11-25", { capabilities: { elicitation: {} }, onRequest, judgeClient });
  const answer = await peer.request("tools/call", { name: "ask" });
  const question = { method: "elicitation/create", params: { requestedSchema: form } };
  expect(peer.questions).toMatchObject(Array.from({ length: times }, () => question));
  await closePeers();
  const { content } = "result" in answer ? answer.result : {};
  return JSON.parse((content as { text: string }[])[0]?.text ?? "");
}

describe("answers to a form in the middle of a request (2025-11-25)", () => {
  test("decline and cancel are returned as values", async () => {
    for (const action of ["decline", "cancel"]) expect(await elicited(() => ({ action }))).toEqual({ action });
  });

  test("an error becomes a distinct error with the client's message", async () => {
    const refuse = () => {
      throw new Error("the user is asleep");
    };
    expect(await elicited(refuse)).toMatchObject({
      reason: "refused",
      code: -32603,
      says: expect.stringMatching(/asleep/),
    });
  });

  // Invalid content is asked for again, because a person may have mistyped; a malformed answer is not.
  test.each<[string, Json, number]>([
    ["a string for a number", { action: "accept", content: { age: "7" } }, 4],
    ["a fraction", { action: "accept", content: { age: 7.5 } }, 4],
    ["below the minimum", { action: "accept", content: { age: -1 } }, 4],
    ["without a required property", { action: "accept", content: {} }, 4],
    ["without content", { action: "accept" }, 4],
    ["an unknown action", { action: "maybe", content: { age: 7 } }, 1],
    ["no action", { content: { age: 7 } }, 1],
  ])("an answer is validated against requestedSchema: %s", async (_, answer, times) => {
    expect(await elicited(() => answer, false, times)).toMatchObject({ reason: "invalid-answer" });
  });

  test("a valid answer reaches the handler", async () => {
    const answer = { action: "accept", content: { age: 7 } };
    expect(await elicited(() => answer)).toEqual(answer);
  });
});

describe("questions and declared capabilities", () => {
  const FORM = { elicitation: { form: {} } };
  const URL_MODE = { elicitation: { url: {} } };
  test.each<[string, Members, Members]>([
    ["form", {}, FORM],
    ["form", URL_MODE, FORM],
    ["bare", URL_MODE, FORM],
    ["url", {}, URL_MODE],
    ["url", { elicitation: {} }, URL_MODE],
    ["url", FORM, URL_MODE],
    ["roots", {}, { roots: {} }],
    ["roots", { elicitation: {}, sampling: {} }, { roots: {} }],
    ["sample", { roots: {} }, { sampling: {} }],
    ["sample_tools", { sampling: {} }, { sampling: { tools: {} } }],
    ["sample_tools", { sampling: { context: {} } }, { sampling: { tools: {} } }],
    ["sample_context", { sampling: { tools: {} } }, { sampling: { context: {} } }],
  ])("%s with %j is rejected with -32021", async (which, capabilities, requiredCapabilities) => {
    const answer = await ask([which], {}, { capabilities, id: "gated" });
    expect(answer).toMatchObject({ status: 400, messages: [{ id: "gated" }] });
    expect(errorOf(answer)).toMatchObject({ code: -32021, data: { requiredCapabilities } });
    expect(answer.raw).not.toContain("inputRequests");
  });

  test.each<[string, Members]>([
    ["form", { elicitation: {} }],
    ["form", FORM],
    ["bare", { elicitation: {} }],
    ["url", URL_MODE],
    ["roots", { roots: {} }],
    ["sample", { sampling: {} }],
    ["sample_tools", { sampling: { tools: {} } }],
    ["sample_context", { sampling: { context: {} } }],
  ])("%s with the capabilities %j is sent in input_required", async (which, capabilities) => {
    const result = resultOf(await ask([which], {}, { capabilities }));
    expect(Object.keys(result.inputRequests as Members)).toEqual([which]);
  });

  test("if one of several questions cannot be asked, only its capability is named, and no question is sent", async () => {
    const answer = await ask(["form", "roots", "sample"], {}, { capabilities: { elicitation: {}, sampling: {} } });
    expect(errorOf(answer)).toMatchObject({ code: -32021, data: { requiredCapabilities: { roots: {} } } });
    expect(errorOf(answer).data).toEqual({ requiredCapabilities: { roots: {} } });
  });

  test("a tool that declares its questions is refused before it starts", async () => {
    const refused = await call("needs_roots", {}, {}, { capabilities: {} });
    expect(refused.status).toBe(400);
    expect(errorOf(refused)).toMatchObject({ code: -32021, data: { requiredCapabilities: { roots: {} } } });
    expect(await call("needs_roots")).toMatchObject({ text: "started all the same" });
  });

  test("the capabilities of one request do not apply to the next", async () => {
    expect(resultOf(await ask(["roots"])).resultType).toBe("input_required");
    expect(errorOf(await ask(["roots"], {}, { capabilities: {} })).code).toBe(-32021);
  });
});

test("in parallel calls each state continues only its own call", async () => {
  const values = Array.from({ length: 10 }, (_, index) => index);
  const firsts = await Promise.all(values.map((value) => call("book", { value })));
  const states = firsts.map((each) => resultOf(each).requestState);
  expect(new Set(states).size).toBe(10);
  const answers = await Promise.all(
    values.map((value) => {
      const content = { name: `person ${value}` };
      const inputResponses = { who: { action: "accept", content } };
      return call("book", { value }, { requestState: states[value], inputResponses });
    }),
  );
  expect(answers.map(({ text }) => JSON.parse(text ?? "{}"))).toEqual(
    values.map((value) => ({
      value,
      answer: { action: "accept", content: { name: `person ${value}` } },
      state: "secret state of book",
    })),
  );
  const [foreign] = states;
  const swapped = await call("book", { value: 1 }, { requestState: foreign, inputResponses: { who: ada } });
  expect(errorOf(swapped).code).toBe(-32602);
});
