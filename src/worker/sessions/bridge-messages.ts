/**
 * The messages on the WebSocket between the Worker and the Durable Object of a session. During a deploy either side may
 * run the older release. New kinds of messages may therefore be added, and unknown kinds are ignored.
 *
 * @module
 */
import type { ChangeFilter } from "../../core/protocol/change-notifications.ts";
import type { StreamTarget } from "../../http/sessions.ts";
import type { Caller } from "./session-state.ts";

/** The Worker's request for a WebSocket. It is sent in a header, because a WebSocket upgrade has no body. */
export interface Attach {
  readonly caller: Caller;
  readonly target:
    | StreamTarget
    /** A reconnect. Everything up to the row at `after` and `rank` was forwarded before the connection was lost. */
    | { readonly kind: "again"; readonly stream: number; readonly after: number; readonly rank?: number };
}

export const ATTACH_HEADER = "X-Mcp-Attach";

export function encodeAttach(attach: Attach): string {
  return encodeURIComponent(JSON.stringify(attach));
}

export function decodeAttach(text: string): Attach {
  return JSON.parse(decodeURIComponent(text)) as Attach;
}

/** The messages that the object sends to the Worker. */
export type FromObject =
  /** The first message: the number of the stream, the position where it starts, and the first frame of a new response. */
  | {
      readonly kind: "hello";
      readonly stream: number;
      readonly seq: number;
      /** Whether the stream begins only when the message "begun" arrives. */
      readonly waits: boolean;
      readonly frames: string;
    }
  /** Events. If `rank` is negative, the frames are a part of event `seq`, and `-rank` more rows of it follow. */
  | { readonly kind: "events"; readonly seq: number; readonly rank?: number; readonly frames: string }
  /** The last frames. The response ends after these. */
  | { readonly kind: "final"; readonly seq: number; readonly frames: string }
  /** The response ends here, but the stream continues. */
  | { readonly kind: "retry"; readonly retryMs: number }
  | { readonly kind: "begun" }
  /** The notifications to deliver on this stream from now on. The Worker acknowledges with the number. */
  | { readonly kind: "filter"; readonly number: string; readonly filter: ChangeFilter };

/** Encodes a message as one line of JSON, followed by the unchanged frames. */
export function encodeBridge(message: FromObject): string {
  const { frames = "", ...head } = message as FromObject & { frames?: string };
  return `${JSON.stringify(head)}\n${frames}`;
}

/**
 * Encodes the Worker's report that its client has read this many more units. The Worker sends two other kinds of message:
 * receipts, and the numbers of filters.
 */
export function encodeTaken(units: number): string {
  return `t${units}`;
}

/** Encodes the Worker's receipt: all events up to this one have arrived and will never be requested again. */
export function encodeReceived(seq: number): string {
  return `r${seq}`;
}

/** Returns "t" and the units of a report, or "r" and the event of a receipt. The kind of any other message is undefined. */
export function decodeReport(text: string): readonly [kind: string | undefined, number: number] {
  const [, kind, number] = /^([rt])(\d+)$/.exec(text) ?? [];
  return [kind, Number(number)];
}

export function decodeBridge(text: string): FromObject {
  const line = text.indexOf("\n");
  return { ...JSON.parse(text.slice(0, line)), frames: text.slice(line + 1) } as FromObject;
}
