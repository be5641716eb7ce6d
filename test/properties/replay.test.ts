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
import { type Asking, runScript, type Script, scripts } from "./replay-script.ts";

const RUNS = Number(process.env.REPLAY_RUNS ?? 100);
const TIMEOUT_MS = 20_000 + RUNS * 500;
const ABLE = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const LIMITS = { samplesPerCallMax: 1_000 };

afterEach(closePeers);

/** One decision after another, from a list that starts again at its end. */
class Choices {
  #at = 0;
  readonly #list: readonly number[];

  constructor(list: readonly number[]) {
    this.#list = list;
  }

  /** A whole number below `max`. */
  next(max: number): number {
    const choice = this.#list[this.#at % this.#list.length] ?? 0;
    this.#at += 1;
    return (choice + this.#at) % max;
  }

  shuffle<T>(values: readonly T[]): T[] {
    const left = [...values];
    return values.flatMap(() => left.splice(this.next(left.length), 1));
  }
}

const choices = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 20 });

/** A person with a mind made up: says the same to the same question, and something else when asked another time. */
class Person {
  readonly #seed: number;
  readonly #asked = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  answer({ method, params }: Pick<JSONRPCRequest, "method" | "params">): Json {
    // Of those asked at once nothing tells one from another.
    if (method === "roots/list") return { roots: [{ uri: "file:///home" }] };
    if (method === "sampling/createMessage") {
      const text = `sampled ${this.#number(JSON.stringify(params?.messages))}`;
      return { role: "assistant", model: "m", content: { type: "text", text } };
    }
    const [message = "", wrong] = String(params?.message).split("\n\n");
    const isUrl = params?.mode === "url";
    const number = this.#number(wrong === undefined ? message : `${message} again`);
    if (number % 6 === 0) return { action: "decline" };
    if (number % 7 === 0) return { action: "cancel" };
    if (isUrl) return { action: "accept" };
    // Does not fit, the first time it is asked.
    if (number % 5 === 0 && wrong === undefined) return { action: "accept", content: { value: 5 } };
    return { action: "accept", content: { value: `value ${number}` } };
  }

  #number(message: string): number {
    const time = (this.#asked.get(message) ?? 0) + 1;
    this.#asked.set(message, time);
    return [...`${this.#seed} ${message} ${time}`].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % 10_007, 7);
  }
}

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
      this.all.push({ request, key, name: key.slice(key.indexOf("/") + 1), hasFailed });
    };
  }
}

const names = (effects: readonly Effect[], hasFailed: boolean) =>
  effects.filter((effect) => effect.hasFailed === hasFailed).map(({ name }) => name);
const distinct = (values: readonly string[]) => [...new Set(values)].sort();

async function textOf(script: Script, ctx: Asking, effects: Effects): Promise<string> {
  try {
    return JSON.stringify({ told: await runScript(script, ctx, effects.listen()) });
  } catch (error) {
    return JSON.stringify({ threw: (error as Error).message });
  }
}

function serverOf(script: Script, effects: Effects): McpServer {
  return new McpServer({ name: "replayed", version: "1.0.0" }).tool("run", {}, (_, ctx) =>
    textOf(script, ctx, effects),
  );
}

/** The uninterrupted run: every question has its answer at once. */
async function runStraight(script: Script, person: Person): Promise<{ text: string; effects: Effects }> {
  const effects = new Effects();
  const uses = new Map<string, number>();
  const elicited = (message: string) => {
    const answer = person.answer({ method: "elicitation/create", params: { mode: "form", message } });
    const isMisfit = (answer.content as { value?: unknown } | undefined)?.value === 5;
    return isMisfit
      ? person.answer({ method: "elicitation/create", params: { mode: "form", message: `${message}\n\n(5)` } })
      : answer;
  };
  const ctx = {
    elicit: async (message: string) => elicited(message),
    elicitUrl: async ({ message }: { message: string }) => {
      const { action } = person.answer({ method: "elicitation/create", params: { mode: "url", message } });
      return { action, elicitationId: crypto.randomUUID() };
    },
    sample: async (params: Json) => person.answer({ method: "sampling/createMessage", params }),
    listRoots: async () => person.answer({ method: "roots/list" }).roots,
    step: async (name: string, work: (context: { key: string }) => unknown) => {
      const use = (uses.get(name) ?? 0) + 1;
      uses.set(name, use);
      return work({ key: `straight/${name}.${use}` });
    },
  };
  // It answers as a client of the same person would; the types of forms are the caller's.
  return { text: await textOf(script, ctx as unknown as Asking, effects), effects };
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

function expectModern(straight: Awaited<ReturnType<typeof runStraight>>, { text, lost }: Driven, effects: Effects) {
  expect(text).toBe(straight.text);
  const kept = effects.all.filter(({ request }) => !lost.has(request));
  // Each once, under a key of its own, all of one call.
  expect(names(kept, false).sort()).toEqual(names(straight.effects.all, false).sort());
  expect(distinct(names(kept, true))).toEqual(distinct(names(straight.effects.all, true)));
  expect(new Set(kept.map(({ key }) => key.split("/")[0])).size).toBeLessThanOrEqual(1);
  const keys = new Set(kept.map(({ key }) => key));
  const possible = new Set(straight.effects.all.map(({ name }) => name));
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
          for (const hasFailed of [false, true]) {
            expect(names(effects.all, hasFailed).sort()).toEqual(names(straight.effects.all, hasFailed).sort());
          }
        }),
        { numRuns: RUNS },
      ),
    TIMEOUT_MS,
  );
});
