/**
 * One line for each message, for finding faults: what was sent in which direction, and how long it took, without the
 * contents. This module is bundled only if a debug log is used.
 *
 * @module
 */
import { printable } from "../basics/quote.ts";
import { isObject, type RequestId } from "../protocol/jsonrpc.ts";
import { hasEnvelope } from "../protocol/lifecycle.ts";
import { describeSubject } from "../protocol/request-description.ts";

/** `in`: the server received the message. `out`: it sent the message. */
export type Direction = "in" | "out";

/** The facts about one message. It never contains arguments, results, messages of errors or other contents. */
export interface MessageFacts {
  /** Whether the server received or sent it. */
  readonly direction: Direction;
  /**
   * Its kind. `invalid` is JSON that is not a JSON-RPC message. `omitted` stands for the members of a batch that have no
   * lines, because it has too many.
   */
  readonly kind: "request" | "notification" | "result" | "error" | "invalid" | "omitted";
  /** The number of members of a batch that the line is about. Absent for a line about one message. */
  readonly count?: number;
  /** The era of a request, or of the request to which it responds. Absent for other messages. */
  readonly era?: "legacy" | "modern";
  /** Its method, or the method of the request to which it responds. */
  readonly method?: string;
  /** The tool or prompt that a request names. */
  readonly name?: string;
  /** The id of a request or response. */
  readonly id?: RequestId;
  /** The code of an error. */
  readonly code?: number;
  /** Whether it is a tool result with `isError`. */
  readonly isError?: boolean;
  /** Its length as JSON, in characters. Absent for the members of a batch, whose lengths are not known. */
  readonly size?: number;
  /** The time since its request, in milliseconds. */
  readonly ms?: number;
}

/** The maximum number of requests whose responses are awaited. Older ones have no `ms` then. @limit internal */
const PENDING_MAX = 1_000;

/** The maximum length of a string that a peer has chosen. @limit internal */
const NAME_MAX = 128;

/** The maximum number of members of a batch that have lines. @limit internal */
const BATCH_MAX = 50;

interface Pending {
  readonly era: "legacy" | "modern";
  readonly method: string;
  readonly startedAtMs: number;
}

/** Writes a line of JSON for each message. Its methods never throw, so that the log does not change what is logged. */
export class MessageLog {
  readonly #write: (line: string) => unknown;
  readonly #lost: (error: unknown) => void;
  readonly #pending = new Map<string, Pending>();

  /**
   * @param write Receives each line.
   * @param lost Receives the exceptions of `write`. It must not throw.
   */
  constructor(write: (line: string) => unknown, lost: (error: unknown) => void) {
    this.#write = write;
    this.#lost = lost;
  }

  /**
   * Logs a message, or the members of a batch. The value may be nested to any depth, so it is not walked or encoded.
   *
   * @param size Its length as JSON, in characters.
   */
  add(direction: Direction, value: unknown, size?: number): void {
    try {
      if (Array.isArray(value)) this.#addBatch(direction, value, size);
      else this.#print(this.#describe(direction, value, size));
    } catch (error) {
      this.#lost(error);
    }
  }

  #addBatch(direction: Direction, members: readonly unknown[], size: number | undefined): void {
    const found = members.slice(0, BATCH_MAX).map((each) => this.#describe(direction, each));
    const valid = found.filter(({ kind }) => kind !== "invalid");
    for (const facts of valid) this.#print(facts);
    const invalid = found.length - valid.length;
    if (invalid > 0 || members.length === 0)
      this.#print({ direction, kind: "invalid", count: invalid, ...sized(size) });
    const omitted = members.length - found.length;
    if (omitted > 0) this.#print({ direction, kind: "omitted", count: omitted });
  }

  #print(facts: MessageFacts): void {
    const written = this.#write(printable(JSON.stringify({ mcp: facts })));
    if (written instanceof Promise) written.catch(this.#lost);
  }

  #describe(direction: Direction, value: unknown, size?: number): MessageFacts {
    if (!isObject(value) || value.jsonrpc !== "2.0") return { direction, kind: "invalid", ...sized(size) };
    const { id, method, params, result, error } = value;
    const own = {
      ...(typeof id === "string" ? { id: shorten(id) } : typeof id === "number" ? { id } : {}),
      ...sized(size),
    };
    if (typeof method !== "string") return { direction, ...this.#response(direction, id, result, error), ...own };
    const kind = id === undefined ? "notification" : "request";
    const given = isObject(params) ? params : {};
    const { tool, prompt } = describeSubject({ jsonrpc: "2.0", id: 0, method, params: given });
    const name = tool ?? prompt;
    const era = hasEnvelope(given) ? "modern" : "legacy";
    if (kind === "request") this.#keep(keyOf(direction, id), { era, method: shorten(method), startedAtMs: Date.now() });
    const about = { method: shorten(method), ...(name === undefined ? {} : { name: shorten(name) }) };
    return { direction, kind, ...(kind === "request" ? { era } : {}), ...about, ...own };
  }

  #response(direction: Direction, id: unknown, result: unknown, error: unknown): Pick<MessageFacts, "kind"> {
    const key = keyOf(direction === "in" ? "out" : "in", id);
    const pending = key === undefined ? undefined : this.#pending.get(key);
    if (key !== undefined) this.#pending.delete(key);
    const { era, method, startedAtMs = 0 } = pending ?? {};
    const about = pending ? { era, method, ms: Date.now() - startedAtMs } : {};
    if (isObject(error))
      return { kind: "error", ...about, ...(typeof error.code === "number" ? { code: error.code } : {}) };
    const isError = isObject(result) && result.isError === true;
    return { kind: "result", ...about, ...(isError ? { isError } : {}) };
  }

  #keep(key: string | undefined, pending: Pending): void {
    if (key === undefined) return;
    const [oldest] = this.#pending.keys();
    if (this.#pending.size >= PENDING_MAX && oldest !== undefined) this.#pending.delete(oldest);
    this.#pending.set(key, pending);
  }
}

/** Returns what identifies a request. Undefined if its id is not valid, or is too long to be kept. */
function keyOf(direction: Direction, id: unknown): string | undefined {
  if (typeof id !== "number" && (typeof id !== "string" || id.length > NAME_MAX)) return undefined;
  return `${direction} ${typeof id} ${id}`;
}

function shorten(text: string): string {
  return text.slice(0, NAME_MAX);
}

function sized(size: number | undefined): Pick<MessageFacts, "size"> {
  return size === undefined ? {} : { size };
}
