/**
 * For every handler, every way to answer it and every set of interruptions: what comes of it, and what it does, is what
 * an uninterrupted run with the same answers gives. For long runs: REPLAY_RUNS=2000.
 */
import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { type JSONRPCRequest, McpServer } from "../../src/core/index.ts";
import { installReplay } from "../../src/core/replay/index.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { closePeers, type Json, MODERN_VERSION, openPeer, resultOf } from "../features/peer.ts";
import { newKeys } from "../harness/workerd.ts";
import { CAPABILITIES_KEY, isMembers, type Members, meta, requestOf, standardHeaders } from "../http/messages.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { scripts } from "./replay-arbitrary.ts";
import { Choices, nameOfKey, Person, runStraight, type Straight } from "./replay-person.ts";
import { type Script, textOfScript } from "./replay-script.ts";

const RUNS = Number(process.env.REPLAY_RUNS ?? 100);
const TIMEOUT_MS = 20_000 + RUNS * 500;
const ABLE = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const LIMITS = { samplesPerCallMax: 1_000 };

afterEach(closePeers);

const choices = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 20 });

/** What a step did, in which request. */
interface Effect {
  readonly request: number;
  /** Whole, as the step was given it. */
  readonly key: string;
  /** Without what names the call. */
  readonly name: string;
  readonly hasFailed: boolean;
}

class Effects {
  readonly all: Effect[] = [];
  request = 0;

  /** For one run: what it does belongs to the request that began it. */
  listen() {
    const { request } = this;
    return (key: string, hasFailed: boolean) => {
      this.all.push({ request, key, name: nameOfKey(key), hasFailed });
    };
  }
}

const names = (effects: readonly Effect[], hasFailed: boolean) =>
  effects.filter((effect) => effect.hasFailed === hasFailed).map(({ name }) => name);
const distinct = (values: readonly string[]) => [...new Set(values)].sort();

function serverOf(script: Script, effects: Effects): McpServer {
  return new McpServer({ name: "replayed", version: "1.0.0" }).tool("run", {}, (_, ctx) =>
    textOfScript(script, ctx, effects.listen()),
  );
}

type Send = (more: Json) => Promise<Json>;

interface Driven {
  readonly text: string;
  /** Requests whose answers never came. True: they carried a state. */
  readonly lost: ReadonlyMap<number, boolean>;
}

/** A modern client that answers some of what it is asked, in any order, among other things; and loses answers. */
async function drive(send: Send, person: Person, decide: Choices, effects: Effects): Promise<Driven> {
  const said = new Map<string, Json>();
  const lost = new Map<number, boolean>();
  let more: Json = decide.next(3) === 0 ? { inputResponses: { stranger: { action: "decline" } } } : {};
  let silences = 0;
  let hasDropped = false;
  for (;;) {
    effects.request += 1;
    const result = await send(more);
    const hasState = more.requestState !== undefined;
    if (lost.size < 4 && decide.next(5) === 0) {
      lost.set(effects.request, hasState);
      continue;
    }
    if (result.resultType !== "input_required") {
      return { text: (result.content as { text: string }[])[0]?.text ?? "", lost };
    }
    const asked = Object.entries(result.inputRequests as Record<string, JSONRPCRequest>);
    let answered = asked.filter(() => decide.next(3) > 0);
    if (answered.length === 0 && silences > 3) answered = asked;
    if (answered.length === 0) silences += 1;
    for (const [key, question] of answered) if (!said.has(key)) said.set(key, person.answer(question));
    const responses = answered.map(([key]) => [key, said.get(key) ?? {}] as const);
    if (decide.next(2) === 0) responses.push(["stranger", { action: "accept", content: { value: "hm" } }]);
    const inputResponses = Object.fromEntries(decide.shuffle(responses));
    // Answers without the state of the first round begin it anew, with answers. Not for ever.
    const dropsState = !hasState && !hasDropped && decide.next(3) === 0;
    if (dropsState) {
      hasDropped = true;
      lost.set(effects.request, false);
    }
    more = dropsState ? { inputResponses } : { inputResponses, requestState: result.requestState };
  }
}

function expectModern(straight: Straight, { text, lost }: Driven, effects: Effects) {
  expect(text).toBe(straight.text);
  const kept = effects.all.filter(({ request }) => !lost.has(request));
  // Each once, under a key of its own, all of one call.
  expect(names(kept, false).sort()).toEqual([...straight.done].sort());
  expect(distinct(names(kept, true))).toEqual(distinct(straight.failed));
  expect(new Set(kept.map(({ key }) => key.split("/")[0])).size).toBeLessThanOrEqual(1);
  const keys = new Set(kept.map(({ key }) => key));
  const possible = new Set([...straight.done, ...straight.failed]);
  for (const [request, hasState] of lost) {
    const done = effects.all.filter((effect) => effect.request === request);
    expect(names(done, false).length).toBe(new Set(names(done, false)).size);
    // What was done and not heard of is done again: under the same key, once there was a state to keep it.
    for (const { key, name } of done) expect(hasState ? keys.has(key) : possible.has(name)).toBe(true);
  }
}

describe("a handler that asks gives what an uninterrupted run gives, and does what it does", () => {
  test(
    "in rounds, over a connection",
    () =>
      fc.assert(
        fc.asyncProperty(scripts, fc.nat(1_000), choices, async (script, seed, list) => {
          const effects = new Effects();
          const server = serverOf(script, effects);
          const peer = await openPeer(server, MODERN_VERSION, { capabilities: ABLE, limits: LIMITS });
          const send: Send = async (more) => resultOf(await peer.request("tools/call", { name: "run", ...more }));
          const driven = await drive(send, new Person(seed), new Choices(list), effects);
          await closePeers();
          expectModern(await runStraight(script, new Person(seed)), driven, effects);
        }),
        { numRuns: RUNS },
      ),
    TIMEOUT_MS,
  );

  test(
    "in rounds, over HTTP: each round is its own request, the state is sealed",
    () => {
      installReplay();
      const env = { MCP_KEYS: newKeys() };
      return fc.assert(
        fc.asyncProperty(scripts, fc.nat(1_000), choices, async (script, seed, list) => {
          const effects = new Effects();
          const oracle = new WireOracle();
          const onError = (error: unknown) => {
            throw error;
          };
          const handle = createHttpHandler(serverOf(script, effects), { onError, limits: LIMITS });
          const send: Send = async (more) => {
            const params = { name: "run", ...more, _meta: meta({ [CAPABILITIES_KEY]: ABLE }) };
            const message = requestOf("modern", "tools/call", params, effects.request);
            oracle.observe("client", message);
            const headers = {
              "content-type": "application/json",
              accept: "application/json, text/event-stream",
              ...(standardHeaders(message) as Record<string, string>),
            };
            const body = JSON.stringify(message);
            const response = await handle(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }), env);
            const text = await response.text();
            const answer = JSON.parse(
              text.startsWith("{") ? text : (/data: (.*)\n\n$/.exec(text)?.[1] ?? ""),
            ) as Members;
            oracle.observe("server", answer);
            if (!isMembers(answer.result)) throw new Error(text);
            return answer.result;
          };
          const driven = await drive(send, new Person(seed), new Choices(list), effects);
          oracle.expectClean();
          expectModern(await runStraight(script, new Person(seed)), driven, effects);
        }),
        { numRuns: RUNS },
      );
    },
    TIMEOUT_MS,
  );

  test(
    "asked in the middle of one request, over a legacy connection, answered in any order",
    () =>
      fc.assert(
        fc.asyncProperty(scripts, fc.nat(1_000), choices, async (script, seed, list) => {
          const effects = new Effects();
          const [person, decide] = [new Person(seed), new Choices(list)];
          const peer = await openPeer(serverOf(script, effects), "2025-11-25", {
            capabilities: ABLE,
            limits: LIMITS,
            onRequest: async (question) => {
              const answer = person.answer(question);
              await new Promise((resolve) => setTimeout(resolve, decide.next(4)));
              return answer;
            },
          });
          const result = resultOf(await peer.request("tools/call", { name: "run" }));
          await closePeers();
          const straight = await runStraight(script, new Person(seed));
          expect((result.content as { text: string }[])[0]?.text).toBe(straight.text);
          expect(names(effects.all, false).sort()).toEqual([...straight.done].sort());
          expect(names(effects.all, true).sort()).toEqual([...straight.failed].sort());
        }),
        { numRuns: RUNS },
      ),
    TIMEOUT_MS,
  );
});
