/**
 * The `subscriptions/listen` stream of a modern server. It is opened again with another filter when a subscription is added
 * or removed, and when it ends. Loaded on demand, because many clients listen to nothing.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */

import { pause } from "../../core/basics/pause.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { ClientError, toText } from "../basics/errors.ts";
import type { EventHook } from "../basics/events.ts";
import { backoffMs, LASTING_MS } from "../transports/backoff.ts";
import { isInterruption } from "./recovery.ts";

/** Functions of the client are handed in, so that this file shares little code with those that are always loaded. */
export interface ListenStreamParts {
  readonly reconnectsMax: number;
  /** Aborts when the client closes. */
  readonly signal: AbortSignal;
  /** What the client wants to be told of. Empty if it wants nothing. */
  filter(): JsonObject;
  /** Sends the request for a stream, and settles when the stream ends. */
  ask(filter: JsonObject, signal: AbortSignal, onAcknowledged: (agreed: JsonObject) => void): Promise<unknown>;
  /** Called when changes may have been missed. */
  assumeChanges(): void;
  readonly report: EventHook;
}

/** An open listen stream. */
interface Stream {
  readonly abort: AbortController;
  /** Resolves with what the server agreed to, and rejects if the stream ends before. */
  readonly acknowledged: Promise<JsonObject>;
  /** Resolves when the stream ends, with the reason. */
  readonly ended: Promise<unknown>;
}

export class ListenStream {
  readonly #parts: ListenStreamParts;
  #stream: Stream | undefined;
  /** Changes of the filter run one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Attempts to open the stream again, since one lasted. */
  #attempts = 0;

  constructor(parts: ListenStreamParts) {
    this.#parts = parts;
    parts.signal.addEventListener("abort", () => this.#end());
  }

  /** Opens the first stream. A failure is reported. */
  async start(): Promise<void> {
    try {
      await this.replace();
    } catch (error) {
      if (isInterruption(error)) return this.#reopen(undefined, error);
      this.#parts.report({ type: "stream-lost", error: error as Error });
    }
  }

  #end(): void {
    this.#stream?.abort.abort();
    this.#stream = undefined;
  }

  /**
   * Opens a stream with the current filter in place of the present one, and resolves with what the server agreed to. The
   * present stream is closed only then, so that no change is missed in between; one may be reported twice.
   */
  replace(): Promise<JsonObject> {
    const turn = this.#turn.then(async () => {
      const filter = this.#parts.filter();
      const previous = this.#stream;
      if (Object.keys(filter).length === 0) {
        this.#end();
        return {};
      }
      const stream = this.#open(filter);
      const agreed = await stream.acknowledged;
      this.#stream = stream;
      previous?.abort.abort();
      void this.#keep(stream);
      return agreed;
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  #open(filter: JsonObject): Stream {
    const abort = new AbortController();
    let agree: (agreed: JsonObject) => void = () => undefined;
    const agreed = new Promise<JsonObject>((resolve) => {
      agree = resolve;
    });
    const onAcknowledged = ({ notifications }: JsonObject): void => agree(isObject(notifications) ? notifications : {});
    const ended = this.#parts.ask(filter, abort.signal, onAcknowledged).then(
      () => new ClientError("stream-lost", "The server closed the listen stream."),
      (error: unknown) => error,
    );
    const acknowledged = Promise.race([agreed, ended.then((error) => Promise.reject(error))]);
    // The race may be lost after nobody waits for it any more.
    acknowledged.catch(() => undefined);
    return { abort, acknowledged, ended };
  }

  /** Opens the stream again when it ends. */
  async #keep(stream: Stream): Promise<void> {
    const openedAtMs = Date.now();
    const failure = await stream.ended;
    // A server that acknowledges and closes at once must not be asked forever.
    if (Date.now() - openedAtMs > LASTING_MS) this.#attempts = 0;
    await this.#reopen(stream, failure);
  }

  /** Opens a stream in place of one that has ended or was never open, and reports what may have been missed. */
  async #reopen(stream: Stream | undefined, reason: unknown): Promise<void> {
    const { report, reconnectsMax, signal } = this.#parts;
    let failure = reason;
    // A channel that has closed does not come back.
    while (this.#stream === stream && !signal.aborted && !(ClientError.is(failure) && failure.code === "closed")) {
      this.#attempts += 1;
      const attempt = this.#attempts;
      if (attempt > reconnectsMax) {
        this.#stream = undefined;
        const text = `The listen stream was lost: ${toText(failure)}`;
        return report({ type: "stream-lost", error: new ClientError("stream-lost", text, { cause: failure }) });
      }
      const delayMs = backoffMs(attempt, undefined);
      report({ type: "stream-reconnecting", method: "subscriptions/listen", attempt, delayMs });
      await pause(delayMs, signal);
      if (this.#stream !== stream || signal.aborted) return;
      try {
        await this.replace();
        report({ type: "stream-resumed", method: "subscriptions/listen" });
        return this.#parts.assumeChanges();
      } catch (error) {
        failure = error;
      }
    }
  }
}
