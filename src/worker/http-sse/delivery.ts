/**
 * Serves the messages of HTTP+SSE clients in the Durable Object of their session. The client describes itself in its
 * handshake, and receives all responses on its only stream. Limits, repeated requests and hooks work as for a POST of
 * Streamable HTTP.
 *
 * @module
 */

import type { Registry } from "../../core/define/registry.ts";
import { encodeCapabilities } from "../../core/protocol/client-capabilities.ts";
import type { ClientFacts } from "../../core/protocol/client-facts.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { McpError } from "../../core/protocol/errors.ts";
import type { JSONRPCRequest } from "../../core/protocol/jsonrpc.ts";
import { negotiate } from "../../core/protocol/lifecycle.ts";
import type { Method } from "../../core/run/request-context.ts";
import type { LegacyContext } from "../../http/legacy.ts";
import type { Deliver, HttpSseSession } from "../sessions/http-sse-session.ts";
import { fitInfo } from "../sessions/session-id.ts";
import type { Caller } from "../sessions/session-state.ts";
import { HttpSseCallStream } from "./call-stream.ts";

export const deliver: Deliver = async (session, caller, post) => {
  const { streams } = session;
  if (streams.speaking === undefined && streams.reconnectWithinMs > 0) {
    // A message that waits for the stream uses memory, so it counts as a request in flight.
    const refusal = session.tooMany(1);
    if (refusal) return { refusal };
    await streams.reconnected();
    // During the wait, the session may have ended or been bound to another principal.
    if (!(await session.admit(caller))) return undefined;
  }
  const own = streams.speaking;
  if (own === undefined) return undefined;
  const [parsed] = post.messages;
  const request = parsed?.kind === "request" ? parsed.message : undefined;
  const handshake = request?.method === "initialize" ? new Handshake(session, caller, request) : undefined;
  const stream = new HttpSseCallStream({
    streams,
    own,
    requests: request ? [request.id] : [],
    onEnd: (text) => handshake?.onAnswer(text),
  });
  const known = { ...caller, ...session.handshake };
  return session.runPost(known, post, { stream, adapt: (context) => handshake?.adapt(context) ?? context });
};

/** Serves `initialize` of a client that already has a session id, with all hooks. Stores the client if it succeeds. */
class Handshake {
  readonly #session: HttpSseSession;
  readonly #caller: Caller;
  readonly #request: JSONRPCRequest;
  #client: ClientFacts | undefined;

  constructor(session: HttpSseSession, caller: Caller, request: JSONRPCRequest) {
    this.#session = session;
    this.#caller = caller;
    this.#request = request;
  }

  /** Returns the context of the handshake's call, in which hooks receive the client that the handshake describes. */
  adapt(context: LegacyContext): LegacyContext {
    const { client } = this.#tryNegotiate(context.registry) ?? context;
    const initialize: Method = { serve: ({ registry }) => this.#initialize(registry) };
    return { ...context, client, methods: { ...context.methods, initialize } };
  }

  /** Stores the client unless the response is an error, from a hook or from the handshake itself. */
  onAnswer(text: string | undefined): void {
    const client = this.#client;
    if (!client || text === undefined || "error" in JSON.parse(text)) return;
    const handshake = {
      versionIndex: client.rules.index,
      capabilityBits: encodeCapabilities(client.capabilities),
      info: client.info && fitInfo(client.info),
    };
    void this.#session.store({ handshake }, this.#caller);
  }

  async #initialize(registry: Registry) {
    if (this.#session.handshake) {
      throw new McpError(ErrorCode.InvalidRequest, "This session is already initialized.", { reason: "initialized" });
    }
    const { client, result } = this.#negotiate(registry);
    this.#client = client;
    if (this.#session.hasNotifications) await this.#session.startNotifications();
    return result;
  }

  #negotiate(registry: Registry) {
    return negotiate(registry, this.#request, { logLevel: true, notifications: this.#session.hasNotifications });
  }

  #tryNegotiate(registry: Registry) {
    try {
      return this.#negotiate(registry);
    } catch {
      // `#initialize` throws this error again, so that it becomes the response to the handshake.
      return undefined;
    }
  }
}
