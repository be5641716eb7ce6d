/**
 * Streamable HTTP of both eras. Each message is a POST, and the response to a request is JSON or a stream.
 *
 * - A legacy stream that breaks is resumed by a GET with `Last-Event-ID`, as often as it breaks.
 * - The session id that `initialize` brings accompanies every later request. A 404 means that the session is gone.
 * - A modern request is cancelled by closing its stream, a legacy one by a notification.
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
import type { Answer, Link, LinkReceiver, SendOptions } from "./link.ts";
import { readReceived } from "./received.ts";
import { givenHeaders, standardHeaders } from "./request-headers.ts";
import { isStream, parseBody, readContentType, toTarget } from "./responses.ts";

export interface HttpLinkOptions {
  readonly fetch: FetchFunction;
  readonly headers?: HeadersOption | undefined;
  readonly messageBytesMax: number;
  readonly reconnectsMax: number;
}

/** How long the messages may take that end a request or the session, in milliseconds. */
const LAST_MS = 5_000;
/** Redirects that one request follows. */
const REDIRECTS_MAX = 3;
/** Statuses of a GET after which another attempt may succeed. */
const PASSING: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

/** How many questions of one stream wait for their answers before it is read further. */
const UNANSWERED_MAX = 256;

/** A stream and its resumptions. */
interface Reading {
  /** The request that the stream answers; undefined for the stream of messages outside requests. */
  readonly request: JSONRPCRequest | undefined;
  readonly signal: AbortSignal;
  readonly onEventId?: SendOptions["onEventId"];
  lastEventId?: string | undefined;
  retryMs?: number;
  /** Requests for this stream, on which the pauses depend. A stream that lasted for a while begins anew. */
  attempts: number;
  /** Requests for this stream since its last event. */
  unanswered: number;
  answer?: Answer;
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
  /** The cancellations that the server has not received yet. */
  #cancelling: Promise<unknown> | undefined;
  #receiver: LinkReceiver | undefined;
  #isListening = false;
  /** The values of the author's headers. */
  #given: readonly string[] = [];

  constructor(url: string, options: HttpLinkOptions) {
    this.#url = url;
    this.#options = options;
  }

  async start(receiver: LinkReceiver): Promise<void> {
    this.#receiver = receiver;
  }

  async request(request: JSONRPCRequest, { signal, headers, onEventId }: SendOptions): Promise<Answer> {
    const whole = AbortSignal.any([signal, this.#closing.signal]);
    try {
      const response = await this.#post(request, whole, headers);
      if (request.method === "initialize") this.sessionId = response.headers.get("mcp-session-id") ?? undefined;
      return await this.#answerOf(response, { request, signal: whole, onEventId, attempts: 1, unanswered: 1 });
    } catch (error) {
      if (signal.aborted && request.method !== "initialize" && this.rules?.era === "legacy") {
        // Nobody waits for the answer any more. A failure to say so changes nothing.
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

  async resume(request: JSONRPCRequest, lastEventId: string, { signal, onEventId }: SendOptions): Promise<Answer> {
    const whole = AbortSignal.any([signal, this.#closing.signal]);
    return this.#follow({ request, signal: whole, onEventId, attempts: 0, unanswered: 0, lastEventId });
  }

  async send(message: JSONRPCNotification | Answer, signal = this.#closing.signal): Promise<void> {
    const response = await this.#post(message, signal);
    if (!response.ok) throw await this.#refusal("method" in message ? message.method : "an answer", response);
    await response.body?.cancel();
  }

  listen(): void {
    if (this.rules?.era !== "legacy" || this.#isListening) return;
    this.#isListening = true;
    const signal = AbortSignal.any([this.#closing.signal, this.#retiring.signal]);
    const reading: Reading = { request: undefined, signal, attempts: 0, unanswered: 0 };
    this.#keepListening(reading).catch((error: unknown) => {
      // 405: the server has no such stream, which the specification allows.
      const isRefused = ClientError.is(error) && error.response?.status === 405 && reading.lastEventId === undefined;
      if (isRefused || signal.aborted) return;
      // A later subscription tries again.
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
    // A request that was given up just before is still cancelled at the server.
    await pause(0);
    await this.#cancelling;
    if (this.sessionId === undefined) return;
    try {
      const headers = await this.#headers();
      // Servers may refuse to end a session (405); it then expires by itself.
      const response = await this.#fetch({ method: "DELETE", headers, signal: AbortSignal.timeout(LAST_MS) });
      await response.body?.cancel();
    } catch {
      // The server is not reachable, or there are no headers, so it cannot be told.
    }
  }

  /** @throws {ClientError} unless the response is a success, or an error of the protocol. */
  async #post(
    message: JSONRPCRequest | JSONRPCNotification | Answer,
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
    const all = await givenHeaders(this.#options.headers);
    this.#given = [...all.values()];
    for (const [name, value] of Object.entries(own)) all.set(name, value);
    if (this.rules) all.set("mcp-protocol-version", this.rules.version);
    if (this.sessionId !== undefined) all.set("mcp-session-id", this.sessionId);
    return Object.fromEntries(all);
  }

  /**
   * Follows only redirects within the origin that repeat the whole request: the headers are meant for this server, and
   * after another redirect the server may have done its work.
   */
  async #fetch(init: RequestInit): Promise<Response> {
    let url = this.#url;
    try {
      for (let redirects = 0; ; redirects += 1) {
        const response = await this.#options.fetch(url, { ...init, redirect: "manual" });
        const next = redirects < REDIRECTS_MAX ? toTarget(response, url) : undefined;
        if (next === undefined) return response;
        url = next;
        await response.body?.cancel();
      }
    } catch (cause) {
      init.signal?.throwIfAborted();
      // The request could not be authorized.
      if (ClientError.is(cause)) throw cause;
      const text = `${init.method} ${this.#url} had no response: ${toText(cause)}`;
      // The connection may have broken after the server had read the request, unless there was none.
      throw new ClientError("unreachable", text, { cause, mayHaveRun: !wasRefused(cause) });
    }
  }

  async #answerOf(response: Response, reading: Reading & { readonly request: JSONRPCRequest }): Promise<Answer> {
    if (isStream(response)) return this.#follow(reading, response);
    const { request } = reading;
    const text = await this.#read(response, request.method);
    // The JSON of a refusal need not be a message.
    const isMessage = response.ok || text.includes('"jsonrpc"');
    const all = isMessage && readContentType(response) === "application/json" ? parseBody(text) : [];
    // Servers refuse a POST with an error whose id is null.
    const messages = response.ok ? all : all.filter((each) => !isObject(each) || each.id !== null);
    const answer = messages.map((message) => this.#take(message, request)).find((each) => each !== undefined);
    // With one of these statuses, an error without an id refuses the POST itself.
    const isRefused = answer?.id === undefined && (response.status === 404 || response.status === 405);
    if (answer && !isRefused && !this.#isGone(response)) return answer;
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
   * Passes a received message on, and returns it if it answers the request.
   *
   * @throws {ClientError} `answer-invalid` if it should answer the request but is not valid.
   */
  #take(
    value: unknown,
    request: JSONRPCRequest | undefined,
    asked?: (answered: Promise<void> | undefined) => void,
  ): Answer | undefined {
    const parsed = readReceived(value);
    if (parsed.kind === "request" || parsed.kind === "notification") {
      asked?.(this.#receiver?.message(parsed.message, request?.id));
      return undefined;
    }
    const id = parsed.kind === "response" ? parsed.message.id : parsed.id;
    let problem = `no request has id ${JSON.stringify(id)}`;
    if (parsed.kind === "invalid") {
      problem = parsed.problem;
      if (request && id === request.id) throw invalidAnswer(request.method, problem);
      // An error without an id answers a request that the server could not read.
    } else if (request && (id === request.id || (id === undefined && "error" in parsed.message))) return parsed.message;
    this.#receiver?.report({ type: "warning", message: `A message of the server was ignored: ${problem}.` });
    return undefined;
  }

  /** Reads the stream of a request until its answer, resuming it where it breaks. */
  async #follow(reading: Reading, first?: Response): Promise<Answer> {
    for (let response = first; ; response = undefined) {
      await this.#readStream(response ?? (await this.#open(reading)), reading);
      if (reading.answer) return reading.answer;
      const canResume = reading.lastEventId !== undefined && this.rules?.era !== "modern";
      if (!canResume) throw streamLost(reading.request?.method, reading.failure);
    }
  }

  /** Reads messages outside requests until the link closes. */
  async #keepListening(reading: Reading): Promise<never> {
    for (;;) await this.#readStream(await this.#open(reading), reading);
  }

  /** Reads one response to its end, or to the answer. A broken connection is noted, not thrown. */
  async #readStream(response: Response, reading: Reading): Promise<void> {
    if (!response.body) return;
    const startedAtMs = Date.now();
    let unanswered = 0;
    let goOn: (() => void) | undefined;
    const asked = async (answered: Promise<void> | undefined): Promise<void> => {
      if (!answered) return;
      unanswered += 1;
      await answered;
      unanswered -= 1;
      goOn?.();
    };
    const event = ({ id, data }: { id?: string | undefined; data: string }): boolean => {
      // Another id could not be sent back, so the stream cannot be resumed.
      if (id) reading.lastEventId = /^[\x20-\x7e]+$/.test(id) ? id : undefined;
      if (id === reading.lastEventId && id) reading.onEventId?.(id);
      reading.unanswered = 1;
      // A server may end the stream of a call after each event, and the call has a time limit.
      if (reading.request) reading.attempts = 1;
      for (const message of parseBody(data)) {
        const answer = this.#take(message, reading.request, asked);
        if (answer) reading.answer = answer;
      }
      return reading.answer !== undefined;
    };
    const retry = (ms: number) => {
      reading.retryMs = ms;
    };
    // A server that asks without end waits for the answers.
    const ready = async (): Promise<void> => {
      if (unanswered >= UNANSWERED_MAX)
        await untilAborted(
          new Promise<void>((resolve) => {
            goOn = resolve;
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
   * Opens the next response of a stream; the first one without a pause.
   *
   * @throws {ClientError} if the server refuses it, or after too many attempts.
   */
  async #open(reading: Reading): Promise<Response> {
    const { request, signal, lastEventId, retryMs } = reading;
    const method = request?.method;
    for (;;) {
      const attempt = reading.attempts;
      if (reading.unanswered > this.#options.reconnectsMax) throw streamLost(method, reading.failure);
      if (attempt > 0) {
        const delayMs = backoffMs(attempt, retryMs);
        this.#receiver?.report({ type: "stream-reconnecting", method, lastEventId, attempt, delayMs });
        await pause(delayMs, signal);
        signal.throwIfAborted();
      }
      reading.attempts += 1;
      reading.unanswered += 1;
      try {
        const response = await this.#get(reading);
        if (attempt > 0) this.#receiver?.report({ type: "stream-resumed", method, lastEventId });
        return response;
      } catch (error) {
        if (!ClientError.is(error)) throw error;
        if (error.response && !PASSING.includes(error.response.status)) throw afterStart(method, error);
        reading.failure = error;
      }
    }
  }

  /** @throws {ClientError} unless the response is a stream. */
  async #get({ lastEventId, signal }: Reading): Promise<Response> {
    const cursor = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const headers = await this.#headers({ accept: "text/event-stream", ...cursor });
    const response = await this.#fetch({ method: "GET", headers, signal });
    if (isStream(response)) return response;
    throw await this.#refusal("GET", response);
  }
}

/** The stream was open, so the request had been received, whatever the refusal of its continuation says. */
function afterStart(method: string | undefined, error: ClientError): ClientError {
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

/** Returns whether no connection was made. Only some runtimes say so; in others the cause has no code. */
function wasRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return isObject(cause) && (cause.code === "ECONNREFUSED" || cause.code === "ENOTFOUND");
}
