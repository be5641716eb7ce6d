/**
 * The stored state of a session, except its log: one key in the object's key-value store. Each write is one row, plus one
 * for the alarm that deletes the state when the session id expires.
 *
 * | event | written |
 * | --- | --- |
 * | DELETE | the session has ended |
 * | the id is used in the last part of its validity | the new expiry |
 * | `logging/setLevel`, `resources/subscribe`, a URL elicitation | the notifications that the client wants |
 * | a principal uses an anonymous session for the first time | the hash of the principal |
 *
 * Nothing else is written: a session that was only opened, or whose calls were all answered with JSON, stores nothing.
 *
 * @module
 */

import { decodeCapabilities } from "../../core/protocol/client-capabilities.ts";
import { ClientFacts, type Implementation, type Principal } from "../../core/protocol/client-facts.ts";
import type { LoggingLevel } from "../../core/protocol/logging.ts";
import { VERSIONS } from "../../core/protocol/versions.ts";

/** The caller, read by the Worker from the sealed id and the request. Plain data, since it is sent to the object. */
export interface Caller {
  /** Name of the endpoint. An app that is mounted at several paths may have several. */
  readonly endpoint: string;
  /** Number of the session within its object. 0 if the object has no other session. */
  readonly session: number;
  readonly versionIndex: number;
  readonly capabilityBits: number;
  /** Name and version of the client, truncated to fit. Undefined if unknown. */
  readonly info?: Implementation | undefined;
  readonly principal: Principal | undefined;
  /** Hash of the request's principal. The Worker has compared it with the id, unless the session was opened anonymously. */
  readonly principalHash: string;
  readonly isOpenedAnonymously: boolean;
  /** When the id expires (epoch). The session may have stored a later time. */
  readonly expiresAtMs: number;
}

export interface StoredState {
  readonly isEnded?: boolean;
  /** When the id expires (epoch), if it was renewed. */
  readonly goodUntilMs?: number;
  /** Hash of the principal that an anonymous session was bound to. */
  readonly boundTo?: string;
  /** The level set by `logging/setLevel`. */
  readonly logLevel?: LoggingLevel;
  /** URIs of the subscribed resources. */
  readonly uris?: readonly string[];
  /** Ids of the latest URL elicitations. */
  readonly elicitations?: readonly string[];
  /** The client of an HTTP+SSE session, from its handshake. */
  readonly handshake?: Pick<Caller, "versionIndex" | "capabilityBits" | "info">;
  readonly caller?: Caller;
}

/** The validity of a session id. */
export interface Period {
  /** Milliseconds for which an id is valid when it is created or renewed. */
  readonly lengthMs: number;
  /** An id is renewed when it is used with less than this left, so it is valid for at least this long after its last use. */
  readonly renewBelowMs: number;
  /** Whether opening a stream always renews the id, because the period is short. */
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

  /** Returns the numbers of the sessions of an object that have stored state. */
  static stored(kv: SyncKvStorage): number[] {
    return [...kv.list({ prefix: PREFIX })].map(([key]) => Number(key.slice(PREFIX.length + 1)));
  }

  /** Returns the numbers of the sessions of an object that have stored calls: see replay/durable-calls.ts. */
  static withCalls(kv: SyncKvStorage): Set<number> {
    return new Set([...kv.list({ prefix: "call:" })].map(([key]) => Number(key.split(":")[1])));
  }

  get(): StoredState {
    this.#state ??= this.#kv.get<StoredState>(this.#key) ?? {};
    return this.#state;
  }

  /** Adds to the stored state. The last caller is stored without its principal, for hooks that run without a request. */
  put(state: StoredState, caller: Caller): void {
    this.#state = { ...this.get(), ...state, caller: { ...caller, principal: undefined } };
    this.#kv.put(this.#key, this.#state);
  }

  /** Replaces the stored state, except a renewed expiry. */
  replace(state: StoredState, caller: Caller): void {
    const { goodUntilMs } = this.get();
    this.#state = goodUntilMs === undefined ? {} : { goodUntilMs };
    this.put(state, caller);
  }

  delete(): void {
    this.#state = undefined;
    this.#kv.delete(this.#key);
  }
}

/** Returns the client of a caller. @throws {Error} when the Worker runs a later deploy than the object. */
export function toClient({ versionIndex, capabilityBits, info }: Caller): ClientFacts {
  const rules = VERSIONS[versionIndex];
  if (!rules) throw new Error("This object runs an older deploy without that protocol version.");
  return new ClientFacts(rules, decodeCapabilities(capabilityBits), info);
}
