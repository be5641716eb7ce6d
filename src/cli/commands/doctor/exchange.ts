/**
 * HTTP requests to the server, with bounded responses.
 *
 * @module
 */
import { setTimeout } from "node:timers/promises";
import { readEvents, readText } from "../../../client/transports/event-reader.ts";
import { readReceived } from "../../../client/transports/received.ts";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { oneLine } from "../../terminal/terminal.ts";

/** The maximum size of a response, in bytes. */
const RESPONSE_BYTES_MAX = 8 * 1024 * 1024;

/** The maximum number of events that are read of one stream. */
const EVENTS_MAX = 1_000;

/** A response of the server. */
export interface Exchange {
  readonly status: number;
  readonly headers: Headers;
  /** The media type, in lower case and without parameters. */
  readonly mediaType: string;
  /** The body, unless it is a stream of events. */
  readonly text: string;
  /** The JSON-RPC messages in the body. */
  readonly messages: readonly JsonObject[];
  /** The id of the last event with a message; undefined if no event has one. */
  readonly eventId: string | undefined;
}

/** Why there is no response. */
export interface NoResponse {
  /** A code of Node, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`; `timeout`; or `too-large`. */
  readonly failure: string;
  readonly message: string;
}

/** How a request is sent. */
export interface Sending {
  readonly url: string;
  readonly timeoutMs: number;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Thrown if a server responds with 429 again and again, or requires a longer pause. */
export class RateLimitedError extends Error {
  /** The server, if it is not the one that the user named or if only its metadata was requested. */
  readonly origin: string | undefined;

  constructor(origin?: string) {
    super("HTTP 429");
    this.origin = origin;
  }
}

/** The maximum number of times a request is sent, and the longest pause before the next time, in milliseconds. */
const [SENT_MAX, PAUSE_MS_MAX] = [4, 3_000];

/**
 * Sends a request and reads the response. A stream of events is read up to the response to `id`, or not at all without `id`. After a
 * 429, the request is sent again.
 *
 * @throws {RateLimitedError}
 */
export async function exchange(sending: Sending, init: RequestInit, id?: number): Promise<Exchange | NoResponse> {
  for (let sent = 1; ; sent += 1) {
    const answer = await send(sending, init, id);
    if (!isExchange(answer) || answer.status !== 429) return answer;
    if (sent >= SENT_MAX) throw new RateLimitedError();
    await pauseAfter(answer.headers, sending.signal);
  }
}

/**
 * Sends a request for metadata. After a 429, it is sent once more.
 *
 * @throws {RateLimitedError}
 */
export async function fetchMetadata(url: string, init: RequestInit, signal: AbortSignal): Promise<Response> {
  const { origin } = new URL(url);
  const response = await fetch(url, init);
  if (response.status !== 429) return response;
  await response.body?.cancel();
  await pauseAfter(response.headers, signal, origin);
  const again = await fetch(url, init);
  if (again.status !== 429) return again;
  await again.body?.cancel();
  throw new RateLimitedError(origin);
}

/** Throws the limit on requests that is the cause of an error. */
export function throwIfLimited(error: unknown): void {
  const { cause } = error as { readonly cause?: unknown };
  if (cause instanceof RateLimitedError) throw cause;
}

/** Waits for the time in `Retry-After`, or for a second. @throws {RateLimitedError} if the time is too long. */
async function pauseAfter(headers: Headers, signal: AbortSignal, origin?: string): Promise<void> {
  const pauseMs = Number(headers.get("retry-after") ?? 1) * 1_000;
  if (!(pauseMs <= PAUSE_MS_MAX)) throw new RateLimitedError(origin);
  try {
    await setTimeout(Math.max(0, pauseMs), undefined, { signal });
  } catch {
    // The signal has its own reason.
    signal.throwIfAborted();
  }
}

async function send(
  { url, timeoutMs, signal }: Sending,
  init: RequestInit,
  id?: number,
): Promise<Exchange | NoResponse> {
  const timer = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, { redirect: "manual", ...init, signal: AbortSignal.any([signal, timer]) });
    const { status, headers } = response;
    const mediaType = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
    const facts = { status, headers, mediaType };
    if (mediaType !== "text/event-stream" || !response.body) {
      const text = await readText(response, RESPONSE_BYTES_MAX);
      return { ...facts, text, messages: parseMessages(text), eventId: undefined };
    }
    if (id === undefined) {
      await response.body.cancel();
      return { ...facts, text: "", messages: [], eventId: undefined };
    }
    return { ...facts, text: "", ...(await readStream(response.body, id)) };
  } catch (error) {
    signal.throwIfAborted();
    return describeFailure(error, timer.aborted, timeoutMs);
  }
}

async function readStream(body: ReadableStream<Uint8Array>, id: number) {
  const messages: JsonObject[] = [];
  let eventId: string | undefined;
  let count = 0;
  await readEvents(body, RESPONSE_BYTES_MAX, {
    event: (event) => {
      count += 1;
      const found = parseMessages(event.data);
      for (const each of found) messages.push(each);
      if (event.id !== undefined && event.id !== "") eventId = event.id;
      return count >= EVENTS_MAX || found.some((each) => each.id === id);
    },
    retry: () => undefined,
  });
  return { messages, eventId };
}

/** Returns the JSON-RPC messages in a text, without those that are nested too deeply. */
function parseMessages(text: string): JsonObject[] {
  try {
    const value: unknown = JSON.parse(text);
    return [value].flat().filter((each): each is JsonObject => isObject(each) && isMessage(each));
  } catch {
    // The body is not JSON, but for example a web page.
    return [];
  }
}

/** Whether a value is a message. The error of a refusal may have the id null. */
function isMessage(value: JsonObject): boolean {
  return readReceived(value.id === null ? { ...value, id: 0 } : value).kind !== "invalid";
}

function describeFailure(error: unknown, isLate: boolean, timeoutMs: number): NoResponse {
  if (isLate) return { failure: "timeout", message: `no complete response within ${timeoutMs / 1_000} s` };
  const codes = [error, (error as { cause?: unknown } | undefined)?.cause].map((each) => codeOf(each));
  const failure = codes.findLast((each) => each !== undefined) ?? "failed";
  const { message, cause } = error as Error;
  return { failure, message: cause instanceof Error && cause.message !== "" ? cause.message : message };
}

function codeOf(value: unknown): string | undefined {
  const code = isObject(value) || value instanceof Error ? (value as { code?: unknown }).code : undefined;
  if (code === "message-too-large") return "too-large";
  return typeof code === "string" ? code : undefined;
}

/** Whether a request had a response. */
export function isExchange(value: Exchange | NoResponse): value is Exchange {
  return "status" in value;
}

/** Returns the response to a request among the messages; undefined if there is none. */
export function responseTo({ messages }: Exchange, id: number): JsonObject | undefined {
  return messages.find((each) => each.id === id && ("result" in each || "error" in each));
}

/** Returns the result of a request; undefined if there is none. */
export function resultOf(answer: Exchange | NoResponse, id: number): JsonObject | undefined {
  const result = isExchange(answer) ? responseTo(answer, id)?.result : undefined;
  return isObject(result) ? result : undefined;
}

/** Describes a response in a few words, as a part of a sentence in a finding. */
export function describeExchange(answer: Exchange | NoResponse): string {
  if (!isExchange(answer)) return answer.message;
  const error = answer.messages.find((each) => isObject(each.error))?.error as JsonObject | undefined;
  const message = typeof error?.message === "string" ? `: ${withoutPeriod(oneLine(error.message, 200))}` : "";
  return `HTTP ${answer.status}${error ? ` (error ${String(error.code)}${message})` : ""}`;
}

/** Returns a server's message without its final period, for use within a sentence. */
export function withoutPeriod(text: string): string {
  return text.replace(/\.$/, "");
}
