import type { ClientCapabilities } from "../../core/protocol/client-capabilities.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Root } from "../../core/protocol/root.ts";
import type { Era } from "../../core/protocol/versions.ts";
import type { Answering } from "./answering.ts";
import type { AnsweringParts } from "./answering-parts.ts";

/** What the client declares about its answers, and where it gets them. */
export class Answers {
  readonly #parts: Omit<AnsweringParts, "roots">;
  #answering: Promise<Answering> | undefined;
  /** The current roots; undefined if the client has no roots. */
  roots: readonly Root[] | undefined;

  constructor(parts: Omit<AnsweringParts, "roots">) {
    this.#parts = parts;
    this.roots = parts.options.roots;
  }

  /** Returns what answers questions. Loaded with the first question. */
  get answering(): Promise<Answering> {
    const parts = { ...this.#parts, roots: () => this.roots };
    this.#answering ??= import("../on-demand.ts").then(({ Answering }) => new Answering(parts));
    return this.#answering;
  }

  /** Aborts the handlers that are running: all, or that of the question which a notification of the server withdraws. */
  end(reason: unknown, withdrawn?: JsonObject): void {
    void this.#answering?.then((answering) => answering.end(reason, withdrawn));
  }

  /** The capabilities to declare: those of the handlers, and those that the author and the extensions add. */
  capabilities(era: Era): ClientCapabilities {
    const { onElicit, onElicitUrl, onSample, samplesWithTools, capabilities } = this.#parts.options;
    const elicitation = { ...(onElicit ? { form: {} } : {}), ...(onElicitUrl ? { url: {} } : {}) };
    const own: ClientCapabilities = {
      ...(onElicit || onElicitUrl ? { elicitation } : {}),
      ...(onSample ? { sampling: samplesWithTools ? { tools: {} } : {} } : {}),
      ...(this.roots ? { roots: era === "legacy" ? { listChanged: true } : {} } : {}),
      ...capabilities,
    };
    return this.#parts.extensions().reduce((all, { capabilities: more }) => {
      return merge(all, typeof more === "function" ? more(era) : more);
    }, own);
  }
}

/** Adds capabilities. Those that both have, such as `extensions`, get the members of both. */
function merge(one: ClientCapabilities, other: ClientCapabilities = {}): ClientCapabilities {
  const both = Object.entries(other).map(([name, value]) => {
    const present = one[name];
    return [name, isObject(present) && isObject(value) ? { ...present, ...value } : value];
  });
  return { ...one, ...Object.fromEntries(both) };
}
