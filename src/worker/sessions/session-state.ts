/**
 * The stored state of a session, except its log. It is the value of one key in the object's key-value store. Each write is
 * one row, plus one row for the alarm that deletes the state when the session id expires.
 *
 * | event | stored data |
 * | --- | --- |
 * | DELETE | that the session has ended |
 * | the id is used in the last part of its validity | the new expiry |
 * | `logging/setLevel`, `resources/subscribe`, a URL elicitation | the notifications that the client wants |
 * | a principal uses an anonymous session for the first time | the hash of the principal |
 *
 * A session that was only opened, or whose calls all had JSON responses, does not store any state.
 *
 * @module
 */

import { decodeCapabilities } from "../../core/protocol/client-capabilities.ts";
import { ClientFacts, type Implementation, type Principal } from "../../core/protocol/client-facts.ts";
import type { LoggingLevel } from "../../core/protocol/logging.ts";
import { VERSIONS } from "../../core/protocol/versions.ts";

/** The caller, as the Worker reads it from the sealed id and the request. Plain data, because it is sent to the object. */
export interface Caller {
  /** Name of the endpoint. An app that is mounted at several paths may have several names. */
  readonly endpoint: string;
  /** Number of the session within its object. 0 if the object has only this session. */
  readonly session: number;
  readonly versionIndex: number;
  readonly capabilityBits: number;
  /** Name and version of the client, truncated to fit into the id. Undefined if they are unknown. */
  readonly info?: Implementation | undefined;
  readonly principal: Principal | undefined;
  /** Hash of the request's principal. The Worker has checked it against the id, unless the session was opened anonymously. */
  readonly principalHash: string;
  readonly isOpenedAnonymously: boolean;
  /** When the id expires, in epoch milliseconds. The session may have stored a later time. */
  readonly expiresAtMs: number;
}

export interface StoredState {
  readonly isEnded?: boolean;
  /** When the id expires, in epoch milliseconds, if it was renewed. */
  readonly goodUntilMs?: number | undefined;
  /** Hash of the principal to which an anonymously opened session is bound. */
  readonly boundTo?: string;
  /** The level set by `logging/setLevel`. */
  readonly logLevel?: LoggingLevel;
  /** URIs of the subscribed resources. */
  readonly uris?: readonly string[];
  /** Ids of the most recent URL elicitations. */
  readonly elicitations?: readonly string[];
  /** The client of an HTTP+SSE session, from its handshake. */
  readonly handshake?: Pick<Caller, "versionIndex" | "capabilityBits" | "info">;
  readonly caller?: Caller;
}

/** How long a session id is valid, and when it is renewed. */
export interface Period {
  /** Validity of an id after it is created or renewed, in milliseconds. */
  readonly lengthMs: number;
  /**
   * The remaining validity, in milliseconds, below which using an id renews it. An id is therefore valid for at least this
   * long after its last use.
   */
  readonly renewBelowMs: number;
  /** Whether opening a stream always renews the id, as with `idleTimeoutMs`. */
  readonly countsStreams: boolean;
}

const PREFIX = "session";

/** The stored state of one session. */
export class SessionState {
  readonly #kv: SyncKvStorage;
  readonly #key: string;
  #state: StoredState | undefined;

  constructor(kv: SyncKvStorage, session: number) {
    this.#kv = kv;
    this.#key = session === 0 ? PREFIX : `${PREFIX}:${session}`;
  }

  /** Returns the numbers of all sessions of an object that have stored state. */
  static stored(kv: SyncKvStorage): number[] {
    return [...kv.list({ prefix: PREFIX })].map(([key]) => Number(key.slice(PREFIX.length + 1)));
  }

  /** Returns the numbers of all sessions of an object that have stored calls: see replay/durable-calls.ts. */
  static withCalls(kv: SyncKvStorage): Set<number> {
    return new Set([...kv.list({ prefix: "call:" })].map(([key]) => Number(key.split(":")[1])));
  }

  get(): StoredState {
    this.#state ??= this.#kv.get<StoredState>(this.#key) ?? {};
    return this.#state;
  }

  /**
   * Merges into the stored state. Stores the caller, without its principal, so that hooks that run outside a request can see
   * it. If the state cannot be stored, the object continues with the stored state.
   *
   * @param before The state to merge into, if it is not the stored state.
   */
  put(state: StoredState, caller: Caller, before: StoredState = this.get()): void {
    const next = { ...before, ...state, caller: { ...caller, principal: undefined } };
    this.#kv.put(this.#key, next);
    this.#state = next;
  }

  delete(): void {
    this.#state = undefined;
    this.#kv.delete(this.#key);
  }
}

/** Returns the client of a caller. @throws {Error} if this object runs an older deploy without its protocol version. */
export function toClient({ versionIndex, capabilityBits, info }: Caller): ClientFacts {
  const rules = VERSIONS[versionIndex];
  if (!rules) throw new Error("This deploy lacks that protocol version.");
  return new ClientFacts(rules, decodeCapabilities(capabilityBits), info);
}
