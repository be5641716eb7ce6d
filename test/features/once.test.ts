import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { REGISTRY } from "../../src/core/define/server.ts";
import { IDEMPOTENCY_KEY, inputRequired, McpServer, outcomesInMemory } from "../../src/core/index.ts";
import { onceWith } from "../../src/core/serve/idempotency.ts";
import { ALL_VERSIONS, closePeers, errorOf, type Json, MODERN_VERSION, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

/** A server whose tools count their runs. */
function createServer() {
  let runs = 0;
  const count = () => {
    runs += 1;
    return String(runs);
  };
  return new McpServer({ name: "once", version: "1.0.0" })
    .tool("count", {}, count)
    .tool("count_once", { once: true }, count);
}

describe.each(ALL_VERSIONS)("on a connection of %s", (version) => {
  const text = async (answer: Promise<Parameters<typeof resultOf>[0]>) => {
    const [block] = resultOf(await answer).content as { text: string }[];
    return block?.text;
  };

  test("a call with a key runs once, and a call without a key runs each time", async () => {
    const peer = await openPeer(createServer(), version);
    const call = (key?: string) =>
      text(peer.request("tools/call", { name: "count" }, key === undefined ? {} : { [IDEMPOTENCY_KEY]: key }));
    expect([await call("a"), await call("a"), await call("b"), await call(), await call()]).toEqual([
      "1",
      "1",
      "2",
      "3",
      "4",
    ]);
  });

  test.each(["", "k".repeat(257), 7, null])("a key of %j is refused before the tool runs", async (key) => {
    const peer = await openPeer(createServer(), version);
    const refused = await peer.request("tools/call", { name: "count" }, { [IDEMPOTENCY_KEY]: key });
    const field = `_meta.${IDEMPOTENCY_KEY}`;
    expect(errorOf(refused)).toMatchObject({ code: -32602, data: { field } });
    expect(await text(peer.request("tools/call", { name: "count" }))).toBe("1");
  });

  test("a tool declared once runs once for each request id", async () => {
    const peer = await openPeer(createServer(), version);
    const call = (id: number) => text(peer.request("tools/call", { name: "count_once" }, {}, { id, bad: true }));
    expect([await call(50), await call(50), await call(51)]).toEqual(["1", "1", "2"]);
  });
});

describe("the requestState of a tool that is declared once and asks, in 2026-07-28", () => {
  /** Charges when it has its answer, and returns the number of charges. */
  async function openShop() {
    let charged = 0;
    const server = new McpServer({ name: "once", version: "1.0.0" });
    const charge = (answer: string) => {
      charged += 1;
      return `${answer} ${charged}`;
    };
    for (const [name, once] of [
      ["charge_once", true],
      ["charge", false],
    ] as const) {
      const input = z.object({ of: z.string().optional() });
      server.tool(name, { input, once }, async (_, ctx) => {
        const answer = await ctx.elicit("Pay?", z.object({ yes: z.boolean() }), { key: "pay" });
        return charge(answer.action);
      });
    }
    server.tool("explicit_once", { once: true }, (_, ctx) =>
      ctx.requestState === undefined ? inputRequired({}, "asked") : charge(ctx.requestState),
    );
    const peer = await openPeer(server, MODERN_VERSION, { capabilities: { elicitation: {} } });
    const call = (name: string, more: Json = {}, meta: Json = {}) =>
      peer.request("tools/call", { name, ...more }, meta);
    const text = async (answer: ReturnType<typeof call>) =>
      (resultOf(await answer).content as { text: string }[])[0]?.text;
    const stateOf = async (name: string, more?: Json) => resultOf(await call(name, more)).requestState;
    return { call, text, stateOf };
  }
  const accept = { pay: { action: "accept", content: { yes: true } } };
  const decline = { pay: { action: "decline" } };

  test("can be used once: repeating it returns the existing outcome, whatever the answers", async () => {
    const { call, text, stateOf } = await openShop();
    const requestState = await stateOf("charge_once");
    const shown = [accept, accept, decline].map((inputResponses) => ({ inputResponses, requestState }));
    for (const more of shown) expect(await text(call("charge_once", more))).toBe("accept 1");
    for (const key of ["a", "b"]) {
      expect(await text(call("charge_once", shown[2], { [IDEMPOTENCY_KEY]: key }))).toBe("accept 1");
    }
    const another = await stateOf("charge_once");
    const both = [1, 2].map(() => text(call("charge_once", { inputResponses: decline, requestState: another })));
    expect(await Promise.all(both)).toEqual(["decline 2", "decline 2"]);
  });

  test("can be used once, even if the author returned it", async () => {
    const { call, text, stateOf } = await openShop();
    const requestState = await stateOf("explicit_once");
    for (let time = 0; time < 2; time += 1) expect(await text(call("explicit_once", { requestState }))).toBe("asked 1");
  });

  test("is the same each time a round asks again, and the call can continue with it", async () => {
    const { call, text, stateOf } = await openShop();
    const requestState = await stateOf("charge_once");
    const silent = { inputResponses: {}, requestState };
    const [again, same] = [resultOf(await call("charge_once", silent)), resultOf(await call("charge_once", silent))];
    expect(same).toEqual(again);
    expect(again.requestState).not.toBe(requestState);
    expect(await text(call("charge_once", { inputResponses: accept, requestState: again.requestState }))).toBe(
      "accept 1",
    );
  });

  test("is refused with other arguments or for another tool, and remains valid for its own", async () => {
    const { call, text, stateOf } = await openShop();
    const requestState = await stateOf("charge_once");
    const more = { inputResponses: accept, requestState };
    for (const wrong of [
      call("charge_once", { ...more, arguments: { of: "x" } }),
      call("charge", more),
      call("explicit_once", more),
    ]) {
      expect(errorOf(await wrong).code).toBe(-32602);
    }
    expect(await text(call("charge_once", more))).toBe("accept 1");
  });

  test("can be repeated if the tool is not declared once, and everything outside of steps runs again", async () => {
    const { call, text, stateOf } = await openShop();
    const requestState = await stateOf("charge");
    const more = { inputResponses: accept, requestState };
    expect([await text(call("charge", more)), await text(call("charge", more))]).toEqual(["accept 1", "accept 2"]);
  });
});

test("outcomes in memory are limited by number and by age; the oldest are dropped first", async () => {
  const runs: string[] = [];
  const present = (keep: ReturnType<typeof outcomesInMemory>, name: string) =>
    keep({ name, digest: "d", isAnonymous: true }, async () => {
      runs.push(name);
      return name;
    });
  const few = outcomesInMemory(2);
  for (const name of ["a", "b", "a", "c", "c", "a"]) expect(await present(few, name)).toBe(name);
  expect(runs.splice(0)).toEqual(["a", "b", "c", "a"]);
  const brief = outcomesInMemory(10, 1);
  await present(brief, "a");
  const keptAtMs = Date.now();
  await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(keptAtMs + 1);
  await present(brief, "a");
  expect(runs).toEqual(["a", "a"]);
  await expect(few({ name: "a", digest: "other", isAnonymous: true }, async () => "")).rejects.toMatchObject({
    code: -32602,
  });
});

describe("a call in memory that asks and is repeated without a state", () => {
  /** Presents a call whose runs return the given outcomes, one after the other. */
  function openCall(...says: readonly object[]) {
    const keep = outcomesInMemory();
    const runs: string[] = [];
    const present = async (answers?: string, more: { state?: string; isExpired?: boolean } = {}) => {
      const round = answers === undefined ? undefined : { state: "", answers, isExpired: false, ...more };
      const text = await keep({ name: "call", digest: "d", isAnonymous: false, round }, async () => {
        runs.push(answers ?? "first");
        return JSON.stringify(says[runs.length - 1] ?? { error: { code: 0, message: "run too often" } });
      });
      return JSON.parse(text);
    };
    return { present, runs };
  }
  const asks = (requestState?: string) => ({ result: { resultType: "input_required", requestState } });
  const done = { result: { resultType: "complete" } };

  test("continues once with each new answer until it has finished", async () => {
    const { present, runs } = openCall(asks(), asks(), done);
    for (const answers of [undefined, undefined, "a", "a", undefined, "b", "a", "b", "c", undefined])
      await present(answers);
    expect(runs).toEqual(["first", "a", "b"]);
    expect(await present("d")).toEqual(done);
  });

  test("continues only with the last state that it returned", async () => {
    const { present, runs } = openCall(asks("one"), asks("two"), done);
    await present();
    for (const [answers, state] of [
      ["a", "two"],
      ["a", ""],
      ["a", "one"],
      ["b", "one"],
      ["c", "two"],
      ["d", "two"],
    ] as const)
      await present(answers, { state });
    expect(runs).toEqual(["first", "a", "c"]);
  });

  test("treats answers presented at the same time as one round", async () => {
    const { present, runs } = openCall(asks(), done);
    await present();
    expect(await Promise.all([present("a"), present("b")])).toEqual([done, done]);
    expect(runs).toEqual(["first", "a"]);
  });

  test("stops after 64 rounds", async () => {
    const { present, runs } = openCall(...Array.from({ length: 100 }, () => asks()));
    for (let round = 0; round < 100; round += 1) await present(`answer ${round}`);
    expect(runs).toHaveLength(64);
  });

  test("returns the existing outcome for an expired state and does not run the tool", async () => {
    const { present, runs } = openCall(asks("one"), { error: {} }, done);
    await present();
    expect(await present("a", { state: "one", isExpired: true })).toEqual({ error: {} });
    expect(await present("a", { state: "one" })).toEqual(done);
    expect(await present("a", { state: "one", isExpired: true })).toEqual(done);
    expect(runs).toEqual(["first", "a", "a"]);
  });
});

test("an error that a call threw is not revealed to later requests for its outcome", async () => {
  const registry = createServer()[REGISTRY];
  const params = { name: "count", _meta: { [IDEMPOTENCY_KEY]: "a" } };
  const present = (work: () => Promise<Json>) => {
    const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const call = { registry, request, client: { era: "legacy" } } as unknown as Parameters<typeof once>[0];
    return once(call, work);
  };
  const once = onceWith(outcomesInMemory(), "place");
  const broken = new Error("db-internal.example is down");
  await expect(present(() => Promise.reject(broken))).rejects.toBe(broken);
  const again = present(() => Promise.resolve({}));
  await expect(again).rejects.toMatchObject({ code: -32603, message: "The call failed when it was run." });
});
