/**
 * Messages of HTTP+SSE clients, in the object of their session: who the client is comes with its handshake, and every
 * answer goes to its stream.
 *
 * @module
 */
import { encodeCapabilities } from "../../core/client-facts.ts";
import { McpError, toErrorObject } from "../../core/errors.ts";
import { ErrorCode, encodeError, encodeResult, type JSONRPCRequest, type ParsedMessage } from "../../core/jsonrpc.ts";
import { negotiate } from "../../core/lifecycle.ts";
import type { McpServer } from "../../core/server.ts";
import { runLegacy, takeAll } from "../../http/legacy.ts";
import type { PlainRequest, SessionPost } from "../../http/sessions.ts";
import type { Session } from "../sessions/session.ts";
import type { Caller } from "../sessions/session-state.ts";

/** Serves one message. False when no stream is open. */
export type Deliver = typeof deliver;

export async function deliver<Env>(
  session: Session<Env>,
  caller: Caller,
  parsed: ParsedMessage,
  request: PlainRequest | undefined,
): Promise<boolean> {
  if (!session.isHeard) return false;
  const known = { ...caller, ...session.handshake };
  const post: SessionPost = { messages: [parsed], isBatch: false, form: "sse", request };
  const context = await session.context(known, post);
  if (takeAll(post.messages, context)) return true;
  const handshake = parsed.kind === "request" && parsed.message.method === "initialize" ? parsed.message : undefined;
  const run = runLegacy(post.messages, false, context);
  const work = handshake
    ? introduce(session, handshake, context.server, caller)
    : run((message) => {
        session.watch(message, caller);
        session.say(JSON.stringify(message));
      });
  session.hold(work.then(({ text }) => text !== undefined && session.say(text)));
  return true;
}

/** Answers the handshake of a client whose session id was made before it. */
async function introduce<Env>(
  session: Session<Env>,
  request: JSONRPCRequest,
  server: McpServer<Env>,
  caller: Caller,
): Promise<{ text: string }> {
  try {
    if (session.handshake) {
      throw new McpError(ErrorCode.InvalidRequest, "This session is initialized already.", { reason: "initialized" });
    }
    const keeps = { logLevel: true, notices: session.hasNotices };
    const { client, result } = negotiate(server as unknown as McpServer<never>, request, keeps);
    const handshake = { versionIndex: client.rules.index, capabilityBits: encodeCapabilities(client.capabilities) };
    await session.store({ handshake }, caller);
    return { text: encodeResult(request.id, result) };
  } catch (error) {
    if (!McpError.is(error)) throw error;
    return { text: encodeError(request.id, toErrorObject(error)) };
  }
}
