/**
 * Encodes Server-Sent Events.
 *
 * @module
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
import { encodeText } from "../core/basics/bytes.ts";

/**
 * Encodes one event as a frame, including the blank line. JSON text has no raw line breaks, so one `data` line
 * suffices.
 *
 * @param id Event id for resumption; left out where the stream cannot be resumed.
 */
export function encodeEvent(data: string, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: message\ndata: ${data}\n\n`;
}

/**
 * Encodes an event with an id and without data, so that a client that loses the connection can resume from the
 * beginning.
 */
export function encodePriming(id: string): string {
  return `id: ${id}\ndata:\n\n`;
}

/** Encodes the first event of the HTTP+SSE transport, which names the URL to POST to. */
export function encodeEndpoint(uri: string): string {
  return `event: endpoint\ndata: ${uri}\n\n`;
}

/** Encodes the number of milliseconds that the client waits before it reconnects. */
export function encodeRetry(retryMs: number): string {
  return `retry: ${retryMs}\n\n`;
}

/** A comment. Clients ignore it, proxies keep the connection open, and writing it detects a disconnected client. */
export const HEARTBEAT: Uint8Array = encodeText(": keepalive\n\n");

/** Headers of an SSE response. `no-transform` and `X-Accel-Buffering` keep proxies from holding events back. */
export const SSE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
};
