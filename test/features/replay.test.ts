/** Replayed handlers: the same code asks in the middle in every version, and runs again where the version requires it. */
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type ClientCapabilities,
  type HandlerContext,
  type JSONRPCRequest,
  McpServer,
  QuestionError,
} from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, errorOf, type Json, MODERN_VERSION, openPeer, type Peer, resultOf } from "./peer.ts";

afterEach(closePeers);

const able: ClientCapabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const ELICITING = ALL_VERSIONS.filter((version) => version >= "2025-06-18");
type Answer = (question: Pick<JSONRPCRequest, "method" | "params">) => Json | undefined;

/** Answers each form with its message in all fields, and roots and sampling requests with fixed values. */
const plainly: Answer = ({ method, params }) => {
  if (method === "roots/list") return { roots: [{ uri: "file:///home" }] };
  if (method === "sampling/createMessage") {
    return { role: "assistant", model: "m", content: { type: "text", text: "sampled" } };
  }
  return { action: "accept", content: { value: String(params?.message) } };
};

interface Told {
  readonly text: string | undefined;
  readonly result: Json;
  /** Methods and messages of the questions, in order, grouped by round. */
  readonly rounds: readonly (readonly string[])[];
  readonly runs: number;
}

/** Runs a tool to its end and answers its questions in the way of the version. */
async function finish(version: string, run: Handler, answer: Answer = plainly): Promise<Told> {
  let runs = 0;
  const rounds: string[][] = [];
  const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("ask", {}, async (_, ctx) => {
    runs += 1;
    return run(ctx);
  });
  const say = ({ method, params }: Pick<JSONRPCRequest, "method" | "params">) => String(params?.message ?? method);
  const peer = await openPeer(server, version, {
    capabilities: able,
    onRequest: (question) => {
      rounds.push([say(question)]);
      return answer(question) ?? {};
    },
  });
  const result = version === MODERN_VERSION ? await repeat(peer, rounds, say, answer) : await once(peer);
  const [block] = (result.content ?? []) as { text?: string }[];
  return { result, text: block?.text, rounds, runs };
}

type Handler = (ctx: HandlerContext) => Promise<string>;

const once = async (peer: Peer) => resultOf(await peer.request("tools/call", { name: "ask", arguments: {} }));

async function repeat(
  peer: Peer,
  rounds: string[][],
  say: (question: Pick<JSONRPCRequest, "method" | "params">) => string,
  answer: Answer,
): Promise<Json> {
  let more: Json = {};
  for (let round = 0; round < 40; round += 1) {
    const result = resultOf(await peer.request("tools/call", { name: "ask", arguments: {}, ...more }));
    if (result.resultType !== "input_required") return result;
    const asked = Object.entries(result.inputRequests as Record<string, JSONRPCRequest>);
    rounds.push(asked.map(([, question]) => say(question)));
    const answers = asked.flatMap(([key, question]) => {
      const given = answer(question);
      return given === undefined ? [] : [[key, given] as const];
    });
    more = { inputResponses: Object.fromEntries(answers), requestState: result.requestState };
  }
  throw new Error("it asks forever");
}

const form = z.object({ value: z.string() });
const value = async (ctx: HandlerContext, message: string) => {
  const answered = await ctx.elicit(message, form);
  return answered.action === "accept" ? answered.content.value : answered.action;
};

describe.each(ELICITING)("a handler that asks in the middle, in %s", (version) => {
  const isModern = version === MODERN_VERSION;

  test("asks each question once, whether in sequence, in a loop or in helpers", async () => {
    const { text, rounds, runs } = await finish(version, async (ctx) => {
      const values = [await value(ctx, "first")];
      for (let index = 0; index < 3; index += 1) values.push(await value(ctx, `loop ${index}`));
      return values.join(" ");
    });
    expect(text).toBe("first loop 0 loop 1 loop 2");
    expect(rounds.flat()).toEqual(["first", "loop 0", "loop 1", "loop 2"]);
    expect(runs).toBe(isModern ? 5 : 1);
  });

  test("asks the same question twice and gets two answers", async () => {
    let count = 0;
    const { text } = await finish(
      version,
      async (ctx) => `${await value(ctx, "again")} ${await value(ctx, "again")}`,
      () => {
        count += 1;
        return { action: "accept", content: { value: String(count) } };
      },
    );
    expect(text).toBe("1 2");
  });

  test("sends questions together if they are asked at the same time", async () => {
    const { text, rounds } = await finish(version, async (ctx) => {
      const [left, right, roots, sampled] = await Promise.all([
        value(ctx, "left"),
        value(ctx, "right"),
        ctx.listRoots(),
        ctx.sample({ messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 5 }),
      ]);
      return [left, right, roots[0]?.uri, (sampled.content as { text: string }).text].join(" ");
    });
    expect(text).toBe("left right file:///home sampled");
    if (isModern) expect(rounds).toHaveLength(1);
    expect(rounds.flat().sort()).toEqual(["left", "right", "roots/list", "sampling/createMessage"]);
  });

  test("branches on decline and cancel, and continues after a catch", async () => {
    const { text } = await finish(
      version,
      async (ctx) => {
        const first = await value(ctx, "decline");
        try {
          throw new Error(await value(ctx, "cancel"));
        } catch (error) {
          return `${first} ${(error as Error).message} ${await value(ctx, "accept")}`;
        }
      },
      ({ params }) =>
        params?.message === "accept" ? { action: "accept", content: { value: "yes" } } : { action: params?.message },
    );
    expect(text).toBe("decline cancel yes");
  });

  test("asks again after an invalid answer, with the reason, and gives up after several attempts", async () => {
    const ages: unknown[] = ["old", 1.5, 42];
    const asked = await finish(
      version,
      async (ctx) => {
        const answered = await ctx.elicit("age", z.object({ age: z.int() }));
        return String(answered.action === "accept" && answered.content.age);
      },
      () => ({ action: "accept", content: { age: ages.shift() } }),
    );
    expect(asked.text).toBe("42");
    expect(asked.rounds).toHaveLength(3);
    expect(asked.rounds.flat()[1]).toContain("age");
    const never = await finish(
      version,
      async (ctx) => {
        const error = await ctx.elicit("age", z.object({ age: z.int() })).catch((caught: unknown) => caught);
        return error instanceof QuestionError ? error.reason : "accepted";
      },
      () => ({ action: "accept", content: { age: "old" } }),
    );
    expect(never.text).toBe("invalid-answer");
    expect(never.rounds).toHaveLength(4);
  });

  test("a URL question has the same id in every run", async () => {
    const ids = new Set<string>();
    const { text } = await finish(version, async (ctx) => {
      if (version === "2025-06-18") return "none";
      const { action, elicitationId } = await ctx.elicitUrl("Pay", "https://pay.example/");
      await value(ctx, "paid?");
      ids.add(elicitationId);
      return action;
    });
    expect(text).toBe(version === "2025-06-18" ? "none" : "accept");
    expect(ids.size).toBe(version === "2025-06-18" ? 0 : 1);
  });

  test("steps run once, whatever is asked between them; their keys derive from the call and the step", async () => {
    const ran: string[] = [];
    const { text } = await finish(version, async (ctx) => {
      const step = (name: string) =>
        ctx.step(name, ({ key }) => {
          ran.push(key);
          return { name, at: ran.length };
        });
      const first = await step("charge");
      const answered = await value(ctx, "go on?");
      const again = await step("charge");
      const both = await Promise.all([step("ship"), value(ctx, "where?")]);
      return JSON.stringify([first, answered, again, both]);
    });
    expect(JSON.parse(text ?? "")).toEqual([
      { name: "charge", at: 1 },
      "go on?",
      { name: "charge", at: 2 },
      [{ name: "ship", at: 3 }, "where?"],
    ]);
    expect(new Set(ran).size).toBe(3);
    const [call] = new Set(ran.map((key) => key.split("/")[0]));
    for (const key of ran) expect(key.startsWith(`${call}/`)).toBe(true);
  });

  test("gets the error of a step that fails, and runs the step again if it calls it again", async () => {
    let tries = 0;
    const { text } = await finish(version, async (ctx) => {
      const failed = await ctx
        .step("flaky", () => Promise.reject(new Error("no")))
        .catch((error: Error) => error.message);
      await value(ctx, "again?");
      const done = await ctx.step("works", () => {
        tries += 1;
        return "yes";
      });
      return `${failed} ${done} ${tries}`;
    });
    expect(text).toBe("no yes 1");
  });

  test("does not send progress and logs from before a question again", async () => {
    const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("ask", {}, async (_, ctx) => {
      for (const [index, message] of ["one", "two", "three"].entries()) {
        ctx.progress(index + 1);
        await value(ctx, message);
      }
      ctx.progress(4);
      return "done";
    });
    const peer = await openPeer(server, version, {
      capabilities: able,
      onRequest: (question) => plainly(question) ?? {},
    });
    let more: Json = {};
    for (let round = 0; ; round += 1) {
      const params = { name: "ask", arguments: {}, ...more };
      const result = resultOf(await peer.request("tools/call", params, { progressToken: `t${round}` }));
      if (result.resultType !== "input_required") break;
      const asked = Object.entries(result.inputRequests as Record<string, JSONRPCRequest>);
      const inputResponses = Object.fromEntries(asked.map(([key, question]) => [key, plainly(question)]));
      more = { inputResponses, requestState: result.requestState };
    }
    const said = peer.notifications.map(({ params }) => params?.progress);
    expect(said).toEqual([1, 2, 3, 4]);
  });
});

describe("in 2026-07-28", () => {
  const call = (peer: Peer, more: Json = {}) => peer.request("tools/call", { name: "ask", arguments: {}, ...more });
  const peerOf = (run: Handler, capabilities: ClientCapabilities = able) => {
    const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("ask", {}, async (_, ctx) => run(ctx));
    return openPeer(server, MODERN_VERSION, { capabilities });
  };

  test("questions have the author's keys, or keys that do not change between runs", async () => {
    const peer = await peerOf(async (ctx) => {
      await Promise.all([ctx.elicit("a", form, { key: "mine" }), ctx.elicit("b", form), ctx.listRoots()]);
      return "done";
    });
    const first = resultOf(await call(peer));
    const second = resultOf(await call(peer));
    expect(Object.keys(first.inputRequests as Json)).toEqual(Object.keys(second.inputRequests as Json));
    expect(Object.keys(first.inputRequests as Json)).toEqual([
      "mine",
      expect.stringMatching(/^elicitation-\w+$/),
      expect.stringMatching(/^roots-\w+$/),
    ]);
  });

  test("answers without a state belong to the first round; missing answers are asked for again, unknown ones are ignored", async () => {
    const peer = await peerOf(async (ctx) => {
      const answers = await Promise.all(["a", "b"].map((key) => ctx.elicit(key, form, { key })));
      return answers.map((answer) => (answer.action === "accept" ? answer.content.value : "")).join(" ");
    });
    const accept = (text: string) => ({ action: "accept", content: { value: text } });
    const half = resultOf(await call(peer, { inputResponses: { a: accept("1"), stranger: accept("9") } }));
    expect(Object.keys(half.inputRequests as Json)).toEqual(["b"]);
    const again = resultOf(await call(peer, { inputResponses: {}, requestState: half.requestState }));
    expect(Object.keys(again.inputRequests as Json)).toEqual(["b"]);
    const all = await call(peer, {
      inputResponses: { b: accept("2"), a: accept("3") },
      requestState: again.requestState,
    });
    expect(resultOf(all)).toMatchObject({ content: [{ text: "1 2" }] });
  });

  test("a handler that asks a different question under the same key, or no longer asks, is reported to the author but not to the client", async () => {
    let message = "old";
    const peer = await peerOf(async (ctx) => {
      await ctx.elicit(message, form, { key: "k" });
      return "done";
    });
    const asked = resultOf(await call(peer));
    message = "new";
    const more = { inputResponses: { k: { action: "decline" } }, requestState: asked.requestState };
    const failed = resultOf(await call(peer, more));
    expect(failed).toMatchObject({ isError: true });
    expect(JSON.stringify(failed)).not.toContain("new");
    expect(String(peer.reports.at(-1))).toMatch(/"k".*named another question/);

    let turn = 0;
    const wandering = await peerOf(async (ctx) => {
      turn += 1;
      await value(ctx, `at ${turn}`);
      return "done";
    });
    const first = resultOf(await call(wandering));
    const [key] = Object.keys(first.inputRequests as Json);
    const inputResponses = { [key ?? ""]: { action: "decline" } };
    const params = { name: "ask", arguments: {}, inputResponses, requestState: first.requestState };
    // The engine waits some seconds, in case a branch is only late.
    const diverged = await wandering.request("tools/call", params, {}, { timeoutMs: 25_000 });
    expect(resultOf(diverged)).toMatchObject({ isError: true });
    expect(String(wandering.reports.at(-1))).toContain("ctx.step()");
  });

  test("a question that needs an undeclared capability ends the call with -32021, unless the handler continues without the answer", async () => {
    const peer = await peerOf(async (ctx) => value(ctx, "?"), { roots: {} });
    expect(errorOf(await call(peer))).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: { form: {} } } },
    });
    const brave = await peerOf(async (ctx) => value(ctx, "?").catch((error: QuestionError) => error.reason), {});
    expect(resultOf(await call(brave))).toMatchObject({ content: [{ text: "unsupported" }] });
  });

  test("a run waits for its steps before it asks, and does not start steps afterwards", async () => {
    const did: string[] = [];
    /** Releases the late branch of each run. */
    const releases: (() => void)[] = [];
    const peer = await peerOf(async (ctx) => {
      const slow = ctx.step("slow", async () => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        did.push("slow");
        return "slow";
      });
      void (async () => {
        await new Promise<void>((resolve) => releases.push(resolve));
        ctx.progress(1);
        await ctx.step("late", () => did.push("late"));
      })();
      return `${await value(ctx, "?")} ${await slow}`;
    });
    const asked = resultOf(await call(peer));
    expect(did).toEqual(["slow"]);
    // The run is suspended by now, so its late branch has no effect.
    releases[0]?.();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(did).toEqual(["slow"]);
    const [key] = Object.keys(asked.inputRequests as Json);
    const inputResponses = { [key ?? ""]: { action: "accept", content: { value: "v" } } };
    const done = resultOf(await call(peer, { inputResponses, requestState: asked.requestState }));
    expect(done).toMatchObject({ content: [{ text: "v slow" }] });
    expect(did).toEqual(["slow"]);
  });

  test("prompts and resources can ask in the middle as well", async () => {
    const server = new McpServer({ name: "asker", version: "1.0.0" });
    server.prompt("ask", {}, async (_, ctx) => value(ctx, "prompt?"));
    server.resource("test://ask", { name: "ask" }, async (_, ctx) => value(ctx, "resource?"));
    const peer = await openPeer(server, MODERN_VERSION, { capabilities: able });
    for (const [method, params, expected] of [
      ["prompts/get", { name: "ask" }, "prompt?"],
      ["resources/read", { uri: "test://ask" }, "resource?"],
    ] as const) {
      const asked = resultOf(await peer.request(method, params));
      const [key] = Object.keys(asked.inputRequests as Json);
      const inputResponses = { [key ?? ""]: { action: "accept", content: { value: expected } } };
      const done = await peer.request(method, {
        ...params,
        inputResponses,
        requestState: asked.requestState as string,
      });
      expect(JSON.stringify(resultOf(done))).toContain(expected);
    }
  });

  test("a journal beyond limits.requestStateBytesMax is refused, and the error to the author names the limit", async () => {
    const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("ask", {}, async (_, ctx) => {
      await ctx.step("much", () => "x".repeat(2_000));
      return value(ctx, "?");
    });
    const peer = await openPeer(server, MODERN_VERSION, {
      capabilities: able,
      limits: { requestStateBytesMax: 1_000 },
    });
    expect(resultOf(await call(peer))).toMatchObject({ isError: true });
    expect(String(peer.reports.at(-1))).toContain("limits.requestStateBytesMax");
  });
});
