/** Shared by the conformance tests: one Worker, taps in front of it, and a minimal session. */
import { createParser } from "eventsource-parser";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { CONTENT, isMembers, type Members, NEWEST_LEGACY, notification, request } from "../http/messages.ts";
import { type Answer, type Ask, headerOf, observe, send, until } from "../http/wire.ts";
import { DELIBERATELY_BAD, type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { ModernClient, Reading, readAnswer } from "../worker/client.ts";

export type Endpoint = "full" | "quick" | "short" | "plain" | "modern" | "small" | "listed";

const PATHS: Readonly<Record<Endpoint, string>> = {
  full: "/mcp",
  quick: "/quick/mcp",
  short: "/short/mcp",
  plain: "/plain/mcp",
  modern: "/modern/mcp",
  small: "/small/mcp",
  listed: "/listed/mcp",
};

type Headers = Readonly<Record<string, string | undefined>>;

/** A running Worker, and an oracle that sees everything a test exchanges with it. */
export class Lab {
  worker!: Workerd;
  oracle = new WireOracle();
  #taps = new Map<string, HttpTap>();

  start = async (): Promise<void> => {
    this.worker = await Workerd.start({
      entry: "test/conformance/fixtures/lab.ts",
      objects: ["McpObject", "QuickObject", "ShortObject"],
      bindings: { MCP_KEYS: newKeys() },
    });
  };

  renew = (): void => {
    this.oracle = new WireOracle();
  };

  /** Closes the taps and fails if the oracle found a violation. */
  judge = async (): Promise<void> => {
    for (const tap of this.#taps.values()) await tap.close();
    this.#taps.clear();
    if (this.oracle.messages > 0) this.oracle.expectClean();
    expect(this.oracle.problems).toEqual([]);
  };

  /** The address of an endpoint, through a tap. */
  async url(endpoint: Endpoint = "full"): Promise<string> {
    const target = `${this.worker.origin}${PATHS[endpoint]}`;
    const tap = this.#taps.get(target) ?? (await startHttpTap(target, { oracle: this.oracle }));
    this.#taps.set(target, tap);
    return tap.url;
  }

  /** Sends one raw request without a tap, and passes it to the oracle. */
  async send(ask: Ask, endpoint: Endpoint = "full"): Promise<Answer> {
    const answer = await send(this.worker.origin, { path: PATHS[endpoint], ...ask });
    const agreed = this.oracle.agreedVersion(headerOf(ask, "mcp-session-id") ?? "none");
    observe(this.oracle, ask, answer, agreed === undefined ? {} : { agreed });
    return answer;
  }

  /** Calls a tool of an endpoint in 2026-07-28, which needs no session, and returns its text. */
  async tool(name: string, args: Members = {}, endpoint: Endpoint = "full"): Promise<string | undefined> {
    return (await readAnswer(new ModernClient(await this.url(endpoint)).call(name, args))).text;
  }

  /** Waits until handlers have noted this for a key. */
  noted(key: string, what: string, tool: "noted" | "report" = "noted"): Promise<void> {
    return until(`${key}: ${what}`, async () => (await this.tool(tool, { key })) === what);
  }
}

/** A Worker for all tests of a file, with a new oracle for each test. */
export function useLab(): Lab {
  const lab = new Lab();
  beforeAll(lab.start);
  afterAll(() => lab.worker.stop());
  beforeEach(lab.renew);
  afterEach(lab.judge);
  return lab;
}

let keys = 0;

/** A key, or an id, that no other test uses. */
export function newKey(): string {
  keys += 1;
  return `key-${keys}`;
}

/** One SSE event as it was received. */
export interface SseEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string;
}

export function eventsOf(raw: string): SseEvent[] {
  const events: SseEvent[] = [];
  createParser({ onEvent: ({ id, event, data }) => events.push({ id, event, data }) }).feed(raw);
  return events;
}

/** The id of the event whose message fulfils the condition. */
export function idOf(raw: string, holds: (message: Members) => boolean): string {
  const found = eventsOf(raw).find(({ data }) => data !== "" && holds(JSON.parse(data) as Members));
  if (found?.id === undefined) throw new Error(`no such event with an id in: ${raw}`);
  return found.id;
}

/** The values of the progress notifications. */
export function progressOf(messages: readonly Members[]): unknown[] {
  return messages.flatMap(({ method, params }) =>
    method === "notifications/progress" && isMembers(params) ? [params.progress] : [],
  );
}

export interface OpenOptions {
  readonly version?: string;
  readonly capabilities?: Members;
  readonly token?: string;
  /** Omits `notifications/initialized`. */
  readonly silent?: boolean;
}

/** A legacy session: its address and the headers to send. */
export class Session {
  readonly url: string;
  readonly id: string;
  readonly headers: Headers;

  constructor(url: string, id: string, headers: Headers) {
    this.url = url;
    this.id = id;
    this.headers = headers;
  }

  static async open(url: string, options: OpenOptions = {}): Promise<Session> {
    const { version = NEWEST_LEGACY, capabilities = { roots: {} }, token, silent = false } = options;
    const clientInfo = { name: "conformance", version: "1.0.0" };
    const bearer: Headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const message = request("initialize", { protocolVersion: version, capabilities, clientInfo }, newKey());
    const answer = await fetch(url, init("POST", { ...(CONTENT as Headers), ...bearer }, message));
    expect(answer.status).toBe(200);
    await answer.text();
    const id = answer.headers.get("mcp-session-id") ?? "";
    // The header was added in 2025-06-18.
    const named = version >= "2025-06-18" ? { "mcp-protocol-version": version } : {};
    const session = new Session(url, id, { "mcp-session-id": id, ...named, ...bearer });
    if (!silent) expect((await session.send(notification("notifications/initialized"))).status).toBe(202);
    return session;
  }

  /** The same session with other headers or at another address. */
  with(headers: Headers, url = this.url): Session {
    return new Session(url, this.id, { ...this.headers, ...headers });
  }

  send(message: unknown, headers: Headers = {}, signal?: AbortSignal): Promise<Response> {
    return fetch(this.url, init("POST", { ...(CONTENT as Headers), ...this.headers, ...headers }, message, signal));
  }

  request(method: string, params?: Members, id: string | number = newKey()): Promise<Response> {
    return this.send(request(method, params, id));
  }

  /** Calls a tool with a progress token. */
  call(name: string, args: Members, id: string | number = newKey(), signal?: AbortSignal): Promise<Response> {
    return this.send(request("tools/call", { name, arguments: args, _meta: { progressToken: id } }, id), {}, signal);
  }

  /** Sends a message or a batch, and reads the response as it arrives. */
  async post(message: unknown): Promise<Cuttable> {
    const cutter = new AbortController();
    return new Cuttable(await this.send(message, {}, cutter.signal), cutter);
  }

  /** Calls a tool and reads the response as it arrives. */
  async stream(name: string, args: Members, id?: string | number): Promise<Cuttable> {
    const cutter = new AbortController();
    return new Cuttable(await this.call(name, args, id, cutter.signal), cutter);
  }

  /** Sends a GET: opens a standalone stream or resumes one. */
  async get(lastEventId?: string, headers: Headers = {}): Promise<Cuttable> {
    const cutter = new AbortController();
    const all = { accept: "text/event-stream", ...this.headers, "last-event-id": lastEventId, ...headers };
    return new Cuttable(await fetch(this.url, init("GET", all, undefined, cutter.signal)), cutter);
  }

  delete(): Promise<Response> {
    return fetch(this.url, init("DELETE", this.headers));
  }
}

/** A response that is read as it arrives and whose connection can be cut. */
export class Cuttable extends Reading {
  readonly response: Response;
  readonly #cutter: AbortController;

  constructor(response: Response, cutter: AbortController) {
    super(response);
    this.response = response;
    this.#cutter = cutter;
  }

  get status(): number {
    return this.response.status;
  }

  get events(): SseEvent[] {
    return eventsOf(this.raw);
  }

  cut(): void {
    this.#cutter.abort();
  }

  /** Reads until the server ends the response. */
  async end(): Promise<this> {
    await this.has("end", ({ isOver }) => isOver);
    return this;
  }
}

/** Informs a tap that the message is intentionally invalid. */
export const WRONG: Headers = { [DELIBERATELY_BAD]: "1" };

function init(method: string, headers: Headers, message?: unknown, signal?: AbortSignal): RequestInit {
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    return value === undefined ? [] : [[name, value]];
  });
  return {
    method,
    headers: given,
    ...(message === undefined ? {} : { body: JSON.stringify(message) }),
    ...(signal ? { signal } : {}),
  };
}
