/**
 * Finds out when a server that limits the rate of requests accepts the next one.
 *
 * @module
 * @see RFC 6585, 4 (429); RFC 9110, 10.2.3 (Retry-After)
 */
import type { FetchFunction } from "../../client/index.ts";
import { Exit, withMore } from "../exit.ts";

const TOO_MANY_REQUESTS = 429;

/** Watches the responses of a server. The time is only in the HTTP header, not in the JSON-RPC error that the client reports. */
export class RetryTimes {
  /** Sends a request, and stores the time if the response has one. */
  readonly fetch: FetchFunction;
  /** The `Retry-After` header of the last response to a POST if its status was 429; null if it had no such header. */
  #retryAfter: string | null | undefined;

  constructor(inner: FetchFunction) {
    this.fetch = async (url, init) => {
      const response = await inner(url, init);
      // The client itself repeats the GET request of a stream.
      if (init.method === "POST") {
        this.#retryAfter = response.status === TOO_MANY_REQUESTS ? response.headers.get("Retry-After") : undefined;
      }
      return response;
    };
  }

  /** Adds the time to the error that the refusal caused. */
  explain(error: unknown): unknown {
    const value = this.#retryAfter;
    if (value === undefined) return error;
    const seconds = toSeconds(value, Date.now());
    const facts = { httpStatus: TOO_MANY_REQUESTS, ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }) };
    const when = seconds === undefined ? "later; the server does not say when" : `in ${describe(seconds)}`;
    return withMore(
      error,
      `The server accepts no more requests for now (HTTP 429). Try again ${when}.`,
      facts,
      Exit.connection,
    );
  }
}

/** Parses a number of seconds with at most nine digits, or a date. Returns undefined if the value is neither. */
export function toSeconds(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? undefined : Math.max(Math.ceil((ms - nowMs) / 1_000), 0);
}

function describe(seconds: number): string {
  if (seconds === 1) return "1 second";
  if (seconds < 120) return `${seconds} seconds`;
  return seconds < 7_200 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3_600)} hours`;
}
