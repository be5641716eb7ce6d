/** An HTTP exchange over its own socket. It records the response while it arrives, and can break the connection. */
import { type IncomingMessage, type OutgoingHttpHeaders, request as open } from "node:http";
import type { Socket } from "node:net";
import { createParser, type EventSourceParser } from "eventsource-parser";
import { type CutHow, cutSocket } from "./cut.ts";
import { WAIT_MS } from "./until.ts";

const CONTENT = { "content-type": "application/json", accept: "application/json, text/event-stream" } as const;

/** The request to send, and the faults to cause while the response is read. */
export interface StreamOptions {
  /** The HTTP method. @default "GET", or "POST" if there is a body */
  readonly method?: string;
  /** The headers. An array sends several header lines. Headers that MCP requires are added by default; undefined removes one. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body. Strings and bytes are sent unchanged, other values as JSON. */
  readonly body?: unknown;
  /** Cuts the connection after this many bytes of the response body. Later bytes are ignored. */
  readonly cutAfterBytes?: number;
  /** How `cutAfterBytes` cuts the connection. @default "rst" */
  readonly cutHow?: CutHow;
  /** If true, the body is not read until `resume` is called. @default false */
  readonly paused?: boolean;
}

/** An event of a stream, as received. */
export interface StreamEvent {
  /** The id of the event; undefined if it has none. */
  readonly id: string | undefined;
  /** The type of the event; undefined if it has none. */
  readonly event: string | undefined;
  /** The data of the event. */
  readonly data: string;
}

/** How a response ended: completely, by `cut`, or because the connection was lost. */
export type StreamEnd = "complete" | "cut" | "lost";

/**
 * Sends a request on its own connection. Resolves when the headers of the response have arrived. Rejects if the connection ends before
 * that.
 *
 * ```ts
 * const stream = await openStream(worker.url("/mcp"), { body: call, cutAfterBytes: 200 });
 * await stream.end();
 * const rest = await openStream(worker.url("/mcp"), { headers: { "Last-Event-ID": stream.ids.at(-1) } });
 * ```
 */
export function openStream(url: string, options: StreamOptions = {}): Promise<HttpStream> {
  const body = toBytes(options.body);
  const { method = body === undefined ? "GET" : "POST" } = options;
  const { hostname, port, pathname, search } = new URL(url);
  const headers = readHeaders(options.headers ?? {}, body);
  return new Promise((resolve, reject) => {
    const outgoing = open({ hostname, port, path: pathname + search, method, headers, agent: false });
    outgoing.once("error", reject);
    outgoing.once("response", (incoming) => {
      outgoing.off("error", reject);
      // From now on, a broken connection is not an error, but recorded as the end of the stream.
      outgoing.on("error", () => undefined);
      resolve(new HttpStream(incoming, options));
    });
    outgoing.end(body);
  });
}

/** A response that is read while it arrives. Created by `openStream`. */
export class HttpStream implements AsyncDisposable {
  /** The HTTP status of the response. */
  readonly status: number;
  /** The headers of the response, with lowercase names. Several lines with the same name are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** The events so far, in order, including events that have only an id. */
  readonly events: StreamEvent[] = [];
  /** The parsed JSON data of each event, or the parsed body once a JSON response is complete. */
  readonly messages: unknown[] = [];
  /** The ids of the events so far, in order. */
  readonly ids: string[] = [];
  /** The comments of the stream so far. */
  readonly comments: string[] = [];
  /** The value of the last `retry:` line of the stream, in milliseconds. */
  retryMs: number | undefined;
  /** The body so far, as text. */
  raw = "";
  /** The number of bytes of the body so far. */
  bytes = 0;
  /** How the response ended; undefined until then. */
  ended: StreamEnd | undefined;

  readonly #socket: Socket;
  readonly #incoming: IncomingMessage;
  readonly #cut: { readonly afterBytes: number; readonly how: CutHow };
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser | undefined;
  readonly #watchers = new Set<() => void>();

  /** Only `openStream` calls it. @internal */
  constructor(incoming: IncomingMessage, options: StreamOptions) {
    const { cutAfterBytes = Number.POSITIVE_INFINITY, cutHow = "rst", paused = false } = options;
    this.status = incoming.statusCode ?? 0;
    this.headers = Object.fromEntries(
      Object.entries(incoming.headersDistinct).map(([name, values]) => [name, values?.join(", ") ?? ""]),
    );
    this.#incoming = incoming;
    this.#socket = incoming.socket;
    this.#cut = { afterBytes: cutAfterBytes, how: cutHow };
    if (this.headers["content-type"]?.startsWith("text/event-stream")) this.#parser = this.#createParser();
    incoming.on("data", (chunk: Buffer) => this.#take(chunk));
    incoming.on("end", () => this.#finish("complete"));
    incoming.on("error", () => this.#finish("lost"));
    incoming.on("close", () => this.#finish("lost"));
    if (paused) incoming.pause();
    if (cutAfterBytes === 0) this.cut(cutHow);
  }

  /** Cuts the connection now. Data that the server sends afterwards is ignored. */
  cut(how: CutHow = "rst"): void {
    if (this.ended !== undefined) return;
    this.#finish("cut");
    cutSocket(this.#socket, how);
  }

  /** Stops reading. The server can send until the buffers on both sides are full, and then has to wait. */
  pause(): void {
    this.#incoming.pause();
  }

  /** Continues reading. */
  resume(): void {
    this.#incoming.resume();
  }

  /**
   * Waits until a condition on the received data is true. The condition is checked whenever bytes arrive, and when the stream ends.
   *
   * @throws {Error} if the condition is not true within `timeoutMs` or when the stream ends. The message contains the received text.
   */
  waitFor(
    what: string,
    holds: (stream: this) => boolean,
    { timeoutMs = WAIT_MS }: { readonly timeoutMs?: number } = {},
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error) => {
        clearTimeout(timer);
        this.#watchers.delete(look);
        if (error) reject(error);
        else resolve();
      };
      const look = () => {
        if (holds(this)) settle();
        else if (this.ended !== undefined) settle(this.#unmet(what, `the stream ended (${this.ended})`));
      };
      const timer = setTimeout(() => settle(this.#unmet(what, `${timeoutMs} ms passed`)), timeoutMs);
      this.#watchers.add(look);
      look();
    });
  }

  /** Waits until the response has ended in any way. */
  async end(options?: { readonly timeoutMs?: number }): Promise<StreamEnd> {
    await this.waitFor("the end of the stream", ({ ended }) => ended !== undefined, options);
    return this.ended ?? "lost";
  }

  /** Cuts the connection, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
  }

  #take(chunk: Buffer): void {
    if (this.ended !== undefined) return;
    const seen = chunk.subarray(0, this.#cut.afterBytes - this.bytes);
    this.bytes += seen.length;
    const text = this.#decoder.decode(seen, { stream: true });
    this.raw += text;
    this.#parser?.feed(text);
    if (this.bytes >= this.#cut.afterBytes) this.cut(this.#cut.how);
    else this.#notifyWatchers();
  }

  #finish(how: StreamEnd): void {
    if (this.ended !== undefined) return;
    this.ended = how;
    if (how === "complete" && this.headers["content-type"]?.startsWith("application/json")) {
      this.messages.push(parseJson(this.raw));
    }
    this.#notifyWatchers();
  }

  #notifyWatchers(): void {
    for (const look of [...this.#watchers]) look();
  }

  #unmet(what: string, why: string): Error {
    return new Error(`Condition not met (${why}): ${what}. Received ${this.bytes} bytes: ${this.raw.slice(-2_000)}`);
  }

  #createParser(): EventSourceParser {
    return createParser({
      onEvent: ({ id, event, data }) => {
        this.events.push({ id, event, data });
        if (id !== undefined) this.ids.push(id);
        if (data !== "") this.messages.push(parseJson(data));
      },
      onComment: (comment) => this.comments.push(comment),
      onRetry: (ms) => {
        this.retryMs = ms;
      },
    });
  }
}

/** Parses JSON. Returns the text itself if it is not JSON, because `endpoint` events of 2024-11-05 contain plain text. */
function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

function toBytes(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined;
  return Buffer.from(typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body));
}

/** Returns the given headers, and those that MCP requires if they are not given. `undefined` removes a header. */
function readHeaders(given: NonNullable<StreamOptions["headers"]>, body: Buffer | undefined): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders =
    body === undefined ? { accept: "text/event-stream" } : { ...CONTENT, "content-length": body.length };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) delete headers[name.toLowerCase()];
    else headers[name.toLowerCase()] = typeof value === "string" ? value : [...value];
  }
  return headers;
}
