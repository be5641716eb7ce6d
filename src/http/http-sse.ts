/**
 * The HTTP+SSE transport of 2024-11-05. A GET opens the stream, its first event names the URL to POST to, and every
 * JSON-RPC response is sent on the stream. Bundled only with `httpSse()`.
 *
 * @module
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
import { ClientFacts } from "../core/protocol/client-facts.ts";
import { type ParsedMessage, parseMessage } from "../core/protocol/jsonrpc.ts";
import { findVersion, HTTP_SSE_VERSION } from "../core/protocol/versions.ts";
import { readBody } from "./body.ts";
import { requestId } from "./classify.ts";
import type { Admitted, SessionEndpoint } from "./endpoint-types.ts";
import { EventStream } from "./event-stream.ts";
import { acceptedForm, isJsonContentType } from "./headers.ts";
import { type Refusal, type Reply, refuse } from "./refusal.ts";
import type { HttpLimits } from "./response-times.ts";
import { SESSION_UNKNOWN, tooMany } from "./session-refusals.ts";
import { notificationsFor, toPlainRequest } from "./session-routes.ts";
import type { SessionGateway } from "./sessions.ts";
import { encodeEndpoint } from "./sse.ts";

const SESSION_PARAMETER = "sessionId";

/** The number of seconds after which a client whose stream was refused may try again. */
const RETRY_AFTER_S = 5;

/**
 * An Accept header that names event streams, or accepts anything. A browser that opens a page names other types as
 * well.
 */
const ACCEPTS_STREAM = /text\/event-stream|^\s*(\*\/\*\s*(;[^,]*)?)?$/i;

/**
 * Whether a request to a URL that also serves Streamable HTTP comes from an HTTP+SSE client. The GET of such a client
 * accepts a stream, and has neither a session nor an event id; its POST has the session in the query.
 *
 * A version header shows only the era, because some HTTP+SSE clients send it (the Java SDK, the AI SDK). A client of
 * Streamable HTTP that has ended its session sends an event id when it reconnects its stream.
 */
export function isHttpSse({ method, headers, url }: Request): boolean {
  if (method === "POST") return url.includes(`${SESSION_PARAMETER}=`) && readSessionId(url) !== null;
  if (method !== "GET" || headers.has("Mcp-Session-Id") || headers.has("Last-Event-ID")) return false;
  const version = headers.get("MCP-Protocol-Version");
  const isLegacy = version === null || findVersion(version)?.era === "legacy";
  return isLegacy && ACCEPTS_STREAM.test(headers.get("Accept") ?? "");
}

/** The open HTTP+SSE streams of this isolate, and their maximum numbers. */
export interface OpenStreams {
  readonly max: number;
  readonly perPrincipalMax: number;
  count: number;
  /** The number of open streams of each principal. All anonymous callers count as one principal. */
  readonly byPrincipal: Map<string, number>;
  /** How long a client may take to begin its handshake, in milliseconds. */
  readonly handshakeMs: number;
}

/** A request of an HTTP+SSE client, and what serves it. */
export interface HttpSseCall {
  readonly gateway: SessionGateway;
  readonly admitted: Admitted;
  readonly endpoint: SessionEndpoint;
}

/**
 * Opens a session and its stream. All checks happen before the session's object is created.
 *
 * @param messagesPath The path that the client must POST to. If undefined, it is the path of the GET.
 */
export async function openHttpSse(
  { gateway, admitted, endpoint }: HttpSseCall,
  open: OpenStreams,
  messagesPath?: string,
): Promise<Reply> {
  const { request, registry, principal } = admitted;
  const accept = request.headers.get("Accept");
  const form = acceptedForm(accept);
  if (form !== "sse" && form !== "either") return refuse({ reason: "not-acceptable", accept: accept ?? "" });
  if (registry.versions.legacy.length === 0) {
    return refuse({ reason: "method-not-allowed", method: request.method, allow: "POST" });
  }
  const by = principal ? JSON.stringify([principal.issuer, principal.subject]) : "";
  const what = tooManyOpen(open, by);
  if (what) return refuse(tooMany(what, RETRY_AFTER_S));
  const stream = new CountedStream(endpoint.options.limits, request, open, by);
  try {
    const id = await gateway.create(new ClientFacts(HTTP_SSE_VERSION, {}), admitted);
    const session = await gateway.find(id, admitted);
    stream.write(encodeEndpoint(getEndpoint(request.url, id, messagesPath)));
    stream.expect(open.handshakeMs);
    const target = { kind: "standalone", isHttpSse: true } as const;
    const notifications = notificationsFor(admitted, endpoint);
    const refusal = session ? await session.streamTo(target, stream, notifications) : SESSION_UNKNOWN;
    if (!refusal) return stream.respond();
    stream.end();
    return refuse(refusal);
  } catch (error) {
    stream.end();
    throw error;
  }
}

/** Accepts one message with 202. The JSON-RPC response is sent on the stream. */
export async function postHttpSse({ gateway, admitted, endpoint }: HttpSseCall): Promise<Reply> {
  const { request } = admitted;
  const sessionId = readSessionId(request.url) ?? "";
  const parsed = await readMessage(request, endpoint.options.limits);
  const isRefused = "reason" in parsed;
  admitted.sessionId = sessionId;
  admitted.contents = { era: "legacy", messages: isRefused ? [] : [parsed] };
  const denied = await endpoint.stages?.authorize(admitted);
  if (denied) return denied;
  if (isRefused) return refuse(parsed);
  if (parsed.kind === "invalid") {
    if (parsed.isNotification) return new Response(null, { status: 202 });
    return refuse({ reason: "not-jsonrpc", problem: parsed.problem }, parsed.id);
  }
  const session = await gateway.find(sessionId, admitted);
  const post = {
    messages: [parsed],
    isBatch: false,
    form: "own",
    request: toPlainRequest(admitted, endpoint),
  } as const;
  const outcome = await session?.post(post);
  const refusal = outcome ? "refusal" in outcome && outcome.refusal : SESSION_UNKNOWN;
  return refusal ? refuse(refusal, requestId(post.messages)) : new Response(null, { status: 202 });
}

/** Reads the message of a POST, or returns why it is refused. */
async function readMessage(request: Request, limits: HttpLimits): Promise<ParsedMessage | Refusal> {
  const contentType = request.headers.get("Content-Type");
  if (!isJsonContentType(contentType)) return { reason: "content-type", contentType: contentType ?? "" };
  if (readSessionId(request.url) === null) return { reason: "session-missing" };
  const body = await readBody(request, limits);
  return body.refusal ?? parseMessage(body.value);
}

function readSessionId(url: string): string | null {
  return new URL(url).searchParams.get(SESSION_PARAMETER);
}

/**
 * Returns the URL to POST to, without the origin. Keeps other query parameters, because some clients authenticate with
 * one.
 */
function getEndpoint(requestUrl: string, id: string, messagesPath: string | undefined): string {
  const { pathname, searchParams } = new URL(requestUrl);
  searchParams.set(SESSION_PARAMETER, id);
  return `${messagesPath ?? pathname}?${searchParams}`;
}

/** Returns the exceeded limit if a principal cannot open another stream now, or undefined if it can. */
function tooManyOpen({ max, perPrincipalMax, count, byPrincipal }: OpenStreams, by: string): string | undefined {
  const own = byPrincipal.get(by) ?? 0;
  if (count >= max) return `${count} of ${max} streams of HTTP+SSE clients are open (httpSse(): streamsMax)`;
  if (own < perPrincipalMax) return undefined;
  const whose = by === "" ? "by anonymous callers" : "by this principal";
  return `${own} of ${perPrincipalMax} streams of HTTP+SSE clients are open ${whose} (httpSse(): streamsPerPrincipalMax)`;
}

/** A stream that counts as open until it ends or its client disconnects. */
class CountedStream extends EventStream {
  #free: () => void;
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(limits: HttpLimits, request: Request, open: OpenStreams, by: string) {
    super(limits, request);
    const { byPrincipal } = open;
    const add = (more: number) => {
      const own = (byPrincipal.get(by) ?? 0) + more;
      open.count += more;
      // Principals without open streams are removed, so that the map stays small.
      if (own > 0) byPrincipal.set(by, own);
      else byPrincipal.delete(by);
    };
    add(1);
    this.#free = () => add(-1);
  }

  /** Ends the stream unless something is sent on it in time, because then its client has not begun a handshake. */
  expect(withinMs: number): void {
    this.#silence = setTimeout(() => this.abandon(), withinMs);
    this.signal.addEventListener("abort", () => clearTimeout(this.#silence), { once: true });
  }

  override write(frames: string, isDroppable = false): void {
    if (frames !== "") clearTimeout(this.#silence);
    super.write(frames, isDroppable);
  }

  override end(): void {
    super.end();
    clearTimeout(this.#silence);
    this.#free();
    this.#free = () => undefined;
  }
}
