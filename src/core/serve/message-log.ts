/**
 * One line for each message, for finding faults: what was sent in which direction, and how long it took, without the
 * contents. This module is bundled only if a debug log is used.
 *
 * @module
 */
import { printable } from "../basics/quote.ts";
import { isObject, type JsonObject, type RequestId } from "../protocol/jsonrpc.ts";
import { hasEnvelope } from "../protocol/lifecycle.ts";
import { describeSubject } from "../protocol/request-description.ts";

/** `in`: the server received the message. `out`: it sent the message. */
export type Direction = "in" | "out";

/** The facts about one message. It never contains arguments, results, messages of errors or other contents. */
export interface MessageFacts {
  /** Whether the server received or sent it. */
  readonly direction: Direction;
  /** Its kind. `invalid` is JSON that is not a JSON-RPC message. */
  readonly kind: "request" | "notification" | "result" | "error" | "invalid";
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
  /** Its length as JSON, in characters. */
  readonly size: number;
  /** The time since its request, in milliseconds. */
  readonly ms?: number;
}

/** The maximum number of requests whose responses are awaited. Older ones have no `ms` then. @limit internal */
const PENDING_MAX = 1_000;

/** The maximum length of a string that a peer has chosen. @limit internal */
const NAME_MAX = 128;

interface Pending {
  readonly era: "legacy" | "modern";
  readonly method: string;
  readonly startedAtMs: number;
}

/** Writes a line of JSON for each message. */
export class MessageLog {
  readonly #write: (line: string) => void;
  readonly #pending = new Map<string, Pending>();

  /** @param write Receives each line. */
  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** Logs a message, or each message of a batch. */
  add(direction: Direction, value: unknown, size = lengthOf(value)): void {
    if (Array.isArray(value)) for (const each of value) this.add(direction, each);
    else this.#write(printable(JSON.stringify({ mcp: this.#describe(direction, value, size) })));
  }

  #describe(direction: Direction, value: unknown, size: number): MessageFacts {
    if (!isObject(value) || value.jsonrpc !== "2.0") return { direction, kind: "invalid", size };
    const { id, method, params, result, error } = value;
    const own = typeof id === "string" ? { id: shorten(id) } : typeof id === "number" ? { id } : {};
    if (typeof method !== "string") return { direction, ...this.#response(direction, id, result, error), ...own, size };
    const kind = id === undefined ? "notification" : "request";
    const given = isObject(params) ? params : {};
    const { tool, prompt } = describeSubject({ jsonrpc: "2.0", id: 0, method, params: given });
    const name = tool ?? prompt;
    const era = hasEnvelope(given) ? "modern" : "legacy";
    if (kind === "request") this.#keep(keyOf(direction, id), { era, method: shorten(method), startedAtMs: Date.now() });
    const about = { method: shorten(method), ...(name === undefined ? {} : { name: shorten(name) }) };
    return { direction, kind, ...(kind === "request" ? { era } : {}), ...about, ...own, size };
  }

  #response(direction: Direction, id: unknown, result: unknown, error: unknown): Pick<MessageFacts, "kind"> {
    const key = keyOf(direction === "in" ? "out" : "in", id);
    const pending = this.#pending.get(key);
    this.#pending.delete(key);
    const { era, method, startedAtMs = 0 } = pending ?? {};
    const about = pending ? { era, method, ms: Date.now() - startedAtMs } : {};
    if (isObject(error))
      return { kind: "error", ...about, ...(typeof error.code === "number" ? { code: error.code } : {}) };
    const isError = isObject(result) && result.isError === true;
    return { kind: "result", ...about, ...(isError ? { isError } : {}) };
  }

  #keep(key: string, pending: Pending): void {
    const [oldest] = this.#pending.keys();
    if (this.#pending.size >= PENDING_MAX && oldest !== undefined) this.#pending.delete(oldest);
    this.#pending.set(key, pending);
  }
}

function keyOf(direction: Direction, id: unknown): string {
  return `${direction} ${typeof id} ${String(id)}`;
}

function shorten(text: string): string {
  return text.slice(0, NAME_MAX);
}

function lengthOf(value: unknown): number {
  return JSON.stringify(value as JsonObject)?.length ?? 0;
}
