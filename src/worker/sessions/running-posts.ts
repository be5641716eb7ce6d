/**
 * The POSTs of one session whose requests are being served, and the cancellation of their requests.
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
  /** The part of the call that survives a restart of its object. Undefined if the call does not. */
  readonly durable: DurableCall | undefined;
}

/** A POST whose requests are being served, from the moment it was accepted. */
export interface RunningPost extends PostRun {
  /** Hash of the principal that sent it. */
  readonly by: string;
  /** Resolves when its handlers are about to run. Rejects, as the outcome does, when there is no server for the request. */
  readonly ready: Promise<unknown>;
  readonly outcome: Promise<Outcome>;
  over?: Outcome;
}

/** Cancels a request. It is in flight from the moment the request was accepted. */
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
  /** The requests in flight. A client may reuse an id after its answer, so each id has a set. */
  readonly #inFlight = new Map<RequestId, Set<Slot>>();

  /** Reserves a slot for a request that was accepted. */
  slot(id: RequestId): Slot {
    return new Slot(this.#inFlight, id);
  }

  /** The POSTs that contain a request with an id. */
  of(id: RequestId): RunningPost[] {
    return [...this].filter(({ post }) => requestIds(post.messages).includes(id));
  }

  /** The number of requests in flight. */
  get requests(): number {
    return [...this.#inFlight.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Cancels the requests of an id. */
  cancel(id: RequestId, reason: Error): void {
    for (const slot of this.#inFlight.get(id) ?? []) slot.abort(reason);
  }

  /** Cancels every request. */
  cancelAll(reason: Error): void {
    for (const id of this.#inFlight.keys()) this.cancel(id, reason);
  }

  /** Finds the same request of the same principal: a client that got no answer has sent it again. */
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

/** The ids of the requests among messages. */
export function requestIds(messages: readonly ParsedMessage[]): RequestId[] {
  return messages.flatMap((parsed) => (parsed.kind === "request" ? [parsed.message.id] : []));
}
