/**
 * One stream of a session while the object is awake: what is said on it goes to the log first, then to whoever holds
 * its response.
 *
 * @module
 */
import { encodeEvent } from "../../http/sse.ts";
import { encodeBridge, type FromObject } from "./bridge-messages.ts";
import { encodeCursor } from "./event-id.ts";
import type { EventLog } from "./event-log.ts";

export interface LoggedStreamOptions {
  readonly id: number;
  readonly tag: string;
  readonly log: EventLog;
  /** Ids of the requests served on it, as JSON text; null: it is the session's own. */
  readonly requests: string | null;
  /** Called when the stream is first written to. */
  readonly onBegin: () => void;
  /** To the sockets that carry the stream now. */
  readonly send: (message: string) => void;
}

export class LoggedStream {
  readonly #options: LoggedStreamOptions;
  #seq: number;
  #frames = "";
  #hasBegun = false;
  #isOver = false;
  /** Called when the stream begins, beside the option: the response is to become a stream. */
  onBegin: () => void = () => undefined;
  /** Milliseconds after which the client is to come back, when its connection is to be ended as soon as it is there. */
  retryMs: number | undefined;

  constructor(options: LoggedStreamOptions) {
    this.#options = options;
    this.#seq = options.log.last(options.id).seq;
  }

  get id(): number {
    return this.#options.id;
  }

  /** Stores that there is such a stream. Written to or not, it can be resumed from now on. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { log, id, requests, onBegin } = this.#options;
    log.begin(id, requests);
    onBegin();
    this.onBegin();
  }

  /** Says one message. Messages of one turn share a row and a frame to the Worker. */
  write(text: string): void {
    if (this.#isOver) return;
    this.begin();
    if (this.#frames === "") queueMicrotask(() => this.#flush("events"));
    this.#add(text);
  }

  /** Says the last one and ends the stream. @param text Undefined: the request was cancelled, and no answer is due. */
  end(text: string | undefined): void {
    if (this.#isOver) return;
    this.begin();
    // On its own, so that it is never part of a row that is pruned early.
    this.#flush("events");
    this.#isOver = true;
    if (text !== undefined) {
      this.#add(text);
      this.#flush("final");
      return;
    }
    const { log, id, send } = this.#options;
    log.finish(id, this.#seq);
    send(encodeBridge({ kind: "final", seq: this.#seq, frames: "" }));
  }

  /** Ends the connection of whoever holds the response now, or of the next one to come. */
  disconnect(retryMs: number): void {
    if (this.#isOver) return;
    this.begin();
    this.#flush("events");
    this.retryMs = retryMs;
    this.#options.send(encodeBridge({ kind: "retry", retryMs }));
  }

  #add(text: string): void {
    this.#seq += 1;
    const { tag, id } = this.#options;
    this.#frames += encodeEvent(text, encodeCursor(tag, { stream: id, seq: this.#seq }));
  }

  #flush(kind: "events" | "final"): void {
    const frames = this.#frames;
    if (frames === "" && kind === "events") return;
    this.#frames = "";
    const { log, id, send } = this.#options;
    log.append(id, { seq: this.#seq, frames, isFinal: kind === "final" });
    const message: FromObject = { kind, seq: this.#seq, frames };
    send(encodeBridge(message));
  }
}
