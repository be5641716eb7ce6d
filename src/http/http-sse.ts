/**
 * The HTTP+SSE transport of 2024-11-05: a GET opens the stream, its first event names where to POST, and every answer
 * comes on the stream. Bundled only where it is asked for.
 *
 * @module
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
import { ClientFacts } from "../core/protocol/client-facts.ts";
import { parseMessage } from "../core/protocol/jsonrpc.ts";
import { HTTP_SSE_VERSION } from "../core/protocol/versions.ts";
import { readBody } from "./body.ts";
import { requestId } from "./classify.ts";
import type { Admitted, SessionSurroundings } from "./endpoint-types.ts";
import { EventStream } from "./event-stream.ts";
import { acceptedForm, isJsonContentType } from "./headers.ts";
import { refuse } from "./refusal.ts";
import { SESSION_UNKNOWN, tooMany } from "./session-refusals.ts";
import type { SessionGate } from "./sessions.ts";
import { encodeEndpoint } from "./sse.ts";

const SESSION_PARAMETER = "sessionId";

/** Seconds after which a client that was refused a stream may try again. */
const RETRY_AFTER_S = 5;

/**
 * Whether a request to a URL that also serves Streamable HTTP comes from an HTTP+SSE client. Its GET asks for an event
 * stream by name and carries none of the headers that Streamable HTTP adds; its POST names the session in the query.
 */
export function isHttpSse({ method, headers, url }: Request): boolean {
  if (method === "POST") return url.includes(`${SESSION_PARAMETER}=`) && sessionOf(url) !== null;
  return (
    method === "GET" &&
    /text\/event-stream/i.test(headers.get("Accept") ?? "") &&
    ["Mcp-Session-Id", "Last-Event-ID", "MCP-Protocol-Version"].every((name) => !headers.has(name))
  );
}

/** Counts the open HTTP+SSE streams of this isolate against their maxima. */
export interface OpenStreams {
  readonly max: number;
  readonly perPrincipalMax: number;
  count: number;
  /** How many each principal has open. Anonymous callers are one principal. */
  readonly byPrincipal: Map<string, number>;
}

/**
 * Opens a session and its stream. Everything that can refuse the request does so before an object is created for it.
 *
 * @param messagesPath Path that the client is to POST to; undefined: the path it sent the GET to.
 */
export async function openHttpSse<Env>(
  gate: SessionGate<Env>,
  admitted: Admitted<Env>,
  around: SessionSurroundings,
  open: OpenStreams,
  messagesPath?: string,
): Promise<Response> {
  const { request, server, principal } = admitted;
  const accept = request.headers.get("Accept");
  const form = acceptedForm(accept);
  if (form !== "sse" && form !== "either") return refuse({ reason: "not-acceptable", accept: accept ?? "" });
  if (server.versions.legacy.length === 0) {
    return refuse({ reason: "method-not-allowed", method: request.method, allow: "POST" });
  }
  const by = principal ? JSON.stringify([principal.issuer, principal.subject]) : "";
  const what = tooManyOpen(open, by);
  if (what) return refuse(tooMany(what, RETRY_AFTER_S));
  const stream = new CountedStream(around.limits, request, open, by);
  try {
    const id = await gate.open(new ClientFacts(HTTP_SSE_VERSION, {}), admitted);
    const session = await gate.find(id, admitted);
    stream.write(encodeEndpoint(endpointOf(request.url, id, messagesPath)));
    const target = { kind: "standalone", isHttpSse: true } as const;
    const refusal = session ? await session.streamTo(target, stream, around.notices) : SESSION_UNKNOWN;
    if (!refusal) return stream.respond();
    stream.end();
    return refuse(refusal);
  } catch (error) {
    stream.end();
    throw error;
  }
}

/** Takes one message: 202, and the answer comes on the stream. */
export async function postHttpSse<Env>(
  gate: SessionGate<Env>,
  admitted: Admitted<Env>,
  around: SessionSurroundings,
): Promise<Response> {
  const { request } = admitted;
  const contentType = request.headers.get("Content-Type");
  if (!isJsonContentType(contentType)) return refuse({ reason: "content-type", contentType: contentType ?? "" });
  const id = sessionOf(request.url);
  if (id === null) return refuse({ reason: "session-missing" });
  const body = await readBody(request, around.limits);
  if (body.refusal) return refuse(body.refusal);
  const parsed = parseMessage(body.value);
  if (parsed.kind === "invalid") {
    if (parsed.isNotification) return new Response(null, { status: 202 });
    return refuse({ reason: "not-jsonrpc", problem: parsed.problem }, parsed.id);
  }
  const session = await gate.find(id, admitted);
  const post = { messages: [parsed], isBatch: false, form: "own", request: around.request } as const;
  const outcome = await session?.post(post);
  const refusal = outcome ? "refusal" in outcome && outcome.refusal : SESSION_UNKNOWN;
  return refusal ? refuse(refusal, requestId(post.messages)) : new Response(null, { status: 202 });
}

function sessionOf(url: string): string | null {
  return new URL(url).searchParams.get(SESSION_PARAMETER);
}

/** Where to POST, relative to the origin the client used. Its other query parameters stay: some clients authenticate by one. */
function endpointOf(requestUrl: string, id: string, messagesPath: string | undefined): string {
  const { pathname, searchParams } = new URL(requestUrl);
  searchParams.set(SESSION_PARAMETER, id);
  return `${messagesPath ?? pathname}?${searchParams}`;
}

/** Why a principal cannot have one more stream now; undefined: it can. */
function tooManyOpen({ max, perPrincipalMax, count, byPrincipal }: OpenStreams, by: string): string | undefined {
  const own = byPrincipal.get(by) ?? 0;
  if (count >= max) return `${count} streams of HTTP+SSE clients are open, of ${max} (httpSse(): streamsMax)`;
  if (own < perPrincipalMax) return undefined;
  const whose = by === "" ? "by anonymous callers" : "by this principal";
  return `${own} streams of HTTP+SSE clients are open ${whose}, of ${perPrincipalMax} (httpSse(): streamsPerPrincipalMax)`;
}

/** A stream that is counted until it ends or its client has gone. */
class CountedStream extends EventStream {
  #free: () => void;

  constructor(limits: SessionSurroundings["limits"], request: Request, open: OpenStreams, by: string) {
    super(limits, request);
    const { byPrincipal } = open;
    const add = (more: number) => {
      const own = (byPrincipal.get(by) ?? 0) + more;
      open.count += more;
      // Principals without streams are forgotten: there may be any number of them.
      if (own > 0) byPrincipal.set(by, own);
      else byPrincipal.delete(by);
    };
    add(1);
    this.#free = () => add(-1);
  }

  override end(): void {
    super.end();
    this.#free();
    this.#free = () => undefined;
  }
}
