import type { ClientCapabilities } from "../../core/protocol/client-capabilities.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Root } from "../../core/protocol/root.ts";
import type { Era } from "../../core/protocol/versions.ts";
import type { Answering } from "./answering.ts";
import type { AnsweringParts } from "./answering-parts.ts";

/** Declares the capabilities of the client, and loads the code that answers questions with the first question. */
export class LazyAnswering {
  readonly #parts: Omit<AnsweringParts, "roots">;
  #answering: Promise<Answering> | undefined;
  /** The current roots; undefined if the client does not declare roots. */
  roots: readonly Root[] | undefined;

  constructor(parts: Omit<AnsweringParts, "roots">) {
    this.#parts = parts;
    this.roots = parts.options.roots;
  }

  /** Loads the code that answers questions. */
  load(): Promise<Answering> {
    const parts = { ...this.#parts, roots: () => this.roots };
    this.#answering ??= import("../on-demand.ts").then(({ Answering }) => new Answering(parts));
    return this.#answering;
  }

  /** Aborts running handlers, as {@link Answering.end} does. */
  end(reason: unknown, cancelled?: JsonObject): void {
    void this.#answering?.then((answering) => answering.end(reason, cancelled));
  }

  /** Returns the capabilities to declare, from the handlers, the option `capabilities` and the extensions. */
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

/** Merges capabilities. A member that both have, such as `extensions`, gets the members of both. */
function merge(one: ClientCapabilities, other: ClientCapabilities = {}): ClientCapabilities {
  const both = Object.entries(other).map(([name, value]) => {
    const present = one[name];
    return [name, isObject(present) && isObject(value) ? { ...present, ...value } : value];
  });
  return { ...one, ...Object.fromEntries(both) };
}
