/**
 * The POSTs of one session that are being served, and the cancellation of their requests.
 *
 * @module
 */
import type { ParsedMessage, RequestId } from "../../core/protocol/jsonrpc.ts";
import { Cancellation } from "../../http/legacy.ts";
import type { Outcome } from "../../http/respond.ts";
import type { SessionPost } from "../../http/sessions.ts";
import type { DurableCall } from "../replay/durable-call.ts";
import type { HttpSseRun } from "./http-sse-session.ts";
import type { CallStream } from "./logged-stream.ts";
import type { Caller } from "./session-state.ts";

/** A POST that is about to be served. */
export interface PostRun {
  /** Absent for a POST of a Streamable HTTP client. */
  readonly httpSse?: HttpSseRun | undefined;
  readonly post: SessionPost;
  readonly stream: CallStream;
  /** The part of the call that survives a restart of its object. Undefined if the call does not survive it. */
  readonly durable: DurableCall | undefined;
}

/** A POST that has been accepted and is being served. */
export interface RunningPost extends PostRun {
  /** Hash of the principal that sent the POST. */
  readonly by: string;
  /** Resolves when the handlers are about to run. Rejects, like `outcome`, if there is no server for the request. */
  readonly ready: Promise<unknown>;
  readonly outcome: Promise<Outcome>;
  over?: Outcome;
}

/** A request in flight, which can be cancelled. The request is in flight from the moment it is accepted. */
export class Slot extends Cancellation {
  readonly #inFlight: Map<RequestId, Set<Slot>>;
  readonly #id: RequestId;

  constructor(inFlight: Map<RequestId, Set<Slot>>, id: RequestId) {
    super();
    this.#inFlight = inFlight;
    this.#id = id;
    inFlight.set(id, (inFlight.get(id) ?? new Set()).add(this));
  }

  override free(): void {
    const others = this.#inFlight.get(this.#id);
    others?.delete(this);
    if (others?.size === 0) this.#inFlight.delete(this.#id);
  }
}

export class RunningPosts extends Set<RunningPost> {
  /** The requests in flight. A client may reuse an id once it has the response, so each id has a set. */
  readonly #inFlight = new Map<RequestId, Set<Slot>>();

  /** Reserves a slot for a request that was accepted. */
  slot(id: RequestId): Slot {
    return new Slot(this.#inFlight, id);
  }

  /** Returns the POSTs that contain a request with this id. */
  of(id: RequestId): RunningPost[] {
    return [...this].filter(({ post }) => requestIds(post.messages).includes(id));
  }

  /** The number of requests in flight. */
  get requests(): number {
    return [...this.#inFlight.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Cancels all requests with this id. */
  cancel(id: RequestId, reason: Error): void {
    for (const slot of this.#inFlight.get(id) ?? []) slot.abort(reason);
  }

  /** Cancels every request. */
  cancelAll(reason: Error): void {
    for (const id of this.#inFlight.keys()) this.cancel(id, reason);
  }

  /** Finds a running POST with the same request and principal: a client repeats a request if it received no response. */
  findRepeated(
    { principalHash }: Caller,
    { messages, isBatch, form }: SessionPost,
    [id]: readonly RequestId[],
  ): RunningPost | undefined {
    if (isBatch || id === undefined || !this.#inFlight.has(id)) return undefined;
    const body = JSON.stringify(messages);
    return [...this].find(
      ({ by, post }) => by === principalHash && post.form === form && JSON.stringify(post.messages) === body,
    );
  }
}

/** Returns the ids of the requests among the messages. */
export function requestIds(messages: readonly ParsedMessage[]): RequestId[] {
  return messages.flatMap((parsed) => (parsed.kind === "request" ? [parsed.message.id] : []));
}
