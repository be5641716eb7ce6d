/**
 * The object of one legacy session. It alone knows whether the session was ended, and runs the session's handlers,
 * because a disconnect is not a cancellation in the legacy era.
 *
 * Stored, in the object's key-value store: one key, `session`.
 *
 * | written when | rows | deleted when |
 * | --- | --- | --- |
 * | DELETE: that it has ended | 1, and 1 for the alarm | the trust period in the id ends |
 * | `logging/setLevel`: the level, which lives as long as the session | 1, and 1 for the alarm | likewise |
 * | an anonymous session is first used by a principal: who that is | 1, and 1 for the alarm | likewise |
 *
 * Nothing else writes: a session that was only opened, or only answered calls as JSON, leaves nothing behind.
 * What can be lost: requests that run when the object is reset; their client gets a transport error.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import { createAsker, PendingQuestions } from "../../core/asking.ts";
import { ClientFacts, decodeCapabilities, type Principal } from "../../core/client-facts.ts";
import { CancelledError } from "../../core/errors.ts";
import type { JSONRPCNotification, RequestId } from "../../core/jsonrpc.ts";
import type { LoggingLevel } from "../../core/logging.ts";
import { VERSIONS } from "../../core/versions.ts";
import { serveLegacy } from "../../http/legacy.ts";
import type { SessionPost } from "../../http/sessions.ts";
import type { EdgeRuntime } from "../edge.ts";
import { ANONYMOUS } from "./session-id.ts";

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
}

const KEY = "session";

/** The methods the Worker calls. */
export interface SessionRpc {
  admit(caller: Caller): Promise<boolean>;
  post(caller: Caller, post: SessionPost): Promise<Response | undefined>;
  end(caller: Caller): Promise<boolean>;
}

/** The object class, less what it serves; `durable()` makes the class to export. */
export class SessionObject<Env> extends DurableObject<Env> implements SessionRpc {
  readonly #runtime: EdgeRuntime<Env>;
  /** What runs, so that a cancellation finds it. A client may reuse an id after its answer, so each has a set. */
  readonly #inFlight = new Map<RequestId, Set<AbortController>>();
  /** Questions wait in memory: one that is open when the object is reset ends with its request. */
  readonly #questions = new PendingQuestions();
  #state: StoredState | undefined;

  constructor(ctx: DurableObjectState, env: Env, runtime: EdgeRuntime<Env>) {
    super(ctx, env);
    this.#runtime = runtime;
  }

  // RPC

  async admit(caller: Caller): Promise<boolean> {
    return this.#admit(caller);
  }

  async post(caller: Caller, { messages, isBatch, form }: SessionPost): Promise<Response | undefined> {
    if (!(await this.#admit(caller))) return undefined;
    const rules = VERSIONS[caller.versionIndex];
    if (!rules)
      throw new Error("The Worker knows a protocol version that this object does not: a deploy is under way.");
    const { server, limits, onError } = this.#runtime;
    const client = new ClientFacts(rules, decodeCapabilities(caller.capabilityBits));
    return serveLegacy(messages, isBatch, {
      server,
      limits,
      onError,
      form,
      env: this.env,
      principal: caller.principal,
      client,
      logging: { level: this.#state?.logLevel, set: (logLevel) => this.#store({ logLevel }, caller) },
      questions: {
        asker: (emit) => createAsker(this.#questions, { client, emit, limits }),
        settle: (response) => this.#questions.settle(response),
      },
      onNotification: (message) => this.#cancel(message),
      register: (id, cancellation) => this.#register(id, cancellation),
    });
  }

  async end(caller: Caller): Promise<boolean> {
    if (!(await this.#admit(caller))) return false;
    await this.#store({ isEnded: true }, caller);
    for (const running of this.#inFlight.values()) {
      for (const cancellation of running) cancellation.abort(new Error("The session was ended."));
    }
    return true;
  }

  // Runtime

  /** The trust period is over: the id is refused before it gets here, so nothing need be remembered. */
  override async alarm(): Promise<void> {
    this.#state = undefined;
    await this.ctx.storage.deleteAll();
  }

  // Within

  /** Whether the session lives and belongs to the caller. Binds a session opened anonymously to its first principal. */
  async #admit(caller: Caller): Promise<boolean> {
    this.#state ??= this.ctx.storage.kv.get<StoredState>(KEY) ?? {};
    const { isEnded, boundTo } = this.#state;
    if (isEnded) return false;
    if (!caller.isOpenedAnonymously) return true;
    if (boundTo !== undefined) return boundTo === caller.principalHash;
    if (caller.principalHash !== ANONYMOUS) await this.#store({ boundTo: caller.principalHash }, caller);
    return true;
  }

  async #store(state: StoredState, caller: Caller): Promise<void> {
    this.#state = { ...this.#state, ...state };
    this.ctx.storage.kv.put(KEY, this.#state);
    await this.ctx.storage.setAlarm(caller.expiresAtMs);
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
