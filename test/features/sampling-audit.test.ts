import { afterEach, describe, expect, test } from "vitest";
import {
  inputRequired,
  McpServer,
  QuestionError,
  type SampleHook,
  type SampleParams,
  type SampleRecord,
} from "../../src/core/index.ts";
import {
  closePeers,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  type PeerOptions,
  resultOf,
  settle,
} from "./peer.ts";

afterEach(closePeers);

const PARAMS: SampleParams = { messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 10 };
const ANSWER: Json = { model: "m-1", role: "assistant", content: { type: "text", text: "x" }, stopReason: "endTurn" };
const answering: PeerOptions = { capabilities: { sampling: {} }, onRequest: () => ANSWER };

function newServer(onSample?: SampleHook) {
  return new McpServer({ name: "asker", version: "1.0.0", ...(onSample ? { onSample } : {}) })
    .tool("ask", {}, async (_, ctx) => {
      const ends: string[] = [];
      const times = Number(ctx.meta["example.com/times"] ?? 1);
      for (let i = 0; i < times; i++) {
        ends.push(
          await ctx.sample(PARAMS).then(
            () => "answered",
            (error: unknown) => (error instanceof QuestionError ? `${error.reason}: ${error.message}` : "cancelled"),
          ),
        );
      }
      return JSON.stringify(ends);
    })
    .prompt("ask", {}, (_, ctx) => {
      const question = { method: "sampling/createMessage", params: PARAMS } as const;
      return ctx.inputResponses.one ? "asked" : inputRequired({ one: question, two: question });
    });
}

async function ask(peer: Awaited<ReturnType<typeof openPeer>>, times = 1): Promise<string[]> {
  const result = resultOf(await peer.request("tools/call", { name: "ask" }, { "example.com/times": times }));
  return JSON.parse((result.content as { text: string }[])[0]?.text ?? "") as string[];
}

describe.each(LEGACY_VERSIONS)("sampling in %s", (version) => {
  test("a call that reaches its limit gets a typed error that names the limit, and the next call starts at zero", async () => {
    const peer = await openPeer(newServer(), version, { ...answering, limits: { samplesPerCallMax: 2 } });
    const tooMany = expect.stringMatching(/^limit: .*\b2\b.*limits\.samplesPerCallMax/);
    expect(await ask(peer, 4)).toEqual(["answered", "answered", tooMany, tooMany]);
    expect(await ask(peer, 2)).toEqual(["answered", "answered"]);
    expect(peer.questions).toHaveLength(4);
  });

  test("without an option the limit is 16 per call", async () => {
    const peer = await openPeer(newServer(), version, answering);
    expect((await ask(peer, 17)).filter((end) => end === "answered")).toHaveLength(16);
  });

  test("a session has a limit over its calls; another session has its own", async () => {
    const options = { ...answering, limits: { samplesPerSessionMax: 3 } };
    const peer = await openPeer(newServer(), version, options);
    const tooMany = expect.stringMatching(/^limit: .*\b3\b.*limits\.samplesPerSessionMax/);
    expect([await ask(peer, 2), await ask(peer, 2)]).toEqual([
      ["answered", "answered"],
      ["answered", tooMany],
    ]);
    expect(await ask(await openPeer(newServer(), version, options))).toEqual(["answered"]);
  });

  test("returned questions count as well and are recorded", async () => {
    const records: SampleRecord[] = [];
    const server = newServer((record) => void records.push(record));
    const peer = await openPeer(server, version, { ...answering, limits: { samplesPerCallMax: 1 } });
    const response = await peer.request("prompts/get", { name: "ask" });
    expect(["error" in response, peer.questions.length]).toEqual([true, 1]);
    await expect.poll(() => records).toMatchObject([{ prompt: "ask", maxTokens: 10 }]);
  });

  test("each request that was sent is recorded once, with its question and answer", async () => {
    const records: SampleRecord[] = [];
    const peer = await openPeer(
      newServer((record) => void records.push(record)),
      version,
      answering,
    );
    await ask(peer, 2);
    const record = {
      requestId: 2,
      tool: "ask",
      maxTokens: 10,
      model: "m-1",
      stopReason: "endTurn",
      outcome: "answered",
      principal: undefined,
      durationMs: expect.any(Number),
      client: expect.objectContaining({ info: { name: "peer", version: "1.0.0" } }),
      env: undefined,
      waitUntil: expect.any(Function),
    };
    expect(records).toEqual([record, record]);
  });

  test.each<[SampleRecord["outcome"], PeerOptions, Json]>([
    [
      "refused",
      {
        onRequest: () => {
          throw new Error("no");
        },
      },
      {},
    ],
    ["timeout", { onRequest: () => new Promise(() => {}), limits: { askTimeoutMs: 20 } }, {}],
    ["invalid-answer", { onRequest: () => ({ ...ANSWER, role: "model" }), judgeClient: false }, { model: "m-1" }],
  ])("a request that ends with %s is recorded with this outcome", async (outcome, options, more) => {
    const records: SampleRecord[] = [];
    const server = newServer((record) => void records.push(record));
    await ask(await openPeer(server, version, { capabilities: { sampling: {} }, ...options }));
    expect(records).toMatchObject([{ outcome, tool: "ask", ...more }]);
  });

  test("a request of a cancelled call is recorded too", async () => {
    const records: SampleRecord[] = [];
    const server = newServer((record) => void records.push(record));
    const peer = await openPeer(server, version, {
      capabilities: { sampling: {} },
      onRequest: () => {
        peer.notify("notifications/cancelled", { requestId: "call" });
        return new Promise(() => {});
      },
    });
    const answer = peer.request("tools/call", { name: "ask" }, {}, { id: "call" }).catch(() => "none");
    await expect.poll(() => records).toMatchObject([{ outcome: "cancelled", requestId: "call" }]);
    await peer.close();
    expect(await answer).toBe("none");
  });

  test("a request that is not sent is not recorded", async () => {
    const records: SampleRecord[] = [];
    const server = newServer((record) => void records.push(record));
    expect(await ask(await openPeer(server, version))).toEqual([expect.stringMatching(/^unsupported/)]);
    const none = await openPeer(server, version, { ...answering, limits: { samplesPerCallMax: 0 } });
    expect(await ask(none)).toEqual([expect.stringMatching(/^limit/)]);
    expect([records, none.questions]).toEqual([[], []]);
  });

  test.each<[string, SampleHook]>([
    [
      "throws",
      () => {
        throw new Error("audit is down");
      },
    ],
    ["rejects", () => Promise.reject(new Error("audit is down"))],
  ])("a hook that %s does not affect the call and is reported", async (_, onSample) => {
    const peer = await openPeer(newServer(onSample), version, answering);
    expect(await ask(peer)).toEqual(["answered"]);
    await settle(peer);
    expect(peer.reports).toEqual([new Error("audit is down")]);
  });
});

describe("sampling in 2026-07-28", () => {
  const sampling = { capabilities: { sampling: {} } };
  const newAudit = () => {
    const records: SampleRecord[] = [];
    return { records, server: newServer((record) => void records.push(record)) };
  };
  const keysOf = ({ inputRequests }: Json) => Object.keys(inputRequests as Json);
  const answersTo = (result: Json, answer: Json = ANSWER): Json => ({
    inputResponses: Object.fromEntries(keysOf(result).map((key) => [key, answer])),
    requestState: result.requestState,
  });
  const requestOf = (peer: Awaited<ReturnType<typeof openPeer>>, method: string, times: number) => {
    return async (more: Json = {}) => {
      const meta = { "example.com/times": times };
      return resultOf(await peer.request(method, { name: "ask", ...more }, meta));
    };
  };

  test("each request that was answered is recorded once, however many rounds follow", async () => {
    const { records, server } = newAudit();
    const call = requestOf(await openPeer(server, MODERN_VERSION, sampling), "tools/call", 3);
    let result = await call();
    for (let rounds = 0; rounds < 3; rounds += 1) {
      expect(records).toHaveLength(rounds);
      result = await call(answersTo(result));
    }
    expect(result).toMatchObject({ content: [{ text: '["answered","answered","answered"]' }] });
    const record = {
      requestId: expect.any(Number),
      tool: "ask",
      maxTokens: 10,
      model: "m-1",
      stopReason: "endTurn",
      outcome: "answered",
      principal: undefined,
      durationMs: expect.any(Number),
      client: expect.objectContaining({ protocolVersion: MODERN_VERSION }),
      env: undefined,
      waitUntil: expect.any(Function),
    };
    expect(records).toEqual([record, record, record]);
  });

  test("returned requests are recorded one by one as well", async () => {
    const { records, server } = newAudit();
    const get = requestOf(await openPeer(server, MODERN_VERSION, sampling), "prompts/get", 1);
    await get(answersTo(await get()));
    expect(records).toMatchObject([
      { prompt: "ask", maxTokens: 10, outcome: "answered" },
      { prompt: "ask", maxTokens: 10, outcome: "answered" },
    ]);
  });

  test("an invalid answer is recorded as invalid", async () => {
    const { records, server } = newAudit();
    const peer = await openPeer(server, MODERN_VERSION, { ...sampling, judgeClient: false });
    const call = requestOf(peer, "tools/call", 1);
    await call(answersTo(await call(), { ...ANSWER, role: "model" }));
    expect(records).toMatchObject([{ outcome: "invalid-answer", model: "m-1" }]);
  });

  test("a request that was not asked, not answered, or has no hook is not recorded", async () => {
    const { records, server } = newAudit();
    const call = requestOf(await openPeer(server, MODERN_VERSION, sampling), "tools/call", 1);
    const result = await call({ inputResponses: { unasked: ANSWER } });
    await call({ requestState: result.requestState });
    expect(records).toEqual([]);
    const silent = await openPeer(newServer(), MODERN_VERSION, sampling);
    expect(await requestOf(silent, "prompts/get", 1)()).not.toHaveProperty("requestState");
  });

  test("a hook that throws does not affect the call and is reported", async () => {
    const server = newServer(() => {
      throw new Error("audit is down");
    });
    const peer = await openPeer(server, MODERN_VERSION, sampling);
    const call = requestOf(peer, "tools/call", 1);
    expect(await call(answersTo(await call()))).toMatchObject({ content: [{ text: '["answered"]' }] });
    expect(peer.reports).toEqual([new Error("audit is down")]);
  });
});

test.each([...LEGACY_VERSIONS, MODERN_VERSION])("in %s a record has the time until its answer", async (version) => {
  const records: SampleRecord[] = [];
  const server = newServer((record) => void records.push(record));
  const answerLate = () => new Promise<Json>((resolve) => setTimeout(resolve, 30, ANSWER));
  const peer = await openPeer(server, version, { ...answering, onRequest: answerLate });
  const first = resultOf(await peer.request("tools/call", { name: "ask" }));
  if (version === MODERN_VERSION) {
    const [key = ""] = Object.keys(first.inputRequests as Json);
    const inputResponses = { [key]: await answerLate() };
    resultOf(await peer.request("tools/call", { name: "ask", inputResponses, requestState: first.requestState }));
  }
  expect(records).toHaveLength(1);
  // setTimeout and performance.now() may differ by a millisecond.
  expect(records[0]?.durationMs).toBeGreaterThanOrEqual(28);
});

describe.each([...LEGACY_VERSIONS, MODERN_VERSION])("the hook onSample in %s", (version) => {
  interface Bindings {
    readonly NAME: string;
  }

  test("gets the bindings, and its work and promise are awaited; failures go to onError", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const done: string[] = [];
    const work = async (what: string) => {
      await released;
      done.push(what);
      throw new Error(`${what} failed`);
    };
    const onSample: SampleHook<Bindings> = ({ env, waitUntil }) => {
      waitUntil(work(`work of ${env.NAME}`));
      return work(`promise of ${env.NAME}`);
    };
    const server = new McpServer<Bindings>({ name: "asker", version: "1.0.0", onSample });
    server.tool("ask", {}, async (_, ctx) => (await ctx.sample(PARAMS)).model);
    const peer = await openPeer(server, version, { ...answering, env: { NAME: "the binding" } });
    const first = resultOf(await peer.request("tools/call", { name: "ask" }));
    if (version === MODERN_VERSION) {
      const [key = ""] = Object.keys(first.inputRequests as Json);
      const more = { inputResponses: { [key]: ANSWER }, requestState: first.requestState };
      resultOf(await peer.request("tools/call", { name: "ask", ...more }));
    }
    let isIdle = false;
    const idle = peer.connection.idle().then(() => {
      isIdle = true;
    });
    await new Promise(setImmediate);
    expect([isIdle, done]).toEqual([false, []]);
    release();
    await idle;
    expect(done.sort()).toEqual(["promise of the binding", "work of the binding"]);
    const failures = ["Error: promise of the binding failed", "Error: work of the binding failed"];
    expect(peer.reports.map(String).sort()).toEqual(failures);
  });
});
