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
import type { Admitted, SessionRoutes, SessionServices } from "./endpoint-types.ts";
import { EventStream } from "./event-stream.ts";
import { type AcceptedForm, acceptedForm } from "./headers.ts";
import { Refused, type Reply, refuse } from "./refusal.ts";
import { toJson } from "./respond.ts";
import { ALREADY_INITIALIZED, NO_STREAM, SESSION_UNKNOWN } from "./session-refusals.ts";
import type { FoundSession, SessionGateway, StreamTarget } from "./sessions.ts";

/** Creates the routes for the sessions of a gateway. */
export function createSessionRoutes(gateway: SessionGateway): SessionRoutes {
  return {
    create: (client, admitted) => gateway.create(client, admitted),
    post: (verdict, form, admitted, services) => post(gateway, verdict, form, admitted, services),
    get: (admitted, services) => get(gateway, admitted, services),
    delete: (admitted) => end(gateway, admitted),
  };
}

async function post(
  gateway: SessionGateway,
  verdict: LegacyVerdict,
  form: AcceptedForm,
  admitted: Admitted,
  services: SessionServices,
): Promise<Reply> {
  const { messages, isBatch, sessionId = "" } = verdict;
  const session = await gateway.find(sessionId, admitted);
  const id = requestId(messages);
  if (!session) return refuse(SESSION_UNKNOWN, id);
  if (isBatch && !session.client.rules.batch) {
    return refuse({ reason: "batch", problem: `protocol version ${session.client.protocolVersion} has no batches` });
  }
  if (messages.some((parsed) => parsed.kind === "request" && parsed.message.method === "initialize")) {
    return refuse((await session.admit()) ? ALREADY_INITIALIZED : SESSION_UNKNOWN, id);
  }
  // This notification runs no code of the author, and no client sends it after DELETE, so the object is not asked.
  if (session.isNew && messages.every(isInitialized)) return new Response(null, { status: 202 });
  // Lists and pings need no handler: if the session is alive, this isolate answers them from compiled definitions.
  if (messages.every((parsed) => isServedHere(admitted.registry, parsed))) {
    if (!(await session.admit())) return refuse(SESSION_UNKNOWN, id);
    return services.serveHere(messages, isBatch, session.client);
  }
  const outcome = await session.post({ messages, isBatch, form, request: services.request });
  if (!outcome) return refuse(SESSION_UNKNOWN, id);
  if ("refusal" in outcome) return refuse(outcome.refusal, id);
  if ("answer" in outcome) return toJson(outcome.answer);
  return respondWithStream(session, { kind: "call", stream: outcome.stream }, admitted, services);
}

function isInitialized(parsed: ParsedMessage): boolean {
  return parsed.kind === "notification" && parsed.message.method === "notifications/initialized";
}

function isServedHere(registry: Registry, parsed: ParsedMessage): boolean {
  return parsed.kind === "request" && isStatic(registry, parsed.message);
}

async function respondWithStream(
  session: FoundSession,
  target: StreamTarget,
  { request }: Admitted,
  services: SessionServices,
): Promise<Reply> {
  const stream = new EventStream(services.limits, request);
  const refusal = await session.streamTo(target, stream, services.notifications);
  return refusal ? refuse(refusal) : stream.respond();
}

async function get(gateway: SessionGateway, admitted: Admitted, services: SessionServices): Promise<Reply> {
  const { headers } = admitted.request;
  const accept = headers.get("Accept");
  const form = acceptedForm(accept);
  if (form !== "sse" && form !== "either") return refuse({ reason: "not-acceptable", accept: accept ?? "" });
  const session = await find(gateway, admitted);
  if (session instanceof Refused) return session;
  const lastEventId = headers.get("Last-Event-ID");
  // Outside of calls only notifications and `onRootsChanged` send messages.
  if (lastEventId === null && !services.notifications && !admitted.registry.rootsChanged) return refuse(NO_STREAM);
  const target: StreamTarget = lastEventId === null ? { kind: "standalone" } : { kind: "resume", lastEventId };
  return respondWithStream(session, target, admitted, services);
}

async function end(gateway: SessionGateway, admitted: Admitted): Promise<Reply> {
  const session = await find(gateway, admitted);
  if (session instanceof Refused) return session;
  return (await session.end()) ? new Response(null, { status: 204 }) : refuse(SESSION_UNKNOWN);
}

/** Returns the session of a GET or DELETE request, or the refusal. */
async function find(gateway: SessionGateway, admitted: Admitted): Promise<FoundSession | Refused> {
  const { headers } = admitted.request;
  const version = headers.get("MCP-Protocol-Version");
  const { versions } = admitted.registry;
  if (version !== null && !versions.find(version)) return refuse(unservedVersion(version, versions));
  const id = headers.get("Mcp-Session-Id");
  if (id === null) return refuse({ reason: "session-missing" });
  return (await gateway.find(id, admitted)) ?? refuse(SESSION_UNKNOWN);
}
