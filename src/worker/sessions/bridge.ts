/**
 * The Worker's side of a session's stream. It holds the response to the client and a WebSocket to the Durable Object,
 * which may hibernate. After a reset of the object it reconnects at the last position, so the client is not affected.
 *
 * @module
 */

import {
  type ChangeFilter,
  type ChangeNotification,
  type ChangeSubscription,
  computeSize,
} from "../../core/protocol/change-notifications.ts";
import { BusyError } from "../../core/protocol/errors.ts";
import { type LoggingLevel, logNotification } from "../../core/protocol/logging.ts";
import { toNotification } from "../../core/serve/subscriptions.ts";
import type { EventStream } from "../../http/event-stream.ts";
import type { Refusal } from "../../http/refusal.ts";
import { busy, cursorInvalid, SCOPE_MISSING, SESSION_UNKNOWN, STREAM_OVER } from "../../http/session-refusals.ts";
import type { SessionNotifications, StreamTarget } from "../../http/sessions.ts";
import { encodeEvent, encodeRetry } from "../../http/sse.ts";
import { GONE, ReconnectingSocket } from "../reconnecting-socket.ts";
import { type Attach, decodeBridge, encodeReceived, encodeTaken, type FromObject } from "./bridge-messages.ts";

/**
 * How many bytes the client reads between two reports to the object. This is a fraction of the window, so that the stream
 * does not stall, but not a small one, because each report wakes the object.
 */
const REPORTED = 256 * 1024;

/** The maximum delay, in milliseconds, of a receipt for the events that a client without resumption has received. */
const RECEIVED_MS = 100;

export interface BridgeOptions {
  readonly target: StreamTarget;
  /** The client's response. */
  readonly to: EventStream;
  readonly notifications: SessionNotifications | undefined;
  /** Requests a WebSocket from the object. */
  readonly dial: (target: Attach["target"]) => Promise<Response>;
}

/** Connects a stream with its client. Resolves when the stream has begun, or with the refusal. */
export async function openBridge(options: BridgeOptions): Promise<Refusal | undefined> {
  const bridge = new Bridge(options);
  return bridge.open();
}

class Bridge {
  readonly #options: BridgeOptions;
  #socket: ReconnectingSocket | undefined;
  /** The position to continue from after a reconnect. */
  #position: { readonly stream: number; readonly after: number; readonly rank?: number } | undefined;
  /** Bytes that the client has read and that have not been reported yet. */
  #taken = 0;
  #receipt: ReturnType<typeof setTimeout> | undefined;
  #tap: ChangeSubscription | undefined;
  /** Applies filters one after the other. */
  #listening: Promise<void> = Promise.resolve();
  /** Resolves when the stream has begun. A standalone stream begins when its subscription to notifications is in effect. */
  readonly #begun = Promise.withResolvers<void>();

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  async open(): Promise<Refusal | undefined> {
    const { to, target } = this.#options;
    const socket = await ReconnectingSocket.open({
      dial: () => this.#dial(),
      onMessage: (text) => this.#receive(decodeBridge(text)),
      onEnd: () => this.#end(),
    });
    if (socket instanceof Response) return toRefusal(socket, target);
    this.#socket = socket;
    to.onTaken = (bytes) => this.#report(bytes);
    to.signal.addEventListener("abort", () => this.#end(), { once: true });
    if (to.signal.aborted) this.#end();
    try {
      await this.#begun.promise;
      return undefined;
    } catch (error) {
      if (error instanceof BusyError) return busy(error.message);
      throw error;
    }
  }

  #dial(): Promise<Response> {
    const again = this.#position && ({ kind: "again", ...this.#position } as const);
    return this.#options.dial(again ?? this.#options.target);
  }

  #receive(message: FromObject): void {
    const { to } = this.#options;
    switch (message.kind) {
      case "hello":
        if (!this.#position) to.write(message.frames);
        this.#position ??= { stream: message.stream, after: message.seq };
        if (!message.waits) this.#begun.resolve();
        return;
      case "events":
      case "final":
        if (this.#position) this.#position = { ...this.#position, after: message.seq, rank: getRank(message) };
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
          .then(() => this.#socket?.send(message.number), this.#fail);
        return;
      case "begun":
        this.#begun.resolve();
    }
  }

  async #listen(filter: ChangeFilter): Promise<void> {
    const { notifications, target } = this.#options;
    if (!notifications) return;
    const offered = { ...filter, lists: filter.lists.filter((list) => notifications.lists.includes(list)) };
    if (this.#tap) return this.#tap.update(offered);
    const claim = { principal: undefined, size: computeSize(offered, offered.uris) };
    this.#tap = await notifications.source.open(offered, (notification) => this.#tell(notification), claim);
    void this.#tap.ended.then(() => this.#end());
    if (target.kind !== "resume") return;
    // It is unknown what was published while this stream was disconnected, so a notification is sent for each subject.
    for (const kind of offered.lists) this.#tell({ kind });
    for (const uri of offered.uris) this.#tell({ kind: "resource", uri });
  }

  #tell(notification: ChangeNotification): void {
    const { to } = this.#options;
    const frame = encodeEvent(JSON.stringify(toNotification(notification)));
    if (notification.kind === "log") to.notify(frame, "log", this.#logsDropped(notification.level));
    else to.notify(frame);
  }

  /** Returns the message that replaces log messages which were dropped because the client reads too slowly. */
  #logsDropped(level: LoggingLevel): string {
    const data = "Log messages were dropped, because this client reads too slowly.";
    return encodeEvent(JSON.stringify(logNotification(level, data, "mcp-edge")));
  }

  /** Reports the bytes read, because the object sends at most one window of unread data. Reports are rare: each wakes it. */
  #report(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < REPORTED) return;
    this.#socket?.send(encodeTaken(this.#taken));
    this.#taken = 0;
  }

  get #isHttpSse(): boolean {
    const { target } = this.#options;
    return target.kind === "standalone" && target.isHttpSse === true;
  }

  /**
   * Returns the frames for a client that cannot resume. They have no ids, because a browser would send the last id when
   * it reconnects. Also reports the events as received, so that the object can delete them.
   */
  #once(frames: string): string {
    this.#receipt ??= setTimeout(() => {
      this.#receipt = undefined;
      const { after = 0, rank = 0 } = this.#position ?? {};
      // An event that has arrived only in part is not reported, because the rest is still needed in the log.
      this.#socket?.send(encodeReceived(rank < 0 ? after - 1 : after));
    }, RECEIVED_MS);
    // A part of a long frame may begin anywhere in its data. The pattern cannot match there: the data has no line breaks.
    return frames.replace(/^id: \S+\n(?=event: )/gm, "");
  }

  /** Called when notifications are unavailable. Refuses a stream that has not begun. Ends any other: its client reconnects. */
  readonly #fail = (error: unknown): void => {
    this.#begun.reject(error);
    this.#end();
  };

  #end(): void {
    this.#begun.resolve();
    clearTimeout(this.#receipt);
    this.#socket?.close(this.#isHttpSse ? GONE : undefined);
    this.#tap?.stop();
    this.#options.to.end();
  }
}

function getRank(message: FromObject): number {
  return (message.kind === "events" && message.rank) || 0;
}

/** Returns the refusal for the client when the object has refused a WebSocket. */
function toRefusal({ status }: Response, target: StreamTarget): Refusal {
  const cursor = target.kind === "resume" ? target.lastEventId : "";
  if (status === 400) return cursorInvalid(cursor);
  if (status === 403) return SCOPE_MISSING;
  return status === 405 ? STREAM_OVER : SESSION_UNKNOWN;
}
