/**
 * Server-Sent Events, the sending half.
 *
 * @module
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
import { encodeText } from "../core/protocol/bytes.ts";

/**
 * One event as a frame, blank line included. JSON text has no raw line break, so one `data` line always carries it.
 *
 * @param id Event id for resumption; left out where the stream cannot be resumed.
 */
export function encodeEvent(data: string, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: message\ndata: ${data}\n\n`;
}

/** An event that says nothing but its id: a client that loses the connection can resume from the beginning. */
export function encodePriming(id: string): string {
  return `id: ${id}\ndata:\n\n`;
}

/** The first event of the HTTP+SSE transport: where to POST. */
export function encodeEndpoint(uri: string): string {
  return `event: endpoint\ndata: ${uri}\n\n`;
}

/** Tells the client how many milliseconds to wait before it connects again. */
export function encodeRetry(retryMs: number): string {
  return `retry: ${retryMs}\n\n`;
}

/** A comment: clients ignore it, proxies see traffic, and writing it finds a vanished client. */
export const HEARTBEAT: Uint8Array = encodeText(": keepalive\n\n");

/** Headers of an SSE response. `no-transform` and `X-Accel-Buffering` keep proxies from holding events back. */
export const SSE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
};
