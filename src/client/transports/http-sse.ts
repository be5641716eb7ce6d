/**
 * The client side of HTTP+SSE, the transport of 2024-11-05. A GET opens the stream of all messages of the server. Each message of
 * the client is a POST to the URL that the first event of the stream contains.
 *
 * @module
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
import type { JSONRPCMessage } from "../../core/protocol/jsonrpc.ts";
import type { Transport, UnreadableMessage } from "../../core/protocol/transport.ts";
import { ClientError, toText } from "../basics/errors.ts";
import type { readEvents } from "./event-reader.ts";
import type { FetchFunction, HeadersOption } from "./fetch-options.ts";
import type { Link } from "./link.ts";
import type { resolveHeaders } from "./request-headers.ts";
import { TransportLink } from "./transport-link.ts";

export interface HttpSseOptions {
  readonly fetch?: FetchFunction | undefined;
  readonly headers?: HeadersOption | undefined;
  readonly messageBytesMax: number;
  /** Passed in like `resolveHeaders`, so that this file, which is loaded on demand, imports no code that is always loaded. */
  readonly readEvents: typeof readEvents;
  readonly resolveHeaders: typeof resolveHeaders;
}

export class HttpSseTransport implements Transport {
  onmessage: ((message: JSONRPCMessage) => void) | undefined;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onunreadable: ((error: UnreadableMessage) => void) | undefined;
  readonly #url: string;
  readonly #options: HttpSseOptions;
  readonly #closing = new AbortController();
  #endpoint: string | undefined;

  constructor(url: string, options: HttpSseOptions) {
    this.#url = url;
    this.#options = options;
  }

  /** Resolves when the server has sent the URL for messages. */
  async start(): Promise<void> {
    const response = await this.#fetch(this.#url, { method: "GET", headers: { accept: "text/event-stream" } });
    const isStream = response.headers.get("content-type")?.toLowerCase().startsWith("text/event-stream");
    if (!response.ok || !isStream || !response.body) {
      await response.body?.cancel();
      const refused = { status: response.status, headers: response.headers, body: "" };
      throw new ClientError("http-status", `The GET of HTTP+SSE was refused with HTTP status ${response.status}.`, {
        response: refused,
      });
    }
    const { body } = response;
    await new Promise<void>((resolve, reject) => {
      this.#read(body, resolve).then(() => {
        // Has no effect if the URL has arrived.
        reject(new ClientError("answer-invalid", "The HTTP+SSE stream ended before its event endpoint."));
        void this.close();
      }, reject);
    });
  }

  /** Sends a message with a POST. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closing.signal.aborted || this.#endpoint === undefined) {
      throw new ClientError("closed", "The HTTP+SSE stream is closed.");
    }
    const headers = { "content-type": "application/json" };
    const response = await this.#fetch(this.#endpoint, { method: "POST", headers, body: JSON.stringify(message) });
    await response.body?.cancel();
    if (response.ok) return;
    const refused = { status: response.status, headers: response.headers, body: "" };
    throw new ClientError("http-status", `A message was refused with HTTP status ${response.status}.`, {
      response: refused,
      // As over Streamable HTTP, only a status of 400 to 499 shows that the request did not run.
      mayHaveRun: response.status < 400 || response.status >= 500,
    });
  }

  /** Closes the stream, which ends the session. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.onclose?.();
  }

  /** Reads the stream until it ends. `onReady` is called when the URL for messages is known. */
  async #read(body: ReadableStream<Uint8Array>, onReady: () => void): Promise<void> {
    const event = ({ event: name, data }: { event?: string | undefined; data: string }): boolean => {
      if (name !== "endpoint") this.#take(data);
      else if (this.#endpoint === undefined) {
        this.#endpoint = this.#resolve(data);
        onReady();
      }
      return false;
    };
    try {
      await this.#options.readEvents(body, this.#options.messageBytesMax, { event, retry: () => undefined });
    } catch (error) {
      if (this.#endpoint === undefined) throw error;
      if (!this.#closing.signal.aborted) this.onerror?.(error as Error);
    }
  }

  /** @throws {ClientError} if the URL has another origin, because the headers may contain secrets for this server only. */
  #resolve(address: string): string {
    const target = URL.canParse(address, this.#url) ? new URL(address, this.#url) : undefined;
    if (target && target.origin === new URL(this.#url).origin) return target.href;
    throw new ClientError("answer-invalid", `The HTTP+SSE endpoint has another origin than the server: ${address}`);
  }

  #take(data: string): void {
    let message: JSONRPCMessage;
    try {
      message = JSON.parse(data) as JSONRPCMessage;
    } catch {
      this.onunreadable?.({ reason: "not-json", message: "An event of the server is not JSON." });
      return;
    }
    this.onmessage?.(message);
  }

  async #fetch(url: string, init: RequestInit & { headers: Record<string, string> }): Promise<Response> {
    const { fetch: own, headers } = this.#options;
    const all = await this.#options.resolveHeaders(headers);
    for (const [name, value] of Object.entries(init.headers)) all.set(name, value);
    const { signal } = this.#closing;
    // The headers may contain secrets for this server only, so redirects are not followed.
    const whole = { ...init, headers: Object.fromEntries(all), signal, redirect: "manual" as const };
    try {
      return await (own ? own(url, whole) : fetch(url, whole));
    } catch (cause) {
      // The request could not be authorized.
      if (ClientError.is(cause)) throw cause;
      const text = `${init.method} ${url} had no response: ${toText(cause)}`;
      throw new ClientError("unreachable", text, { cause, mayHaveRun: init.method === "POST" });
    }
  }
}

/** Returns a link over HTTP+SSE. */
export function linkOverHttpSse(url: string, options: HttpSseOptions): Link {
  return new TransportLink(new HttpSseTransport(url, options), "http-sse");
}
