/** Minimal clients of both eras on plain `fetch`: they return what was sent over the wire and correct nothing. */

import { createParser } from "eventsource-parser";
import {
  CONTENT,
  type Era,
  initialize,
  isMembers,
  LEGACY_VERSIONS,
  type Members,
  meta,
  NEWEST_LEGACY,
  notification,
  request,
  standardHeaders,
} from "../http/messages.ts";
import { until } from "../http/wire.ts";

export type Version = (typeof LEGACY_VERSIONS)[number] | "2026-07-28";

/** Every version that a client may use. */
export const VERSIONS: readonly Version[] = [...LEGACY_VERSIONS, "2026-07-28"];

type Headers = Readonly<Record<string, string | undefined>>;

export interface CallOptions {
  readonly id?: string | number;
  readonly progressToken?: unknown;
  /** Additional members of `_meta`, for modern clients. */
  readonly meta?: Members;
  readonly headers?: Headers;
  readonly signal?: AbortSignal;
}

/** A client of one version. */
export interface Client {
  readonly era: Era;
  /** Calls a tool. */
  call(name: string, args?: Members, options?: CallOptions): Promise<Response>;
  /** Sends any request. */
  request(method: string, params?: Members, options?: CallOptions): Promise<Response>;
}

let ids = 0;

function nextId(): number {
  ids += 1;
  return ids;
}

async function send(url: string, message: unknown, headers: Headers, signal?: AbortSignal): Promise<Response> {
  const all = Object.entries({ ...CONTENT, ...headers }).flatMap(([name, value]): [string, string][] => {
    return typeof value === "string" ? [[name, value]] : [];
  });
  const body = JSON.stringify(message);
  return fetch(url, { method: "POST", headers: all, body, ...(signal ? { signal } : {}) });
}

/** A client of 2026-07-28. */
export class ModernClient implements Client {
  readonly era = "modern";
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  call(name: string, args: Members = {}, options: CallOptions = {}): Promise<Response> {
    return this.request("tools/call", { name, arguments: args }, options);
  }

  request(method: string, params: Members = {}, options: CallOptions = {}): Promise<Response> {
    const { id = nextId(), progressToken, headers, signal, meta: more } = options;
    const _meta = meta({ ...(progressToken === undefined ? {} : { progressToken }), ...more });
    const message = request(method, { ...params, _meta }, id);
    return send(this.url, message, { ...(standardHeaders(message) as Headers), ...headers }, signal);
  }
}

/** A client of one legacy version, in its session if it has one. */
export class LegacyClient implements Client {
  readonly era = "legacy";
  readonly url: string;
  readonly version: string;
  readonly sessionId: string | undefined;
  /** The response to `initialize`. */
  readonly greeting: Members;
  readonly headers: Headers;

  private constructor(url: string, version: string, sessionId: string | undefined, greeting: Members, token: Headers) {
    this.url = url;
    this.version = version;
    this.sessionId = sessionId;
    this.greeting = greeting;
    // The header was added in 2025-06-18.
    const named = version >= "2025-06-18" ? { "mcp-protocol-version": version } : {};
    this.headers = { "mcp-session-id": sessionId, ...named, ...token };
  }

  /** Sends `initialize` and, by default, `notifications/initialized`. */
  static async open(
    url: string,
    options: {
      readonly version?: string;
      readonly token?: string;
      readonly silent?: boolean;
      readonly capabilities?: Members;
    } = {},
  ): Promise<LegacyClient> {
    const { version = NEWEST_LEGACY, token, silent = false, capabilities } = options;
    const bearer = bearerOf(token);
    const response = await send(url, initialize(version, nextId(), capabilities), bearer);
    if (response.status !== 200) throw new Error(`initialize: ${response.status} ${await response.text()}`);
    const { result } = (await response.json()) as { result: Members };
    const id = response.headers.get("mcp-session-id") ?? undefined;
    const client = new LegacyClient(url, String(result.protocolVersion), id, result, bearer);
    if (!silent) await client.notify("notifications/initialized");
    return client;
  }

  /** The same session at another address. */
  at(url: string): LegacyClient {
    return new LegacyClient(url, this.version, this.sessionId, this.greeting, this.headers);
  }

  as(token: string | undefined): LegacyClient {
    const { authorization: _, ...rest } = this.headers;
    return new LegacyClient(this.url, this.version, this.sessionId, this.greeting, { ...rest, ...bearerOf(token) });
  }

  call(name: string, args: Members = {}, options: CallOptions = {}): Promise<Response> {
    return this.request("tools/call", { name, arguments: args }, options);
  }

  request(method: string, params?: Members, options: CallOptions = {}): Promise<Response> {
    const { id = nextId(), progressToken, headers, signal } = options;
    const all = progressToken === undefined ? params : { ...params, _meta: { progressToken } };
    return send(this.url, request(method, all, id), { ...this.headers, ...headers }, signal);
  }

  /** Sends a message or a batch unchanged. */
  send(message: unknown, headers: Headers = {}): Promise<Response> {
    return send(this.url, message, { ...this.headers, ...headers });
  }

  notify(method: string, params?: Members): Promise<Response> {
    return this.send(notification(method, params));
  }

  /** Opens a stream of the session, or resumes one. */
  get(options: { readonly lastEventId?: string | undefined; readonly signal?: AbortSignal } = {}): Promise<Response> {
    const { lastEventId, signal } = options;
    const all = { ...this.headers, accept: "text/event-stream", "last-event-id": lastEventId };
    const headers = Object.entries(all).flatMap(([name, value]): [string, string][] => {
      return value === undefined ? [] : [[name, value]];
    });
    return fetch(this.url, { headers, ...(signal ? { signal } : {}) });
  }

  delete(): Promise<Response> {
    const headers = Object.entries(this.headers).flatMap(([name, value]): [string, string][] => {
      return value === undefined ? [] : [[name, value]];
    });
    return fetch(this.url, { method: "DELETE", headers });
  }
}

/** A client of any version, ready to call tools. */
export function clientOf(version: Version, url: string): Promise<Client> {
  if (version === "2026-07-28") return Promise.resolve(new ModernClient(url));
  return LegacyClient.open(url, { version });
}

/** A response that was read to its end. `text` is the text of the first block of a tool's result. */
export interface ReadAnswer {
  readonly status: number;
  readonly contentType: string;
  /** Every message in order. */
  readonly messages: readonly Members[];
  readonly text: string | undefined;
  readonly raw: string;
}

/** Reads a response to its end. */
export async function readAnswer(response: Promise<Response> | Response): Promise<ReadAnswer> {
  const { status, headers, ...answer } = await withText(await response);
  const contentType = (headers.get("content-type") ?? "").split(";")[0] ?? "";
  const messages = contentType === "text/event-stream" ? messagesOf(answer.raw) : jsonOf(answer.raw);
  const last = messages.at(-1);
  const result = isMembers(last?.result) ? last.result : {};
  const [block] = Array.isArray(result.content) ? result.content : [];
  return { status, contentType, messages, text: isMembers(block) ? String(block.text) : undefined, raw: answer.raw };
}

/** A response that is read as it arrives. */
export class Reading {
  raw = "";
  isOver = false;

  constructor(response: Response) {
    this.#read(response).catch(() => {
      // The test closed the connection.
      this.isOver = true;
    });
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) this.raw += decoder.decode(chunk, { stream: true });
    this.isOver = true;
  }

  get messages(): readonly Members[] {
    return messagesOf(this.raw);
  }

  /** The comment lines so far. */
  get comments(): readonly string[] {
    return this.raw.split(/\r\n|\r|\n/).filter((line) => line.startsWith(":"));
  }

  /** The ids of the events so far, in order. */
  get ids(): readonly string[] {
    return [...this.raw.matchAll(/^id: (.*)$/gm)].map(([, id]) => id ?? "");
  }

  has(what: string, holds: (reading: this) => boolean): Promise<void> {
    return until(`${what}; read so far: ${this.raw}`, () => holds(this));
  }
}

function bearerOf(token: string | undefined): Headers {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

async function withText(response: Response): Promise<{ status: number; headers: Response["headers"]; raw: string }> {
  return { status: response.status, headers: response.headers, raw: await response.text() };
}

function jsonOf(text: string): Members[] {
  const value: unknown = text === "" ? [] : JSON.parse(text);
  return [value].flat().filter(isMembers);
}

function messagesOf(text: string): Members[] {
  const messages: Members[] = [];
  const parser = createParser({ onEvent: ({ data }) => messages.push(...(data === "" ? [] : jsonOf(data))) });
  parser.feed(text);
  return messages;
}
