/**
 * The stream of one call of an HTTP+SSE client. It has no response of its own: what is said on it goes to the one stream
 * that the client reads. That the call was accepted is stored as soon as it takes longer than its POST, so that a call
 * whose object is reset still gets an outcome.
 *
 * @module
 */
import type { RequestId } from "../../core/protocol/jsonrpc.ts";
import type { CallStream } from "../sessions/logged-stream.ts";
import type { SessionStreams } from "../sessions/session-streams.ts";

export interface HeardStreamOptions {
  readonly streams: SessionStreams;
  /** Number of the stream that the client reads. */
  readonly own: number;
  readonly requests: readonly RequestId[];
  /** Called before the answer is said. */
  readonly onEnd: (text: string | undefined) => void;
}

export class HeardStream implements CallStream {
  readonly #options: HeardStreamOptions;
  #id: number | undefined;

  constructor(options: HeardStreamOptions) {
    this.#options = options;
  }

  get id(): number {
    this.begin();
    return this.#id as number;
  }

  get hasBegun(): boolean {
    return this.#id !== undefined;
  }

  /** For streams that a POST may be answered with, which this one never is. */
  get begun(): Promise<void> {
    return Promise.resolve();
  }

  /** Stores that the call was accepted. */
  begin(): void {
    const { streams, own, requests } = this.#options;
    this.#id ??= streams.accept(own, requests);
  }

  write(text: string, isNews: boolean): void {
    const { streams, own } = this.#options;
    streams.sayOn(own, text, isNews);
  }

  /** Says the answer and forgets that it was due, in one turn: both are stored, or neither. */
  end(text: string | undefined): void {
    const { streams, own, requests, onEnd } = this.#options;
    onEnd(text);
    if (text !== undefined) streams.answerOn(own, text, requests);
    if (this.#id !== undefined) streams.answered(this.#id);
  }
}
