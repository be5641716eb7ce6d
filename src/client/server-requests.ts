/**
 * The requests of a legacy server, such as its questions, and their answers. Loaded on demand, because many servers send none.
 *
 * @module
 */
import { McpError } from "../core/protocol/errors.ts";
import {
  ErrorCode,
  isObject,
  type JSONRPCErrorObject,
  type JSONRPCRequest,
  type JsonObject,
  type RequestId,
} from "../core/protocol/jsonrpc.ts";
import { textOf } from "./errors.ts";
import type { EventHook } from "./events.ts";
import type { Link } from "./link.ts";

/** The most requests that are answered at the same time, and that wait for it. */
const [ANSWERED_MAX, WAITING_MAX] = [16, 1_000];

export interface ServerRequestParts {
  /** The time in which the server has to accept an answer. */
  readonly timeoutMs: number;
  answer(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>;
  readonly report: EventHook;
}

export class ServerRequests {
  readonly #parts: ServerRequestParts;
  /** Requests that are being answered, or wait for it. */
  readonly #open = new Map<RequestId, AbortController>();
  /** Starts the requests that wait. */
  readonly #waiting: (() => void)[] = [];
  #answered = 0;

  constructor(parts: ServerRequestParts) {
    this.#parts = parts;
  }

  /** Aborts the handlers that are running. */
  end(reason: unknown): void {
    for (const request of this.#open.values()) request.abort(reason);
  }

  /** Takes the notification with which the server withdraws a request. */
  withdraw({ requestId, reason }: JsonObject): void {
    const text = `The server withdrew its request${typeof reason === "string" ? `: ${reason}` : "."}`;
    this.#open.get(requestId as RequestId)?.abort(new Error(text));
  }

  /** Answers a request. @param hold Stops the limits of the calls that may have led to it, until the returned function is called. */
  async answer(link: Link, request: JSONRPCRequest, hold: () => () => void): Promise<void> {
    const { rules } = link;
    const ignored = (reason: string) => {
      this.#parts.report({ type: "warning", message: `A message of the server was ignored: ${reason}.` });
    };
    if (rules?.era === "modern") return ignored(`${rules.version} does not allow the request ${request.method}`);
    if (this.#waiting.length >= WAITING_MAX) return ignored(`${WAITING_MAX} other requests wait for their answers`);
    const abort = new AbortController();
    this.#open.set(request.id, abort);
    const release = hold();
    if (this.#answered >= ANSWERED_MAX) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#answered += 1;
    // A request that the server withdrew is not answered.
    const outcome = abort.signal.aborted ? undefined : await this.#outcomeOf(request, abort.signal);
    this.#open.delete(request.id);
    release();
    if (outcome && !abort.signal.aborted) await this.#send(link, request, outcome);
    const next = this.#waiting.shift();
    if (next) next();
    else this.#answered -= 1;
  }

  async #send(link: Link, { id, method }: JSONRPCRequest, outcome: Outcome): Promise<void> {
    const { timeoutMs, report } = this.#parts;
    const signal = timeoutMs === 0 ? undefined : AbortSignal.timeout(timeoutMs);
    try {
      await link.send({ jsonrpc: "2.0", id, ...outcome }, signal);
    } catch (error) {
      report({ type: "warning", message: `The answer to ${method} could not be sent: ${textOf(error)}` });
    }
  }

  async #outcomeOf({ method, params = {} }: JSONRPCRequest, signal: AbortSignal): Promise<Outcome> {
    try {
      const result = await this.#parts.answer(method, params, signal);
      return isObject(result) ? { result } : { error: INTERNAL };
    } catch (error) {
      if (!McpError.is(error)) {
        if (!signal.aborted) this.#parts.report({ type: "handler-failed", handler: method, error });
        // The text may contain details of the user's machine.
        return { error: INTERNAL };
      }
      const { code, message, data } = error;
      return { error: { code, message, ...(data === undefined ? {} : { data }) } };
    }
  }
}

type Outcome = { readonly result: JsonObject } | { readonly error: JSONRPCErrorObject };

const INTERNAL: JSONRPCErrorObject = { code: ErrorCode.InternalError, message: "The client failed to answer." };
