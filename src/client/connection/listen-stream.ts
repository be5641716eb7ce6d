/**
 * The `subscriptions/listen` stream of a modern server. It is opened again when a subscription is added or removed, and when it ends.
 * Loaded on demand, because many clients have no subscriptions.
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

/** The parts of the client that the stream uses. They are passed in, so that this file imports little code that is always loaded. */
export interface ListenStreamParts {
  readonly reconnectsMax: number;
  /** Aborts when the client closes. */
  readonly signal: AbortSignal;
  /** Returns the current filter. Empty if no stream is needed. */
  filter(): JsonObject;
  /** Sends the request for a stream, and settles when the stream ends. */
  listen(filter: JsonObject, signal: AbortSignal, onAcknowledged: (accepted: JsonObject) => void): Promise<unknown>;
  /** Called when changes may have been missed. */
  assumeChanges(): void;
  readonly report: EventHook;
}

/** An open listen stream. */
interface Stream {
  readonly abort: AbortController;
  /** Resolves with the filter that the server has accepted. Rejects if the stream ends before that. */
  readonly acknowledged: Promise<JsonObject>;
  /** Resolves with the reason when the stream ends. */
  readonly ended: Promise<unknown>;
}

export class ListenStream {
  readonly #parts: ListenStreamParts;
  #stream: Stream | undefined;
  /** Settles when the last change of the filter is done. Changes run one after another. */
  #turn: Promise<unknown> = Promise.resolve();
  /** The number of attempts to open the stream again since a stream lasted. */
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
   * Replaces the current stream by a stream with the current filter. Resolves with the filter that the server has accepted. The old
   * stream is closed only then, so that no change is missed. A change may be reported twice.
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
      const accepted = await stream.acknowledged;
      this.#stream = stream;
      previous?.abort.abort();
      void this.#keepOpen(stream);
      return accepted;
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  #open(filter: JsonObject): Stream {
    const abort = new AbortController();
    let accept: (accepted: JsonObject) => void = () => undefined;
    const accepted = new Promise<JsonObject>((resolve) => {
      accept = resolve;
    });
    const onAcknowledged = ({ notifications }: JsonObject): void =>
      accept(isObject(notifications) ? notifications : {});
    const ended = this.#parts.listen(filter, abort.signal, onAcknowledged).then(
      () => new ClientError("stream-lost", "The server closed the listen stream."),
      (error: unknown) => error,
    );
    const acknowledged = Promise.race([accepted, ended.then((error) => Promise.reject(error))]);
    // A rejection after the acknowledgement must not be reported as unhandled.
    acknowledged.catch(() => undefined);
    return { abort, acknowledged, ended };
  }

  /** Opens the stream again when it ends. */
  async #keepOpen(stream: Stream): Promise<void> {
    const openedAtMs = Date.now();
    const failure = await stream.ended;
    // The attempts continue to count if the server closes the stream soon after the acknowledgement.
    if (Date.now() - openedAtMs > LASTING_MS) this.#attempts = 0;
    await this.#reopen(stream, failure);
  }

  /** Replaces a stream that has ended or could not be opened, and reports the changes that may have been missed. */
  async #reopen(stream: Stream | undefined, reason: unknown): Promise<void> {
    const { report, reconnectsMax, signal } = this.#parts;
    let failure = reason;
    // After the channel has closed, no stream can be opened on it.
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
