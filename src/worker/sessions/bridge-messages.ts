/**
 * What the Worker and the object of a session say to each other over their WebSocket. A deploy reaches them at
 * different moments, so either may be older: kinds are only ever added, and unknown ones are ignored.
 *
 * @module
 */
import type { NoticeFilter } from "../../core/protocol/notices.ts";
import type { StreamTarget } from "../../http/sessions.ts";
import type { Caller } from "./session-state.ts";

/** How the Worker asks for a socket: in a header, since an upgrade has no body. */
export interface Attach {
  readonly caller: Caller;
  readonly target:
    | StreamTarget
    /** Up to row `after`, `rank` has been passed on, over a link that was lost. */
    | { readonly kind: "again"; readonly stream: number; readonly after: number; readonly rank?: number };
}

export const ATTACH_HEADER = "X-Mcp-Attach";

export function encodeAttach(attach: Attach): string {
  return encodeURIComponent(JSON.stringify(attach));
}

export function decodeAttach(text: string): Attach {
  return JSON.parse(decodeURIComponent(text)) as Attach;
}

/** From the object to the Worker. */
export type FromObject =
  /** First of all: which stream it is, from which place on, and the frame a new response begins with. */
  | {
      readonly kind: "hello";
      readonly stream: number;
      readonly seq: number;
      /** The stream has begun only when it is said so. */
      readonly waits: boolean;
      readonly frames: string;
    }
  /** `rank` below 0: a part of event `seq`, which so many more rows go on with. */
  | { readonly kind: "events"; readonly seq: number; readonly rank?: number; readonly frames: string }
  /** The last ones: the response ends with them. */
  | { readonly kind: "final"; readonly seq: number; readonly frames: string }
  /** The response ends here, the stream does not. */
  | { readonly kind: "retry"; readonly retryMs: number }
  | { readonly kind: "begun" }
  /** What this stream is to tell of; to be acknowledged by its number. */
  | { readonly kind: "filter"; readonly number: string; readonly filter: NoticeFilter };

/** One JSON line, then the frames as they are. */
export function encodeBridge(message: FromObject): string {
  const { frames = "", ...head } = message as FromObject & { frames?: string };
  return `${JSON.stringify(head)}\n${frames}`;
}

/** From the Worker to the object: its client has taken so many units more. Anything else is the number of a filter. */
export function encodeTaken(units: number): string {
  return `t${units}`;
}

/** From the Worker to the object: everything up to this event has arrived, and will never be asked for again. */
export function encodeReceived(seq: number): string {
  return `r${seq}`;
}

/** Undefined for what is no such message. */
export function decodeReceived(text: string): number | undefined {
  return /^r\d+$/.test(text) ? Number(text.slice(1)) : undefined;
}

/** Undefined for what is no such message. */
export function decodeTaken(text: string): number | undefined {
  return /^t\d+$/.test(text) ? Number(text.slice(1)) : undefined;
}

export function decodeBridge(text: string): FromObject {
  const line = text.indexOf("\n");
  return { ...JSON.parse(text.slice(0, line)), frames: text.slice(line + 1) } as FromObject;
}
