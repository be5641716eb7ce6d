/**
 * The HTTP+SSE transport of 2024-11-05: a GET opens the stream, its first event names where to POST, and every answer
 * comes on the stream. Bundled only where it is asked for.
 *
 * @module
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
import { ClientFacts } from "../core/client-facts.ts";
import { parseMessage } from "../core/jsonrpc.ts";
import { HTTP_SSE_VERSION } from "../core/versions.ts";
import { readBody } from "./body.ts";
import { EventStream } from "./event-stream.ts";
import type { Admitted, SessionSurroundings } from "./handler.ts";
import { acceptedForm, isJsonContentType } from "./headers.ts";
import { refuse } from "./refusal.ts";
import { SESSION_UNKNOWN } from "./session-refusals.ts";
import type { SessionGate } from "./sessions.ts";
import { encodeEndpoint } from "./sse.ts";

const SESSION_PARAMETER = "sessionId";

/** Opens a session and its stream. @param messagesPath Path to POST to, as the client sees it. */
export async function openHttpSse<Env>(
  gate: SessionGate<Env>,
  admitted: Admitted<Env>,
  around: SessionSurroundings,
  messagesPath: string,
): Promise<Response> {
  const { request, principal, env } = admitted;
  const accept = request.headers.get("Accept");
  const form = acceptedForm(accept);
  if (form !== "sse" && form !== "either") return refuse({ reason: "not-acceptable", accept: accept ?? "" });
  const id = await gate.open(new ClientFacts(HTTP_SSE_VERSION, {}), principal, env);
  const session = await gate.find(id, principal, env);
  if (!session) return refuse(SESSION_UNKNOWN);
  const stream = new EventStream(around.limits, request);
  stream.write(encodeEndpoint(`${messagesPath}?${SESSION_PARAMETER}=${id}`));
  const refusal = await session.carry({ kind: "standalone" }, stream, around.notices);
  return refusal ? refuse(refusal) : stream.respond();
}

/** Takes one message: 202, and the answer comes on the stream. */
export async function postHttpSse<Env>(
  gate: SessionGate<Env>,
  { request, principal, env }: Admitted<Env>,
  around: SessionSurroundings,
): Promise<Response> {
  const contentType = request.headers.get("Content-Type");
  if (!isJsonContentType(contentType)) return refuse({ reason: "content-type", contentType: contentType ?? "" });
  const id = new URL(request.url).searchParams.get(SESSION_PARAMETER);
  if (id === null) return refuse({ reason: "session-missing" });
  const body = await readBody(request, around.limits);
  if (body.refusal) return refuse(body.refusal);
  const parsed = parseMessage(body.value);
  if (parsed.kind === "invalid") {
    if (parsed.isNotification) return new Response(null, { status: 202 });
    return refuse({ reason: "not-jsonrpc", problem: parsed.problem }, parsed.id);
  }
  const session = await gate.find(id, principal, env);
  const isTaken = session !== undefined && (await session.deliver(parsed, around.request));
  return isTaken ? new Response(null, { status: 202 }) : refuse(SESSION_UNKNOWN);
}
