/**
 * Routes for requests of legacy clients that have a session: POST, GET and DELETE. Bundled only with sessions.
 *
 * @module
 * @see MCP 2025-11-25, basic/transports, "Streamable HTTP"
 */

import type { Registry } from "../core/define/registry.ts";
import type { ParsedMessage } from "../core/protocol/jsonrpc.ts";
import { isStatic } from "../core/serve/dispatch.ts";
import { type LegacyVerdict, requestId, unservedVersion } from "./classify.ts";
import type { Admitted, SessionRoutes, SessionSurroundings } from "./endpoint-types.ts";
import { EventStream } from "./event-stream.ts";
import { type AcceptedForm, acceptedForm } from "./headers.ts";
import { refuse } from "./refusal.ts";
import { toJson } from "./respond.ts";
import { ALREADY_INITIALIZED, SESSION_UNKNOWN } from "./session-refusals.ts";
import type { FoundSession, SessionGate, StreamTarget } from "./sessions.ts";

/** Creates the routes for the sessions of a gate. */
export function createSessionRoutes<Env>(gate: SessionGate<Env>): SessionRoutes<Env> {
  return {
    open: (client, admitted) => gate.open(client, admitted),
    post: (verdict, form, admitted, around) => post(gate, verdict, form, admitted, around),
    get: (admitted, around) => get(gate, admitted, around),
    delete: (admitted) => end(gate, admitted),
  };
}

async function post<Env>(
  gate: SessionGate<Env>,
  verdict: LegacyVerdict,
  form: AcceptedForm,
  admitted: Admitted<Env>,
  around: SessionSurroundings,
): Promise<Response> {
  const { messages, isBatch, sessionId = "" } = verdict;
  const session = await gate.find(sessionId, admitted);
  const id = requestId(messages);
  if (!session) return refuse(SESSION_UNKNOWN, id);
  if (isBatch && !session.client.rules.batch) {
    return refuse({ reason: "batch", problem: `protocol version ${session.client.protocolVersion} has no batches` });
  }
  if (messages.some((parsed) => parsed.kind === "request" && parsed.message.method === "initialize")) {
    return refuse((await session.admit()) ? ALREADY_INITIALIZED : SESSION_UNKNOWN, id);
  }
  // Lists and pings need no handler: if the session is alive, this isolate answers them from compiled definitions.
  if (messages.every((parsed) => isServedHere(admitted.server, parsed))) {
    return (await session.admit()) ? around.serveHere(messages, isBatch, session.client) : refuse(SESSION_UNKNOWN, id);
  }
  const outcome = await session.post({ messages, isBatch, form, request: around.request });
  if (!outcome) return refuse(SESSION_UNKNOWN, id);
  if ("refusal" in outcome) return refuse(outcome.refusal, id);
  if ("answer" in outcome) return toJson(outcome.answer);
  return respondWithStream(session, { kind: "call", stream: outcome.stream }, admitted, around);
}

function isServedHere(server: Registry, parsed: ParsedMessage): boolean {
  return parsed.kind === "request" && isStatic(server, parsed.message);
}

async function respondWithStream<Env>(
  session: FoundSession,
  target: StreamTarget,
  { request }: Admitted<Env>,
  around: SessionSurroundings,
): Promise<Response> {
  const stream = new EventStream(around.limits, request);
  const refusal = await session.streamTo(target, stream, around.notices);
  return refusal ? refuse(refusal) : stream.respond();
}

async function get<Env>(
  gate: SessionGate<Env>,
  admitted: Admitted<Env>,
  around: SessionSurroundings,
): Promise<Response> {
  const { headers } = admitted.request;
  const accept = headers.get("Accept");
  const form = acceptedForm(accept);
  if (form !== "sse" && form !== "either") return refuse({ reason: "not-acceptable", accept: accept ?? "" });
  const session = await find(gate, admitted);
  if (session instanceof Response) return session;
  const lastEventId = headers.get("Last-Event-ID");
  const target: StreamTarget = lastEventId === null ? { kind: "standalone" } : { kind: "resume", lastEventId };
  return respondWithStream(session, target, admitted, around);
}

async function end<Env>(gate: SessionGate<Env>, admitted: Admitted<Env>): Promise<Response> {
  const session = await find(gate, admitted);
  if (session instanceof Response) return session;
  return (await session.end()) ? new Response(null, { status: 204 }) : refuse(SESSION_UNKNOWN);
}

/** Returns the session of a GET or DELETE request, or the refusal. */
async function find<Env>(gate: SessionGate<Env>, admitted: Admitted<Env>): Promise<FoundSession | Response> {
  const { headers } = admitted.request;
  const version = headers.get("MCP-Protocol-Version");
  const { versions } = admitted.server;
  if (version !== null && !versions.find(version)) return refuse(unservedVersion(version, versions));
  const id = headers.get("Mcp-Session-Id");
  if (id === null) return refuse({ reason: "session-missing" });
  return (await gate.find(id, admitted)) ?? refuse(SESSION_UNKNOWN);
}
