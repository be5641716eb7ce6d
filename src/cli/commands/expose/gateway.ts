/**
 * Serves a stdio server as Streamable HTTP. A stdio server has a single client, so each legacy session gets its own process. Modern
 * requests contain all their state, so all requests of one client share a process.
 *
 * @module
 * @see MCP 2026-07-28, basic/transports/streamable-http
 */
import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import type { JSONRPCRequest, JsonObject, ParsedMessage, RequestId } from "../../../core/protocol/jsonrpc.ts";
import { readMeta } from "../../../core/protocol/lifecycle.ts";
import * as META from "../../../core/protocol/meta.ts";
import { findVersion, serveVersions } from "../../../core/protocol/versions.ts";
import { readBody } from "../../../http/body.ts";
import { classify, type LegacyVerdict } from "../../../http/classify.ts";
import { acceptedForm, isJsonContentType, readProtocolHeaders } from "../../../http/headers.ts";
import { checkOrigin, isLoopback, preflight, readableBy } from "../../../http/origin.ts";
import { type Refusal, Refused, type Reply, refuse, toStatus } from "../../../http/refusal.ts";
import { type Emit, type Outcome, respond } from "../../../http/respond.ts";
import { type HttpLimits, resolveHttpLimits } from "../../../http/response-times.ts";
import { cursorInvalid, SESSION_UNKNOWN, tooMany } from "../../../http/session-refusals.ts";
import { encodeResponse, type JSONRPCResponse } from "../../relay/messages.ts";
import { type ConnectToServer, Relay } from "../../relay/relay.ts";
import { StreamLog } from "./stream-log.ts";

/** The parts of a gateway. */
export interface GatewayParts {
  /** Starts a process of the server and connects to it. */
  readonly connect: ConnectToServer;
  /** The path of the endpoint. */
  readonly path: string;
  /** The token that each request must have; undefined if no token is required. */
  readonly token: string | undefined;
  readonly log: (text: string) => void;
}

/** The maximum number of processes that run at the same time. A process can be expensive. */
const RELAYS_MAX = 32;
/** How long a process may be idle before it is ended, in milliseconds. */
const IDLE_MS = 30 * 60_000;
/** The interval between two checks for idle processes, in milliseconds. */
const SWEEP_MS = 60_000;
const ALLOW = "POST, GET, DELETE";

/** A server process, with the open requests and streams of its client. */
class Seat {
  readonly relay: Relay;
  /** The open requests by id, so that a notification can cancel them. */
  readonly serving = new Map<RequestId, AbortController>();
  readonly streams: StreamLog;
  usedAtMs = Date.now();
  /** The number of open requests. */
  #running = 0;

  constructor({ connect, log }: GatewayParts, limits: HttpLimits) {
    this.streams = new StreamLog(limits, () => {
      this.usedAtMs = Date.now();
    });
    this.relay = new Relay(connect, this.streams, log);
  }

  /** Whether neither a request nor a stream is open. */
  get isIdle(): boolean {
    return this.#running === 0 && !this.streams.isConnected;
  }

  /** Forwards a request. The process counts as in use until the response arrives. */
  async forward(request: JSONRPCRequest, emit: Emit, signal: AbortSignal): Promise<JSONRPCResponse | undefined> {
    this.#running += 1;
    try {
      return await this.relay.handleRequest(request, { send: emit }, signal);
    } finally {
      this.#running -= 1;
      this.usedAtMs = Date.now();
    }
  }
}

export class Gateway {
  readonly #parts: GatewayParts;
  readonly #limits: HttpLimits = resolveHttpLimits({});
  readonly #versions = serveVersions();
  /** The processes: of legacy clients by session id, of modern clients by the name and capabilities that they declare. */
  readonly #seats = new Map<string, Seat>();
  readonly #sweep: ReturnType<typeof setInterval>;

  constructor(parts: GatewayParts) {
    this.#parts = parts;
    this.#sweep = setInterval(() => this.endIdle(), SWEEP_MS);
    this.#sweep.unref();
  }

  /** Handles an HTTP request. */
  async handle(request: Request): Promise<Response> {
    const origin = request.headers.get("Origin");
    const { hostname, host, pathname } = new URL(request.url);
    // After DNS rebinding, a web page sends its own host name here.
    if (!isLoopback(hostname)) return refuse({ reason: "host-not-allowed", host }).toResponse();
    const problem = checkOrigin(request, origin, {});
    if (problem) return refuse(problem).toResponse();
    const reply = await this.#reply(request, pathname);
    const response = reply instanceof Refused ? reply.toResponse() : reply;
    return origin === null ? response : readableBy(origin, response);
  }

  /** Ends all processes. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.all([...this.#seats.keys()].map((key) => this.#end(key)));
  }

  async #reply(request: Request, pathname: string): Promise<Reply> {
    const { method, headers } = request;
    if (pathname !== this.#parts.path) return new Response("Not found", { status: 404 });
    if (method === "OPTIONS") return preflight(request, ALLOW);
    const given = headers.get("Authorization");
    if (!this.#isAllowed(given)) return refuse({ reason: "unauthorized", tokenPresented: given !== null });
    if (method === "POST") return this.#post(request);
    if (method === "GET" || method === "DELETE") return this.#handleSession(request);
    return refuse({ reason: "method-not-allowed", method, allow: ALLOW });
  }

  /** Compares digests, so that the duration of the comparison reveals nothing about the token. */
  #isAllowed(given: string | null): boolean {
    const { token } = this.#parts;
    if (token === undefined) return true;
    const digest = (text: string) => createHash("sha256").update(text).digest();
    const presented = /^Bearer +(.+)$/i.exec(given ?? "")?.[1];
    if (presented === undefined) return false;
    return timingSafeEqual(digest(presented), digest(token));
  }

  async #post(request: Request): Promise<Reply> {
    const { headers } = request;
    const contentType = headers.get("Content-Type");
    if (!isJsonContentType(contentType)) return refuse({ reason: "content-type", contentType: contentType ?? "" });
    const form = acceptedForm(headers.get("Accept"));
    if (!form) return refuse({ reason: "not-acceptable", accept: headers.get("Accept") ?? "" });
    const body = await readBody(request, this.#limits);
    if (body.refusal) return refuse(body.refusal);
    const verdict = classify(body.value, readProtocolHeaders(headers), {
      versions: this.#versions,
      hasSessions: true,
      batchMax: this.#limits.batchMax,
    });
    const options = { form, limits: this.#limits };
    switch (verdict.kind) {
      case "refuse":
        return refuse(verdict.refusal, verdict.id);
      case "notification":
        return new Response(null, { status: 202 });
      case "initialize":
        return this.#initialize(verdict.request);
      case "modern": {
        const seat = this.#findSeat(toKey(verdict.request), true);
        if (!(seat instanceof Seat)) return refuse(seat, verdict.request.id);
        const run = (emit: Emit, { signal }: { signal: AbortSignal }) =>
          runRequest(seat, verdict.request, emit, signal, true);
        return respond(run, { ...options, request });
      }
      case "legacy": {
        const seat = this.#findSeat(verdict.sessionId ?? "", false);
        if (!(seat instanceof Seat)) return refuse(seat);
        return seat.streams.respond((emit) => serveAll(seat, verdict, emit), options, primes(headers));
      }
    }
  }

  /** Opens a session with its own process. */
  async #initialize(request: JSONRPCRequest): Promise<Reply> {
    const id = randomUUID();
    const seat = this.#findSeat(id, true);
    if (!(seat instanceof Seat)) return refuse(seat, request.id);
    const { text, status } = await runRequest(seat, request, () => undefined, new AbortController().signal, false);
    const isOpen = text !== undefined && "result" in (JSON.parse(text) as JSONRPCResponse);
    if (!isOpen) await this.#end(id);
    const headers = { "Content-Type": "application/json", ...(isOpen ? { "Mcp-Session-Id": id } : {}) };
    return new Response(text ?? null, { status, headers });
  }

  /** Handles GET, which opens the stream of a session or resumes a stream, and DELETE, which ends the session. */
  async #handleSession(request: Request): Promise<Reply> {
    const { method, headers } = request;
    const id = headers.get("Mcp-Session-Id");
    if (id === null) return refuse({ reason: "method-not-allowed", method, allow: "POST" });
    const seat = this.#findSeat(id, false);
    if (!(seat instanceof Seat)) return refuse(seat);
    if (method === "DELETE") {
      await this.#end(id);
      return new Response(null, { status: 204 });
    }
    const lastEventId = headers.get("Last-Event-ID");
    if (lastEventId === null) return seat.streams.listen(request, primes(headers));
    return seat.streams.resume(lastEventId, request) ?? refuse(cursorInvalid(lastEventId));
  }

  /** Returns the process for a key, or a refusal. @param mayOpen Whether to start a process if there is none. */
  #findSeat(key: string, mayOpen: boolean): Seat | Refusal {
    const known = this.#seats.get(key);
    if (known) {
      known.usedAtMs = Date.now();
      return known;
    }
    if (!mayOpen) return SESSION_UNKNOWN;
    if (this.#seats.size >= RELAYS_MAX) return tooMany(`${RELAYS_MAX} processes of the server are running`, 60);
    const seat = new Seat(this.#parts, this.#limits);
    this.#seats.set(key, seat);
    return seat;
  }

  async #end(key: string): Promise<void> {
    const seat = this.#seats.get(key);
    this.#seats.delete(key);
    seat?.streams.close();
    await seat?.relay.close();
  }

  /** Ends the processes that have been idle for too long. */
  endIdle(nowMs = Date.now()): void {
    const oldest = nowMs - IDLE_MS;
    for (const [key, seat] of this.#seats) {
      if (seat.usedAtMs < oldest && seat.isIdle) void this.#end(key);
    }
  }
}

/** Whether streams begin with an event that has only an id. Clients of earlier versions cannot read it. */
function primes(headers: Headers): boolean {
  return findVersion(headers.get("MCP-Protocol-Version") ?? "")?.primingEvent ?? false;
}

/** Modern clients that declare the same name and capabilities share a process. The key is JSON, so it cannot equal a session id. */
function toKey({ params }: JSONRPCRequest): string {
  const meta: JsonObject = readMeta(params);
  return JSON.stringify([meta[META.clientInfo], meta[META.clientCapabilities]]);
}

async function runRequest(
  seat: Seat,
  request: JSONRPCRequest,
  emit: Emit,
  signal: AbortSignal,
  isModern: boolean,
): Promise<Outcome> {
  const response = await seat.forward(request, emit, signal);
  if (!response) return { text: undefined, status: 202 };
  const code = "error" in response ? response.error.code : undefined;
  return { text: encodeResponse(response), status: toStatus(code, isModern) };
}

/** Handles the messages of a legacy POST. The responses to a batch are sent as one array. */
async function serveAll(seat: Seat, { messages, isBatch }: LegacyVerdict, emit: Emit): Promise<Outcome> {
  const outcomes = await Promise.all(messages.map((parsed) => serveOne(seat, parsed, emit)));
  const texts = outcomes.flatMap(({ text }) => text ?? []);
  if (texts.length === 0) return { text: undefined, status: 202 };
  return { text: isBatch ? `[${texts.join(",")}]` : texts[0], status: 200 };
}

async function serveOne(seat: Seat, parsed: ParsedMessage, emit: Emit): Promise<Outcome> {
  if (parsed.kind === "request") {
    const { id } = parsed.message;
    const abort = new AbortController();
    seat.serving.set(id, abort);
    return runRequest(seat, parsed.message, emit, abort.signal, false).finally(() => seat.serving.delete(id));
  }
  if (parsed.kind === "response") seat.relay.answer(parsed.message);
  else if (parsed.kind === "notification") {
    const { method, params = {} } = parsed.message;
    if (method === "notifications/cancelled") {
      seat.serving.get(params.requestId as RequestId)?.abort(new Error("The client cancelled the request."));
    }
    void seat.relay.notification(parsed.message);
  } else if (!parsed.isNotification) {
    const id = parsed.id === undefined ? {} : { id: parsed.id };
    return {
      text: JSON.stringify({ jsonrpc: "2.0", ...id, error: { code: -32600, message: parsed.problem } }),
      status: 200,
    };
  }
  return { text: undefined, status: 202 };
}
