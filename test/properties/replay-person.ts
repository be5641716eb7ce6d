/** The person who answers a handler, and the result of an uninterrupted run. */
import type { JSONRPCRequest } from "../../src/core/index.ts";
import type { Json } from "../features/peer.ts";
import { type Asking, type Script, textOfScript } from "./replay-script.ts";

/** The capabilities that a client of these handlers declares. */
export const ABLE = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** A sequence of decisions from a list that starts again at its end. */
export class Choices {
  #at = 0;
  readonly #list: readonly number[];

  constructor(list: readonly number[]) {
    this.#list = list;
  }

  /** An integer below `max`. */
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

/** A consistent person: gives the same answer to the same question, and a different answer when it is asked another time. */
export class Person {
  readonly #seed: number;
  readonly #asked = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  answer({ method, params }: Pick<JSONRPCRequest, "method" | "params">): Json {
    // Concurrent requests of these kinds cannot be distinguished.
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
    // An invalid answer, the first time it is asked.
    if (number % 5 === 0 && wrong === undefined) return { action: "accept", content: { value: 5 } };
    return { action: "accept", content: { value: `value ${number}` } };
  }

  #number(message: string): number {
    const time = (this.#asked.get(message) ?? 0) + 1;
    this.#asked.set(message, time);
    return [...`${this.#seed} ${message} ${time}`].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % 10_007, 7);
  }
}

/** The result of an uninterrupted run, and the names of its steps. */
export interface Straight {
  readonly text: string;
  readonly done: readonly string[];
  readonly failed: readonly string[];
}

/** The name of a step without the part that names its call. */
export function nameOfKey(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}

/** Runs a script without interruptions: every question is answered at once. */
export async function runStraight(script: Script, person: Person): Promise<Straight> {
  const [done, failed]: [string[], string[]] = [[], []];
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
    elicitUrl: async (message: string) => {
      const { action } = person.answer({ method: "elicitation/create", params: { mode: "url", message } });
      return { action, elicitationId: crypto.randomUUID() };
    },
    sample: async (params: Json) => person.answer({ method: "sampling/createMessage", params }),
    listRoots: async () => person.answer({ method: "roots/list" }).roots,
    task: async () => undefined,
    step: async (name: string, work: (context: { key: string }) => unknown) => {
      const use = (uses.get(name) ?? 0) + 1;
      uses.set(name, use);
      return work({ key: `straight/${name}.${use}` });
    },
  };
  // It answers as a client of the same person would; the caller determines the types of forms.
  const text = await textOfScript(script, ctx as unknown as Asking, (key, hasFailed) => {
    (hasFailed ? failed : done).push(nameOfKey(key));
  });
  return { text, done, failed };
}

/** The text of a tool result. */
export function textOf(result: Json): string {
  return (result.content as { text: string }[])[0]?.text ?? "";
}
