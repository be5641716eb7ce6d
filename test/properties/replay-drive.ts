/** Runs one random handler as its only client, and compares the outcome with an uninterrupted run. */
import assert from "node:assert/strict";
import { type JSONRPCRequest, McpServer } from "../../src/core/index.ts";
import type { Json } from "../features/peer.ts";
import { Choices, nameOfKey, Person, runStraight, type Straight, textOf } from "./replay-person.ts";
import { type Script, textOfScript } from "./replay-script.ts";

/**
 * A handler, the person who answers it, and the behaviour of the client. It is JSON, so a failed case can be stored.
 */
export interface Case {
  readonly script: Script;
  readonly personSeed: number;
  readonly choices: readonly number[];
}

/** Handlers may sample without limit. */
export const LIMITS = { samplesPerCallMax: 1_000, samplesPerSessionMax: 1e9 };

/** The effect of a step, and the request in which it happened. */
interface Effect {
  readonly request: number;
  /** The full key that the step was given. */
  readonly key: string;
  /** The key without the part that names the call. */
  readonly name: string;
  readonly hasFailed: boolean;
}

/** All effects of the steps of one case. */
export class Effects {
  readonly all: Effect[] = [];
  request = 0;

  /** A recorder for one run, whose effects belong to the request that began it. */
  listen() {
    const { request } = this;
    return (key: string, hasFailed: boolean) => this.add(key, hasFailed, request);
  }

  add(key: string, hasFailed: boolean, request = this.request): void {
    this.all.push({ request, key, name: nameOfKey(key), hasFailed });
  }
}

/** A server with one tool, `run`, which runs the script. */
export function serverOf(script: Script, effects: Effects): McpServer {
  return new McpServer({ name: "replayed", version: "1.0.0" }).tool("run", {}, (_, ctx) =>
    textOfScript(script, ctx, effects.listen()),
  );
}

const namesOf = (effects: readonly Effect[], hasFailed: boolean) =>
  effects.filter((effect) => effect.hasFailed === hasFailed).map(({ name }) => name);
const distinct = (values: readonly string[]) => [...new Set(values)].sort();

/** Sends `tools/call` with additional parameters. Resolves with its result. */
export type Send = (more: Json) => Promise<Json>;

interface Driven {
  readonly text: string;
  /** Requests whose answers were lost, and whether they carried a state. */
  readonly lost: ReadonlyMap<number, boolean>;
}

/** A modern client that answers some of the questions in any order, adds unsolicited answers, and loses answers. */
export async function driveRounds(send: Send, { personSeed, choices }: Case, effects: Effects): Promise<Driven> {
  const [person, decide] = [new Person(personSeed), new Choices(choices)];
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
    if (result.resultType !== "input_required") return { text: textOf(result), lost };
    const asked = Object.entries(result.inputRequests as Record<string, JSONRPCRequest>);
    let answered = asked.filter(() => decide.next(3) > 0);
    if (answered.length === 0 && silences > 3) answered = asked;
    if (answered.length === 0) silences += 1;
    for (const [key, question] of answered) if (!said.has(key)) said.set(key, person.answer(question));
    const responses = answered.map(([key]) => [key, said.get(key) ?? {}] as const);
    if (decide.next(2) === 0) responses.push(["stranger", { action: "accept", content: { value: "hm" } }]);
    const inputResponses = Object.fromEntries(decide.shuffle(responses));
    // Answers without the state of the first round restart the call with these answers. At most once.
    const dropsState = !hasState && !hasDropped && decide.next(3) === 0;
    if (dropsState) {
      hasDropped = true;
      lost.set(effects.request, false);
    }
    more = dropsState ? { inputResponses } : { inputResponses, requestState: result.requestState };
  }
}

/**
 * @throws {assert.AssertionError} when the result or effects of the rounds differ from those of an uninterrupted run.
 */
export async function judgeRounds({ script, personSeed }: Case, { text, lost }: Driven, effects: Effects) {
  const straight = await runStraight(script, new Person(personSeed));
  assert.equal(text, straight.text);
  const kept = effects.all.filter(({ request }) => !lost.has(request));
  // Each step once, with its own key, and all keys of one call.
  assert.deepEqual(namesOf(kept, false).sort(), [...straight.done].sort());
  assert.deepEqual(distinct(namesOf(kept, true)), distinct(straight.failed));
  assert.ok(new Set(kept.map(({ key }) => key.split("/")[0])).size <= 1, "steps of one call have keys of one call");
  const keys = new Set(kept.map(({ key }) => key));
  const possible = new Set([...straight.done, ...straight.failed]);
  for (const [request, hasState] of lost) {
    const done = effects.all.filter((effect) => effect.request === request);
    assert.equal(namesOf(done, false).length, new Set(namesOf(done, false)).size, "a lost request does each step once");
    // Effects whose result was lost are repeated: under the same key if there was a state that kept it.
    for (const { key, name } of done) assert.ok(hasState ? keys.has(key) : possible.has(name), `${key} is done again`);
  }
}

/** @throws {assert.AssertionError} when a run that was asked in the middle has another result or other effects. */
export function judgeUninterrupted(text: string, straight: Straight, effects: Effects): void {
  assert.equal(text, straight.text);
  assert.deepEqual(namesOf(effects.all, false).sort(), [...straight.done].sort());
  assert.deepEqual(namesOf(effects.all, true).sort(), [...straight.failed].sort());
}
