/**
 * Routes for requests of legacy clients that have a session: POST, GET and DELETE. Bundled only with sessions.
 *
 * @module
 * @see MCP 2025-11-25, basic/transports, "Streamable HTTP"
 */

import type { Registry } from "../core/define/registry.ts";
import { LIST_KINDS } from "../core/protocol/change-notifications.ts";
import type { ParsedMessage } from "../core/protocol/jsonrpc.ts";
import { isStatic } from "../core/serve/dispatch.ts";
import { requestId, unservedVersion } from "./classify.ts";
import type { Admitted, SessionCall, SessionEndpoint, SessionRoutes } from "./endpoint-types.ts";
import { EventStream } from "./event-stream.ts";
import { acceptedForm } from "./headers.ts";
import { Refused, type Reply, refuse } from "./refusal.ts";
import { toJson } from "./respond.ts";
import { ALREADY_INITIALIZED, NO_STREAM, SESSION_UNKNOWN } from "./session-refusals.ts";
import type { FoundSession, PlainRequest, SessionGateway, SessionNotifications, StreamTarget } from "./sessions.ts";

/** Creates the routes for the sessions of a gateway. */
export function createSessionRoutes(gateway: SessionGateway): SessionRoutes {
  return {
    create: (client, admitted) => gateway.create(client, admitted),
    post: (call) => post(gateway, call),
    get: (admitted, endpoint) => get(gateway, admitted, endpoint),
    delete: (admitted) => end(gateway, admitted),
  };
}

/** Returns the notifications that the sessions of a server receive; undefined if the endpoint has none. */
export function notificationsFor(
  { registry, env }: Admitted,
  { options: { notifications } }: SessionEndpoint,
): SessionNotifications | undefined {
  return (
    notifications && { source: notifications.source(env), lists: LIST_KINDS.filter((list) => registry.offers(list)) }
  );
}

/** Returns the request as plain data, if the author's code uses it. */
export function toPlainRequest({ request, registry }: Admitted, { source }: SessionEndpoint): PlainRequest | undefined {
  const isUsed = typeof source === "function" || registry.asksForRequest;
  return isUsed ? { url: request.url, headers: [...request.headers] } : undefined;
}

async function post(gateway: SessionGateway, call: SessionCall): Promise<Reply> {
  const { verdict, form, admitted, endpoint } = call;
  const { messages, isBatch, sessionId = "" } = verdict;
  const session = await gateway.find(sessionId, admitted);
  const id = requestId(messages);
  if (!session) return refuse(SESSION_UNKNOWN, id);
  const { client } = session;
  if (isBatch && !client.rules.batch) {
    return refuse({ reason: "batch", problem: `protocol version ${client.protocolVersion} has no batches` });
  }
  if (messages.some((parsed) => parsed.kind === "request" && parsed.message.method === "initialize")) {
    return refuse((await session.admit()) ? ALREADY_INITIALIZED : SESSION_UNKNOWN, id);
  }
  // This notification does not run code of the author, and clients do not send it after DELETE, so the object is not
  // called.
  if (session.isNew && messages.every(isInitialized)) return new Response(null, { status: 202 });
  // Lists and pings need no handler: if the session is alive, this isolate serves them from compiled definitions.
  if (messages.every((parsed) => isServedHere(admitted.registry, parsed))) {
    if (!(await session.admit())) return refuse(SESSION_UNKNOWN, id);
    return endpoint.serveHere({ messages, isBatch, form, client }, admitted);
  }
  const outcome = await session.post({ messages, isBatch, form, request: toPlainRequest(admitted, endpoint) });
  if (!outcome) return refuse(SESSION_UNKNOWN, id);
  if ("refusal" in outcome) return refuse(outcome.refusal, id);
  if ("answer" in outcome) return toJson(outcome.answer);
  return respondWithStream(session, { kind: "call", stream: outcome.stream }, admitted, endpoint);
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
  admitted: Admitted,
  endpoint: SessionEndpoint,
): Promise<Reply> {
  const stream = new EventStream(endpoint.options.limits, admitted.request);
  const refusal = await session.streamTo(target, stream, notificationsFor(admitted, endpoint));
  return refusal ? refuse(refusal) : stream.respond();
}

async function get(gateway: SessionGateway, admitted: Admitted, endpoint: SessionEndpoint): Promise<Reply> {
  const { headers } = admitted.request;
  const accept = headers.get("Accept");
  const form = acceptedForm(accept);
  if (form !== "sse" && form !== "either") return refuse({ reason: "not-acceptable", accept: accept ?? "" });
  const session = await find(gateway, admitted);
  if (session instanceof Refused) return session;
  const lastEventId = headers.get("Last-Event-ID");
  // Outside of calls only notifications and `onRootsChanged` send messages.
  if (lastEventId === null && !endpoint.options.notifications && !admitted.registry.rootsChanged)
    return refuse(NO_STREAM);
  const target: StreamTarget = lastEventId === null ? { kind: "standalone" } : { kind: "resume", lastEventId };
  return respondWithStream(session, target, admitted, endpoint);
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
