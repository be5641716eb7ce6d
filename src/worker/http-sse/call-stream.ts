/**
 * The stream of one call of an HTTP+SSE client. It does not have its own HTTP response. Its messages are sent on the only
 * stream that the client reads. A call that outlasts its POST is stored as accepted, so that the client receives a response
 * even if the Durable Object is reset.
 *
 * @module
 */
import type { RequestId } from "../../core/protocol/jsonrpc.ts";
import type { CallStream } from "../sessions/logged-stream.ts";
import type { SessionStreams } from "../sessions/session-streams.ts";

export interface HttpSseCallStreamOptions {
  readonly streams: SessionStreams;
  /** Number of the stream that the client reads. */
  readonly own: number;
  readonly requests: readonly RequestId[];
  /** Called before the response is sent. */
  readonly onEnd: (text: string | undefined) => void;
}

export class HttpSseCallStream implements CallStream {
  readonly #options: HttpSseCallStreamOptions;
  #id: number | undefined;

  constructor(options: HttpSseCallStreamOptions) {
    this.#options = options;
  }

  get id(): number {
    this.begin();
    return this.#id as number;
  }

  get hasBegun(): boolean {
    return this.#id !== undefined;
  }

  /** Resolves immediately, because this stream does not become the response to a POST. */
  get begun(): Promise<void> {
    return Promise.resolve();
  }

  /** Stores that the call has been accepted. */
  begin(): void {
    const { streams, own, requests } = this.#options;
    this.#id ??= streams.accept(own, requests);
  }

  write(text: string, isNews: boolean): void {
    const { streams, own } = this.#options;
    streams.sayOn(own, text, isNews);
  }

  /** Sends the response and deletes the record of the call. Synchronous, so that both are stored or neither is. */
  end(text: string | undefined): void {
    const { streams, own, requests, onEnd } = this.#options;
    onEnd(text);
    if (text !== undefined) streams.answerOn(own, text, requests);
    if (this.#id !== undefined) streams.answered(this.#id);
  }
}
