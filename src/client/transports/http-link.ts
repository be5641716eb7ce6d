/**
 * Streamable HTTP of both eras. Each message is a POST, and the response to a request is JSON or a stream.
 *
 * - A legacy stream that breaks is resumed with a GET and `Last-Event-ID`, any number of times.
 * - The session id in the response to `initialize` is sent with every later request. A 404 means that the session no longer exists.
 * - A modern request is cancelled by closing its stream, a legacy request with a notification.
 *
 * @module
 * @see MCP 2026-07-28 and 2025-11-25, basic/transports, "Streamable HTTP"
 */

import { pause } from "../../core/basics/pause.ts";
import { isObject, type JSONRPCNotification, type JSONRPCRequest } from "../../core/protocol/jsonrpc.ts";
import type { SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import { untilAborted } from "../basics/deadline.ts";
import { ClientError, invalidAnswer, toText } from "../basics/errors.ts";
import { backoffMs, LASTING_MS } from "./backoff.ts";
import { readEvents, readText } from "./event-reader.ts";
import type { FetchFunction, HeadersOption } from "./fetch-options.ts";
import type { JSONRPCResponse, Link, LinkReceiver, SendOptions } from "./link.ts";
import { readReceived } from "./received.ts";
import { resolveHeaders, standardHeaders } from "./request-headers.ts";
import { findRedirectTarget, isStream, parseBody, readContentType } from "./responses.ts";

export interface HttpLinkOptions {
  readonly fetch: FetchFunction;
  readonly headers?: HeadersOption | undefined;
  readonly messageBytesMax: number;
  readonly reconnectsMax: number;
}

/** How long a cancellation, or the end of the session, may take, in milliseconds. */
const LAST_MS = 5_000;
/** The maximum number of redirects that one request follows. */
const REDIRECTS_MAX = 3;
/** Statuses of a GET after which another attempt may succeed. */
const TEMPORARY: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

/** The maximum number of open questions of one stream. The stream is not read while there are this many. */
const QUESTIONS_MAX = 256;

/** A stream and its resumptions. */
interface Reading {
  /** The request whose response the stream carries; undefined for the stream of messages that belong to no request. */
  readonly request: JSONRPCRequest | undefined;
  readonly signal: AbortSignal;
  readonly onEventId?: SendOptions["onEventId"];
  lastEventId?: string | undefined;
  retryMs?: number;
  /** The number of attempts to open the stream, which determines the next pause. Reset after an event or a lasting connection. */
  attempts: number;
  /** The number of attempts since the last event. */
  attemptsWithoutEvent: number;
  /** The response, once it has arrived. */
  response?: JSONRPCResponse;
  failure?: unknown;
}

export class HttpLink implements Link {
  readonly transport = "streamable-http";
  rules: SpokenVersion | undefined;
  sessionId: string | undefined;
  readonly #url: string;
  readonly #options: HttpLinkOptions;
  readonly #closing = new AbortController();
  readonly #retiring = new AbortController();
  /** Settles when the server has received all cancellations. */
  #cancelling: Promise<unknown> | undefined;
  #receiver: LinkReceiver | undefined;
  #isListening = false;
  /** The values of the headers from the options. */
  #given: readonly string[] = [];

  constructor(url: string, options: HttpLinkOptions) {
    this.#url = url;
    this.#options = options;
  }

  async start(receiver: LinkReceiver): Promise<void> {
    this.#receiver = receiver;
  }

  async request(request: JSONRPCRequest, { signal, headers, onEventId }: SendOptions): Promise<JSONRPCResponse> {
    const whole = AbortSignal.any([signal, this.#closing.signal]);
    try {
      const response = await this.#post(request, whole, headers);
      if (request.method === "initialize") this.sessionId = response.headers.get("mcp-session-id") ?? undefined;
      return await this.#readResponse(response, {
        request,
        signal: whole,
        onEventId,
        attempts: 1,
        attemptsWithoutEvent: 1,
      });
    } catch (error) {
      if (signal.aborted && request.method !== "initialize" && this.rules?.era === "legacy") {
        // The caller no longer waits for the response, so a failure to cancel the request has no effect.
        const params = { requestId: request.id, reason: toText(signal.reason) };
        const sent = this.send(
          { jsonrpc: "2.0", method: "notifications/cancelled", params },
          AbortSignal.timeout(LAST_MS),
        );
        this.#cancelling = Promise.allSettled([this.#cancelling, sent]);
      }
      throw this.#closing.signal.reason ?? error;
    }
  }

  async resume(
    request: JSONRPCRequest,
    lastEventId: string,
    { signal, onEventId }: SendOptions,
  ): Promise<JSONRPCResponse> {
    const whole = AbortSignal.any([signal, this.#closing.signal]);
    return this.#follow({ request, signal: whole, onEventId, attempts: 0, attemptsWithoutEvent: 0, lastEventId });
  }

  async send(message: JSONRPCNotification | JSONRPCResponse, signal = this.#closing.signal): Promise<void> {
    const response = await this.#post(message, signal);
    if (!response.ok) throw await this.#refusal("method" in message ? message.method : "A response", response);
    await response.body?.cancel();
  }

  listen(): void {
    if (this.rules?.era !== "legacy" || this.#isListening) return;
    this.#isListening = true;
    const signal = AbortSignal.any([this.#closing.signal, this.#retiring.signal]);
    const reading: Reading = { request: undefined, signal, attempts: 0, attemptsWithoutEvent: 0 };
    this.#keepListening(reading).catch((error: unknown) => {
      // 405 means that the server has no such stream, which the specification allows.
      const isRefused = ClientError.is(error) && error.response?.status === 405 && reading.lastEventId === undefined;
      if (isRefused || signal.aborted) return;
      // The next subscription tries again.
      this.#isListening = false;
      this.#receiver?.report({ type: "stream-lost", error: error as Error });
    });
  }

  retire(): void {
    this.#retiring.abort();
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new ClientError("closed", "The client is closed.", { mayHaveRun: true }));
    // Wait for the cancellations of requests that were aborted just before.
    await pause(0);
    await this.#cancelling;
    if (this.sessionId === undefined) return;
    try {
      const headers = await this.#headers();
      // A server may refuse to end a session (405). The session then expires.
      const response = await this.#fetch({ method: "DELETE", headers, signal: AbortSignal.timeout(LAST_MS) });
      await response.body?.cancel();
    } catch {
      // The server is unreachable, or the function of the option headers failed. The session then expires.
    }
  }

  async #post(
    message: JSONRPCRequest | JSONRPCNotification | JSONRPCResponse,
    signal: AbortSignal,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const isModern = "method" in message && this.rules?.era === "modern";
    const headers = await this.#headers({
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(isModern ? standardHeaders(message.method, message.params) : {}),
      ...more,
    });
    return this.#fetch({ method: "POST", headers, body: JSON.stringify(message), signal });
  }

  async #headers(own: Readonly<Record<string, string>> = {}): Promise<Record<string, string>> {
    const all = await resolveHeaders(this.#options.headers);
    this.#given = [...all.values()];
    for (const [name, value] of Object.entries(own)) all.set(name, value);
    if (this.rules) all.set("mcp-protocol-version", this.rules.version);
    if (this.sessionId !== undefined) all.set("mcp-session-id", this.sessionId);
    return Object.fromEntries(all);
  }

  /**
   * Follows redirects only within the origin, because the headers may contain secrets for this server only, and only with status 307
   * or 308, because after another status the server may have run the request.
   */
  async #fetch(init: RequestInit): Promise<Response> {
    let url = this.#url;
    try {
      for (let redirects = 0; ; redirects += 1) {
        const response = await this.#options.fetch(url, { ...init, redirect: "manual" });
        const next = redirects < REDIRECTS_MAX ? findRedirectTarget(response, url) : undefined;
        if (next === undefined) return response;
        url = next;
        await response.body?.cancel();
      }
    } catch (cause) {
      init.signal?.throwIfAborted();
      // The option auth has failed.
      if (ClientError.is(cause)) throw cause;
      const text = `${init.method} ${this.#url} had no response: ${toText(cause)}`;
      // Unless no connection was made, it may have broken after the server had read the request.
      throw new ClientError("unreachable", text, { cause, mayHaveRun: !wasRefused(cause) });
    }
  }

  async #readResponse(
    response: Response,
    reading: Reading & { readonly request: JSONRPCRequest },
  ): Promise<JSONRPCResponse> {
    if (isStream(response)) return this.#follow(reading, response);
    const { request } = reading;
    const text = await this.#read(response, request.method);
    // The JSON of a refusal is not always a JSON-RPC message.
    const isMessage = response.ok || text.includes('"jsonrpc"');
    const all = isMessage && readContentType(response) === "application/json" ? parseBody(text) : [];
    // An error whose id is null refuses the POST, not the request.
    const messages = response.ok ? all : all.filter((each) => !isObject(each) || each.id !== null);
    const found = messages.map((message) => this.#take(message, request)).find((each) => each !== undefined);
    // With one of these statuses, an error without an id refuses the POST as well.
    const isRefused = found?.id === undefined && (response.status === 404 || response.status === 405);
    if (found && !isRefused && !this.#isGone(response)) return found;
    throw await this.#refusal(request.method, response, text);
  }

  /** Whether a response says that the server no longer knows the session. */
  #isGone({ status }: Response): boolean {
    return status === 404 && this.sessionId !== undefined;
  }

  async #refusal(what: string, response: Response, text?: string): Promise<ClientError> {
    const body = text ?? (await this.#read(response, what));
    const { toRefusal } = await import("../on-demand.ts");
    return toRefusal(what, response, { body, given: this.#given, isGone: this.#isGone(response) });
  }

  async #read(response: Response, method: string): Promise<string> {
    try {
      return await readText(response, this.#options.messageBytesMax);
    } catch (cause) {
      if (ClientError.is(cause)) throw cause;
      throw streamLost(method, cause);
    }
  }

  /**
   * Returns a received message if it is the response to the request. Passes all other messages to the receiver.
   *
   * @param onQuestion Called for a request of the server, with a promise that resolves when the response was sent.
   * @throws {ClientError} `answer-invalid` if it has the id of the request but is invalid.
   */
  #take(
    value: unknown,
    request: JSONRPCRequest | undefined,
    onQuestion?: (answered: Promise<void> | undefined) => void,
  ): JSONRPCResponse | undefined {
    const parsed = readReceived(value);
    if (parsed.kind === "request" || parsed.kind === "notification") {
      onQuestion?.(this.#receiver?.message(parsed.message, request?.id));
      return undefined;
    }
    const id = parsed.kind === "response" ? parsed.message.id : parsed.id;
    let problem = `no request has id ${JSON.stringify(id)}`;
    if (parsed.kind === "invalid") {
      problem = parsed.problem;
      if (request && id === request.id) throw invalidAnswer(request.method, problem);
      // An error without an id means that the server could not read the request.
    } else if (request && (id === request.id || (id === undefined && "error" in parsed.message))) return parsed.message;
    this.#receiver?.report({ type: "warning", message: `A message of the server was ignored: ${problem}.` });
    return undefined;
  }

  /** Reads the stream of a request until the response, and resumes the stream when it breaks. */
  async #follow(reading: Reading, first?: Response): Promise<JSONRPCResponse> {
    for (let response = first; ; response = undefined) {
      await this.#readStream(response ?? (await this.#open(reading)), reading);
      if (reading.response) return reading.response;
      const canResume = reading.lastEventId !== undefined && this.rules?.era !== "modern";
      if (!canResume) throw streamLost(reading.request?.method, reading.failure);
    }
  }

  /** Reads the messages that belong to no request, until the link closes. */
  async #keepListening(reading: Reading): Promise<never> {
    for (;;) await this.#readStream(await this.#open(reading), reading);
  }

  /** Reads one HTTP response until it ends, or until the JSON-RPC response. A broken connection sets `failure`. */
  async #readStream(response: Response, reading: Reading): Promise<void> {
    if (!response.body) return;
    const startedAtMs = Date.now();
    let questions = 0;
    let resumeReading: (() => void) | undefined;
    const onQuestion = async (answered: Promise<void> | undefined): Promise<void> => {
      if (!answered) return;
      questions += 1;
      await answered;
      questions -= 1;
      resumeReading?.();
    };
    const event = ({ id, data }: { id?: string | undefined; data: string }): boolean => {
      // An id with other characters cannot be sent in a header, so the stream cannot be resumed.
      if (id) reading.lastEventId = /^[\x20-\x7e]+$/.test(id) ? id : undefined;
      if (id === reading.lastEventId && id) reading.onEventId?.(id);
      reading.attemptsWithoutEvent = 1;
      // A server may end the stream of a request after each event. The time limits of the request apply.
      if (reading.request) reading.attempts = 1;
      for (const message of parseBody(data)) {
        const found = this.#take(message, reading.request, onQuestion);
        if (found) reading.response = found;
      }
      return reading.response !== undefined;
    };
    const retry = (ms: number) => {
      reading.retryMs = ms;
    };
    // The stream of a server that asks too many questions is not read until some are answered.
    const ready = async (): Promise<void> => {
      if (questions >= QUESTIONS_MAX)
        await untilAborted(
          new Promise<void>((resolve) => {
            resumeReading = resolve;
          }),
          reading.signal,
        );
    };
    try {
      await readEvents(response.body, this.#options.messageBytesMax, { event, retry, ready });
    } catch (error) {
      reading.signal.throwIfAborted();
      if (ClientError.is(error)) throw error;
      reading.failure = error;
    }
    if (Date.now() - startedAtMs >= LASTING_MS) reading.attempts = 1;
  }

  /**
   * Opens a stream, or resumes it after a pause.
   *
   * @throws {ClientError} if the server refuses it, or after too many attempts.
   */
  async #open(reading: Reading): Promise<Response> {
    const { request, signal, lastEventId, retryMs } = reading;
    const method = request?.method;
    for (;;) {
      const attempt = reading.attempts;
      if (reading.attemptsWithoutEvent > this.#options.reconnectsMax) throw streamLost(method, reading.failure);
      if (attempt > 0) {
        const delayMs = backoffMs(attempt, retryMs);
        this.#receiver?.report({ type: "stream-reconnecting", method, lastEventId, attempt, delayMs });
        await pause(delayMs, signal);
        signal.throwIfAborted();
      }
      reading.attempts += 1;
      reading.attemptsWithoutEvent += 1;
      try {
        const response = await this.#get(reading);
        if (attempt > 0) this.#receiver?.report({ type: "stream-resumed", method, lastEventId });
        return response;
      } catch (error) {
        if (!ClientError.is(error)) throw error;
        if (error.response && !TEMPORARY.includes(error.response.status)) throw toResumptionError(method, error);
        reading.failure = error;
      }
    }
  }

  /** Requests a stream. @throws {ClientError} unless the response is a stream. */
  async #get({ lastEventId, signal }: Reading): Promise<Response> {
    const cursor = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const headers = await this.#headers({ accept: "text/event-stream", ...cursor });
    const response = await this.#fetch({ method: "GET", headers, signal });
    if (isStream(response)) return response;
    throw await this.#refusal("GET", response);
  }
}

/** Returns the error of a stream that could not be resumed. It has `mayHaveRun`, because the server had received the request. */
function toResumptionError(method: string | undefined, error: ClientError): ClientError {
  if (method === undefined) return error;
  if (error.code !== "session-lost") return streamLost(method, error);
  return new ClientError(error.code, error.message, { response: error.response, mayHaveRun: true, cause: error });
}

function streamLost(method: string | undefined, cause: unknown): ClientError {
  const what = method === undefined ? "The stream of notifications" : `The stream of ${method}`;
  const reason = cause === undefined ? "it ended" : toText(cause);
  return new ClientError("stream-lost", `${what} broke: ${reason}.`, {
    cause,
    mayHaveRun: true,
    response: ClientError.is(cause) ? cause.response : undefined,
  });
}

/** Whether no connection was made. In some runtimes the cause has no code, so that this is unknown. */
function wasRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return isObject(cause) && (cause.code === "ECONNREFUSED" || cause.code === "ENOTFOUND");
}
