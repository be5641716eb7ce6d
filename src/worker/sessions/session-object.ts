/**
 * The object of one legacy session. It alone knows whether the session was ended, and runs the session's handlers,
 * because a disconnect is not a cancellation in the legacy era.
 *
 * Stored, in the object's key-value store, one key, `session`:
 *
 * | written when | rows | deleted when |
 * | --- | --- | --- |
 * | DELETE: that it has ended | 1, and 1 for the alarm | the trust period in the id ends |
 * | `logging/setLevel`, `resources/subscribe`, a URL elicitation: what the client wants to hear of | 1, and 1 for the alarm | likewise |
 * | an anonymous session is first used by a principal: who that is | 1, and 1 for the alarm | likewise |
 *
 * And in SQLite, when something is said on a stream: see event-log.ts. It is collected some minutes after the last word.
 *
 * Nothing else writes: a session that was only opened, or only answered calls as JSON, leaves nothing behind.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import { askNobody } from "../../core/asker.ts";
import { createAsker, PendingQuestions } from "../../core/asking.ts";
import { ClientFacts, decodeCapabilities, encodeCapabilities, type Principal } from "../../core/client-facts.ts";
import type { Call } from "../../core/context.ts";
import { CancelledError, McpError, toErrorObject } from "../../core/errors.ts";
import {
  ErrorCode,
  encodeError,
  encodeResult,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type ParsedMessage,
  type RequestId,
} from "../../core/jsonrpc.ts";
import { negotiate } from "../../core/lifecycle.ts";
import type { LoggingLevel } from "../../core/logging.ts";
import type { NoticeFilter } from "../../core/notices.ts";
import { tellRootsChanged } from "../../core/roots.ts";
import type { McpServer } from "../../core/server.ts";
import { elicitationIdOf, releaseUris, subscribeMethods } from "../../core/subscriptions.ts";
import { VERSIONS } from "../../core/versions.ts";
import { type LegacyContext, runLegacy, takeAll } from "../../http/legacy.ts";
import { untilStreaming } from "../../http/respond.ts";
import type { PlainRequest, PostOutcome, SessionPost } from "../../http/sessions.ts";
import { type EdgeRuntime, factsOf } from "../edge.ts";
import { ATTACH_HEADER, decodeAttach } from "./bridge-messages.ts";
import type { LoggedStream } from "./logged-stream.ts";
import { ANONYMOUS } from "./session-id.ts";
import { SessionStreams } from "./session-streams.ts";

/** Who calls, as the Worker read it from the sealed id and the request. Plain data: it crosses to the object. */
export interface Caller {
  readonly versionIndex: number;
  readonly capabilityBits: number;
  readonly principal: Principal | undefined;
  /** Of the request; the Worker has compared it with that of the session unless the session was opened anonymously. */
  readonly principalHash: string;
  readonly isOpenedAnonymously: boolean;
  /** End of the trust period: nothing stored outlives it. */
  readonly expiresAtMs: number;
}

interface StoredState {
  readonly isEnded?: boolean;
  /** The principal an anonymous session came to belong to. */
  readonly boundTo?: string;
  /** What `logging/setLevel` asked for. */
  readonly logLevel?: LoggingLevel;
  /** Resources subscribed to. */
  readonly uris?: readonly string[];
  /** The latest URL elicitations. */
  readonly elicitations?: readonly string[];
  /** Who the client of an HTTP+SSE session is. */
  readonly handshake?: Pick<Caller, "versionIndex" | "capabilityBits">;
  readonly caller?: Caller;
}

const KEY = "session";
/** URL elicitations whose end a client is told: who started more than this has forgotten the first. */
const ELICITATIONS_MAX = 32;

/** The methods the Worker calls. */
export interface SessionRpc {
  admit(caller: Caller): Promise<boolean>;
  post(caller: Caller, post: SessionPost): Promise<PostOutcome | undefined>;
  deliver(caller: Caller, message: ParsedMessage, request: PlainRequest | undefined): Promise<boolean>;
  end(caller: Caller): Promise<boolean>;
}

export interface SessionObjectOptions {
  /** Milliseconds a stream can be resumed after the last word on it. */
  readonly resumeMs: number;
}

/** The object class, less what it serves; `durable()` makes the class to export. */
export class SessionObject<Env> extends DurableObject<Env> implements SessionRpc {
  readonly #runtime: EdgeRuntime<Env>;
  readonly #options: SessionObjectOptions;
  /** What runs, so that a cancellation finds it. A client may reuse an id after its answer, so each has a set. */
  readonly #inFlight = new Map<RequestId, Set<AbortController>>();
  /** Questions wait in memory: one that is open when the object is reset ends with its request. */
  readonly #questions = new PendingQuestions();
  readonly #streams: SessionStreams;
  #state: StoredState | undefined;
  #alarmAtMs: number | undefined;

  constructor(ctx: DurableObjectState, env: Env, runtime: EdgeRuntime<Env>, options: SessionObjectOptions) {
    super(ctx, env);
    this.#runtime = runtime;
    this.#options = options;
    this.#streams = new SessionStreams(ctx, () => void this.#wakeAt(Date.now() + options.resumeMs));
  }

  // RPC

  async admit(caller: Caller): Promise<boolean> {
    return this.#admit(caller);
  }

  async post(caller: Caller, post: SessionPost): Promise<PostOutcome | undefined> {
    if (!(await this.#admit(caller))) return undefined;
    const { messages, isBatch, form } = post;
    const { limits } = this.#runtime;
    const stream = this.#streams.forCall(requestIds(messages));
    const context = await this.#context(caller, post, stream);
    if (takeAll(messages, context)) {
      this.#streams.settle(stream);
      return { answer: { text: undefined, status: 202 } };
    }
    const begun = new Promise<void>((resolve) => {
      stream.onBegin = resolve;
    });
    const running = runLegacy(
      messages,
      isBatch,
      context,
    )((message) => {
      if (form === "json") return;
      this.#watch(message, caller);
      stream.write(JSON.stringify(message));
    });
    const finished = await untilStreaming(running, begun, { form, limits });
    if (finished) {
      this.#streams.settle(stream);
      return { answer: finished };
    }
    stream.begin();
    const ended = running.then(({ text }) => {
      stream.end(text);
      this.#streams.settle(stream);
    });
    this.ctx.waitUntil(ended);
    return { stream: stream.id };
  }

  /** HTTP+SSE: who the client is comes with its handshake, and every answer goes to its stream. */
  async deliver(caller: Caller, parsed: ParsedMessage, request: PlainRequest | undefined): Promise<boolean> {
    if (!(await this.#admit(caller)) || !this.#streams.hasOwn) return false;
    const known = { ...caller, ...this.#load().handshake };
    const post: SessionPost = { messages: [parsed], isBatch: false, form: "sse", request };
    const context = await this.#context(known, post);
    if (takeAll(post.messages, context)) return true;
    const handshake = parsed.kind === "request" && parsed.message.method === "initialize" ? parsed.message : undefined;
    const work = handshake
      ? this.#introduce(handshake, context.server, caller)
      : runLegacy(
          post.messages,
          false,
          context,
        )((message) => {
          this.#watch(message, caller);
          this.#streams.say(JSON.stringify(message));
        });
    this.ctx.waitUntil(work.then(({ text }) => text !== undefined && this.#streams.say(text)));
    return true;
  }

  async end(caller: Caller): Promise<boolean> {
    if (!(await this.#admit(caller))) return false;
    const { uris = [] } = this.#state ?? {};
    this.#state = { isEnded: true };
    await this.#store({}, caller);
    for (const running of this.#inFlight.values()) {
      for (const cancellation of running) cancellation.abort(new Error("The session was ended."));
    }
    this.#streams.end();
    this.ctx.waitUntil(this.#release(uris, caller));
    return true;
  }

  // Sockets

  /** The Worker asks for a socket that carries a stream. */
  override async fetch(request: Request): Promise<Response> {
    const { caller, target } = decodeAttach(request.headers.get(ATTACH_HEADER) ?? "");
    if (!(await this.#admit(caller))) return new Response(null, { status: 404 });
    return this.#streams.attach(target, clientOf(caller).rules, this.#filter());
  }

  override async webSocketMessage(_: WebSocket, message: string | ArrayBuffer): Promise<void> {
    this.#streams.heard(String(message));
  }

  override async webSocketClose(socket: WebSocket): Promise<void> {
    await this.#streams.left(socket, this.#filter());
  }

  // Runtime

  /** Collects what is old. When the trust period is over the id is refused before it gets here: all can be forgotten. */
  override async alarm(): Promise<void> {
    this.#alarmAtMs = undefined;
    const { caller, uris = [] } = this.#load();
    if (caller && caller.expiresAtMs <= Date.now()) {
      await this.#release(uris, { ...caller, principal: undefined });
      return this.#forget();
    }
    const { resumeMs } = this.#options;
    const isAnyLeft = this.#streams.collect(Date.now() - resumeMs);
    if (isAnyLeft) await this.#wakeAt(Date.now() + resumeMs);
    else if (caller) await this.#wakeAt(caller.expiresAtMs);
    else await this.#forget();
  }

  // Within

  async #forget(): Promise<void> {
    this.#state = undefined;
    await this.ctx.storage.deleteAll();
    this.#streams.reset();
  }

  #load(): StoredState {
    this.#state ??= this.ctx.storage.kv.get<StoredState>(KEY) ?? {};
    return this.#state;
  }

  /** Whether the session lives and belongs to the caller. Binds a session opened anonymously to its first principal. */
  async #admit(caller: Caller): Promise<boolean> {
    const { isEnded, boundTo } = this.#load();
    if (isEnded) return false;
    if (!caller.isOpenedAnonymously) return true;
    if (boundTo !== undefined) return boundTo === caller.principalHash;
    if (caller.principalHash !== ANONYMOUS) await this.#store({ boundTo: caller.principalHash }, caller);
    return true;
  }

  async #store(state: StoredState, caller: Caller): Promise<void> {
    // Who it is matters to hooks that run when nobody calls; who calls now is not stored.
    this.#state = { ...this.#state, ...state, caller: { ...caller, principal: undefined } };
    this.ctx.storage.kv.put(KEY, this.#state);
    await this.#wakeAt(caller.expiresAtMs);
  }

  /** One alarm, at the earliest time anything is due. Each setting is a row, so a later time does not move it. */
  async #wakeAt(atMs: number): Promise<void> {
    this.#alarmAtMs ??= (await this.ctx.storage.getAlarm()) ?? Number.POSITIVE_INFINITY;
    if (this.#alarmAtMs <= atMs) return;
    this.#alarmAtMs = atMs;
    await this.ctx.storage.setAlarm(atMs);
  }

  /** Answers the handshake of a client whose session id was made before it. */
  async #introduce(request: JSONRPCRequest, server: McpServer<Env>, caller: Caller): Promise<{ text: string }> {
    try {
      if (this.#load().handshake) {
        throw new McpError(ErrorCode.InvalidRequest, "This session is initialized already.", { reason: "initialized" });
      }
      const keeps = { logLevel: true, notices: this.#runtime.hasNotices };
      const { client, result } = negotiate(server as unknown as McpServer<never>, request, keeps);
      const handshake = {
        versionIndex: client.rules.index,
        capabilityBits: encodeCapabilities(client.capabilities),
      };
      await this.#store({ handshake }, caller);
      return { text: encodeResult(request.id, result) };
    } catch (error) {
      if (!McpError.is(error)) throw error;
      return { text: encodeError(request.id, toErrorObject(error)) };
    }
  }

  async #context(caller: Caller, post: SessionPost, stream?: LoggedStream): Promise<LegacyContext<Env>> {
    const { limits, onError, hasNotices } = this.#runtime;
    const client = clientOf(caller);
    const { principal } = caller;
    const uris = {
      read: () => this.#load().uris ?? [],
      keep: (kept: readonly string[]) => this.#want({ uris: kept }, caller),
    };
    const server = await this.#runtime.serverFor(post.request, this.env, principal);
    return {
      server,
      limits,
      onError,
      form: post.form,
      env: this.env,
      request: post.request && factsOf(post.request),
      principal,
      client,
      methods: hasNotices ? subscribeMethods(uris) : undefined,
      logging: { level: this.#load().logLevel, set: (logLevel) => this.#want({ logLevel }, caller) },
      questions: {
        asker: (emit) => createAsker(this.#questions, { client, emit, limits }),
        settle: (response) => this.#questions.settle(response),
      },
      // Only these clients know how to come back.
      disconnect: stream && client.rules.primingEvent ? (retryMs) => stream.disconnect(retryMs) : undefined,
      onNotification: (message) => {
        this.#cancel(message);
        tellRootsChanged(server, message, () => this.#callOfNotification(caller, client, post));
      },
      register: (id, cancellation) => this.#register(id, cancellation),
    };
  }

  /** What a handler of a notification may do: it has no stream of its own, so it speaks on a GET stream. */
  #callOfNotification({ principal }: Caller, client: ClientFacts, post: SessionPost): Call<Env> {
    const { limits, onError } = this.#runtime;
    const emit: Call<Env>["emit"] = (message) => this.#streams.say(JSON.stringify(message));
    const asker = this.#streams.hasOwn
      ? createAsker(this.#questions, { client, emit, limits })
      : askNobody("the client has no GET stream open, and a notification has none of its own");
    const { signal } = new AbortController();
    const { env } = this;
    const request = post.request && factsOf(post.request);
    const { logLevel } = this.#load();
    return { client, env, principal, request, limits, signal, logLevel, emit, asker, onError };
  }

  #filter(): NoticeFilter {
    const { uris = [], elicitations = [], logLevel } = this.#load();
    return { lists: ["tools", "prompts", "resources"], uris, elicitations, logLevel };
  }

  /** Stores what the client wants to hear of. Resolves once it will. */
  async #want(state: StoredState, caller: Caller): Promise<void> {
    await this.#store(state, caller);
    await this.#streams.tell(this.#filter());
  }

  /** Remembers a URL elicitation, so that its client hears of its end. */
  #watch(message: Parameters<Call<Env>["emit"]>[0], caller: Caller): void {
    const id = this.#runtime.hasNotices ? elicitationIdOf(message) : undefined;
    if (id === undefined) return;
    const elicitations = [...(this.#load().elicitations ?? []), id].slice(-ELICITATIONS_MAX);
    this.ctx.waitUntil(this.#want({ elicitations }, caller));
  }

  /** Tells `onUnsubscribe` that nobody of this session watches any more. */
  async #release(uris: readonly string[], caller: Caller): Promise<void> {
    if (uris.length === 0) return;
    const { onError } = this.#runtime;
    const server = await this.#runtime.serverFor(undefined, this.env, caller.principal);
    const place = {
      env: this.env as never,
      principal: caller.principal,
      client: clientOf(caller),
      signal: new AbortController().signal,
    };
    await releaseUris(server as unknown as McpServer<never>, uris, place, onError);
  }

  #register(id: RequestId, cancellation: AbortController): () => void {
    const running = this.#inFlight.get(id) ?? new Set();
    this.#inFlight.set(id, running.add(cancellation));
    return () => {
      running.delete(cancellation);
      if (running.size === 0) this.#inFlight.delete(id);
    };
  }

  #cancel({ method, params }: JSONRPCNotification): void {
    if (method !== "notifications/cancelled") return;
    for (const cancellation of this.#inFlight.get(params?.requestId as RequestId) ?? []) {
      cancellation.abort(new CancelledError(params?.reason));
    }
  }
}

function clientOf({ versionIndex, capabilityBits }: Caller): ClientFacts {
  const rules = VERSIONS[versionIndex];
  if (!rules) throw new Error("The Worker knows a protocol version that this object does not: a deploy is under way.");
  return new ClientFacts(rules, decodeCapabilities(capabilityBits));
}

function requestIds(messages: readonly ParsedMessage[]): RequestId[] {
  return messages.flatMap((parsed) => (parsed.kind === "request" ? [parsed.message.id] : []));
}
