/**
 * The Worker's half of a session's stream: it holds the response of the client and a WebSocket to the object, which may
 * sleep. After a reset of the object the WebSocket is dialled again from where it was; the client notices nothing.
 *
 * @module
 */
import { BusyError } from "../../core/protocol/errors.ts";
import { type LoggingLevel, logNotification } from "../../core/protocol/logging.ts";
import { type Notice, type NoticeFilter, type NoticeTap, sizeOf } from "../../core/protocol/notices.ts";
import { legacyNotification } from "../../core/serve/subscriptions.ts";
import type { EventStream } from "../../http/event-stream.ts";
import type { Refusal } from "../../http/refusal.ts";
import { busy, cursorInvalid, SESSION_UNKNOWN, STREAM_OVER } from "../../http/session-refusals.ts";
import type { SessionNotices, StreamTarget } from "../../http/sessions.ts";
import { encodeEvent, encodeRetry } from "../../http/sse.ts";
import { GONE, Link } from "../reconnecting-socket.ts";
import { type Attach, decodeBridge, encodeReceived, encodeTaken, type FromObject } from "./bridge-messages.ts";

/** Bytes that the client takes before the object is told: each telling wakes it. A part of its window. */
const REPORTED = 256 * 1024;

/** Longest delay in milliseconds before the object learns which events a client that cannot resume has received. */
const RECEIVED_MS = 100;

export interface BridgeOptions {
  readonly target: StreamTarget;
  /** The client's response. */
  readonly to: EventStream;
  readonly notices: SessionNotices | undefined;
  /** Asks the object for a WebSocket. */
  readonly dial: (target: Attach["target"]) => Promise<Response>;
}

/** Begins a bridge between a stream and its client. Resolves when it has begun, or with why it cannot. */
export async function openBridge(options: BridgeOptions): Promise<Refusal | undefined> {
  const bridge = new Bridge(options);
  return bridge.open();
}

class Bridge {
  readonly #options: BridgeOptions;
  #link: Link | undefined;
  /** Where to go on after a loss. */
  #place: { readonly stream: number; readonly after: number; readonly rank?: number } | undefined;
  /** Taken by the client, and not yet told to the object. */
  #taken = 0;
  #receipt: ReturnType<typeof setTimeout> | undefined;
  #tap: NoticeTap | undefined;
  /** Filters are taken one after the other. */
  #listening: Promise<void> = Promise.resolve();
  #greet: () => void = () => undefined;
  #refuse: (error: unknown) => void = () => undefined;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  async open(): Promise<Refusal | undefined> {
    const { to, target } = this.#options;
    // A stream of the session's own has begun once it hears of notices.
    const greeted = new Promise<void>((resolve, reject) => {
      this.#greet = resolve;
      this.#refuse = reject;
    });
    const link = await Link.open({
      dial: () => this.#dial(),
      onMessage: (text) => this.#receive(decodeBridge(text)),
      onEnd: () => this.#end(),
    });
    if (link instanceof Response) return refusalOf(link, target);
    this.#link = link;
    to.onTaken = (bytes) => this.#report(bytes);
    to.signal.addEventListener("abort", () => this.#end(), { once: true });
    if (to.signal.aborted) this.#end();
    try {
      await greeted;
      return undefined;
    } catch (error) {
      if (error instanceof BusyError) return busy(error.message);
      throw error;
    }
  }

  #dial(): Promise<Response> {
    const again = this.#place && ({ kind: "again", ...this.#place } as const);
    return this.#options.dial(again ?? this.#options.target);
  }

  #receive(message: FromObject): void {
    const { to } = this.#options;
    switch (message.kind) {
      case "hello":
        if (!this.#place) to.write(message.frames);
        this.#place ??= { stream: message.stream, after: message.seq };
        if (!message.waits) this.#greet();
        return;
      case "events":
      case "final":
        if (this.#place) this.#place = { ...this.#place, after: message.seq, rank: rankOf(message) };
        to.write(this.#isHttpSse ? this.#once(message.frames) : message.frames);
        if (message.kind === "final") this.#end();
        return;
      case "retry":
        to.write(encodeRetry(message.retryMs));
        this.#end();
        return;
      case "filter":
        this.#listening = this.#listening
          .then(() => this.#listen(message.filter))
          .then(() => this.#link?.send(message.number), this.#fail);
        return;
      case "begun":
        this.#greet();
    }
  }

  async #listen(filter: NoticeFilter): Promise<void> {
    const { notices, target } = this.#options;
    if (!notices) return;
    const offered = { ...filter, lists: filter.lists.filter((list) => notices.lists.includes(list)) };
    if (this.#tap) return this.#tap.update(offered);
    const claim = { principal: undefined, size: sizeOf(offered, offered.uris) };
    this.#tap = await notices.source.open(offered, (notice) => this.#tell(notice), claim);
    void this.#tap.ended.then(() => this.#end());
    if (target.kind !== "resume") return;
    // What was told while this stream was cut is not known: one notice for each subject stands for it.
    for (const kind of offered.lists) this.#tell({ kind });
    for (const uri of offered.uris) this.#tell({ kind: "resource", uri });
  }

  #tell(notice: Notice): void {
    const { to } = this.#options;
    const frame = encodeEvent(JSON.stringify(legacyNotification(notice)));
    if (notice.kind === "log") to.notify(frame, "log", this.#logsDropped(notice.level));
    else to.notify(frame);
  }

  /** What stands for log messages that the client was too slow for. */
  #logsDropped(level: LoggingLevel): string {
    const data = "Log messages were dropped, because this client reads its stream too slowly.";
    return encodeEvent(JSON.stringify(logNotification(level, data, "mcp-edge")));
  }

  /** The object sends no more than a window beyond what it hears of; hearing of each event would wake it for nothing. */
  #report(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < REPORTED) return;
    this.#link?.send(encodeTaken(this.#taken));
    this.#taken = 0;
  }

  get #isHttpSse(): boolean {
    const { target } = this.#options;
    return target.kind === "standalone" && target.isHttpSse === true;
  }

  /**
   * Frames for a client that cannot resume: the object may forget them, and they have no ids, which a browser would
   * send when it connects again.
   */
  #once(frames: string): string {
    this.#receipt ??= setTimeout(() => {
      this.#receipt = undefined;
      const { after = 0, rank = 0 } = this.#place ?? {};
      // Of an event that has come in part the rest is still to come, by its place.
      this.#link?.send(encodeReceived(rank < 0 ? after - 1 : after));
    }, RECEIVED_MS);
    // A part of a long frame may begin with any text of its data, but never with a line that another follows.
    return frames.replace(/^id: \S+\n(?=event: )/gm, "");
  }

  /** Notices cannot be had: a stream that has not begun is refused, another ends, so that its client comes again. */
  readonly #fail = (error: unknown): void => {
    this.#refuse(error);
    this.#end();
  };

  #end(): void {
    this.#greet();
    clearTimeout(this.#receipt);
    this.#link?.close(this.#isHttpSse ? GONE : undefined);
    this.#tap?.stop();
    this.#options.to.end();
  }
}

function rankOf(message: FromObject): number {
  return (message.kind === "events" && message.rank) || 0;
}

/** What the object's refusal of a WebSocket means to the client. */
function refusalOf({ status }: Response, target: StreamTarget): Refusal {
  const cursor = target.kind === "resume" ? target.lastEventId : "";
  if (status === 400) return cursorInvalid(cursor);
  return status === 405 ? STREAM_OVER : SESSION_UNKNOWN;
}
