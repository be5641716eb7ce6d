/**
 * What a session stores beside its log, one key in the object's key-value store. Each write is one row, and one more
 * for the alarm that deletes it.
 *
 * | written when | deleted when |
 * | --- | --- |
 * | DELETE: that it has ended | the time its id is good for ends |
 * | its id is used late in that time: until when it is good now | likewise |
 * | `logging/setLevel`, `resources/subscribe`, a URL elicitation: what the client wants to hear of | likewise |
 * | an anonymous session is first used by a principal: who that is | likewise |
 *
 * Nothing else writes: a session that was only opened, or only answered calls as JSON, leaves nothing behind.
 *
 * @module
 */
import {
  ClientFacts,
  decodeCapabilities,
  type Implementation,
  type Principal,
} from "../../core/protocol/client-facts.ts";
import type { LoggingLevel } from "../../core/protocol/logging.ts";
import { VERSIONS } from "../../core/protocol/versions.ts";

/** Who calls, as the Worker read it from the sealed id and the request. Plain data: it crosses to the object. */
export interface Caller {
  /** Name of the endpoint, of which an app that is mounted at several paths has several. */
  readonly endpoint: string;
  /** Number of the session within its object; 0 where it has the object to itself. */
  readonly session: number;
  readonly versionIndex: number;
  readonly capabilityBits: number;
  /** Name and version of the client, cut to fit; undefined where it is not known. */
  readonly info?: Implementation | undefined;
  readonly principal: Principal | undefined;
  /** Of the request; the Worker has compared it with that of the session unless the session was opened anonymously. */
  readonly principalHash: string;
  readonly isOpenedAnonymously: boolean;
  /** What the id says of the end of its time; the session may know a later one. */
  readonly expiresAtMs: number;
}

export interface StoredState {
  readonly isEnded?: boolean;
  /** Until when the id is good, once that is later than it says itself. */
  readonly goodUntilMs?: number;
  /** The principal an anonymous session came to belong to. */
  readonly boundTo?: string;
  /** What `logging/setLevel` asked for. */
  readonly logLevel?: LoggingLevel;
  /** Resources subscribed to. */
  readonly uris?: readonly string[];
  /** The latest URL elicitations. */
  readonly elicitations?: readonly string[];
  /** Who the client of an HTTP+SSE session is. */
  readonly handshake?: Pick<Caller, "versionIndex" | "capabilityBits" | "info">;
  readonly caller?: Caller;
}

/** How long an id is good for. */
export interface Period {
  /** Milliseconds it is good for when made, and again when renewed. */
  readonly lengthMs: number;
  /** It is renewed when used with less than this left: so long it is good for after its last use, at least. */
  readonly renewBelowMs: number;
  /** Whether each stream has to renew it too, because the period is short. */
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

  /** The sessions of an object that have something stored. */
  static stored(kv: SyncKvStorage): number[] {
    const keys = [...kv.list({ prefix: PREFIX })].map(([key]) => key);
    return keys.map((key) => Number(key.slice(PREFIX.length + 1)));
  }

  /** The sessions of an object that have calls stored: see replay/lasting-calls.ts. */
  static withCalls(kv: SyncKvStorage): Set<number> {
    return new Set([...kv.list({ prefix: "call:" })].map(([key]) => Number(key.split(":")[1])));
  }

  get(): StoredState {
    this.#state ??= this.#kv.get<StoredState>(this.#key) ?? {};
    return this.#state;
  }

  /** Adds to what is stored. Who called last is kept for hooks that run when nobody calls, without a name. */
  put(state: StoredState, caller: Caller): void {
    this.#state = { ...this.get(), ...state, caller: { ...caller, principal: undefined } };
    this.#kv.put(this.#key, this.#state);
  }

  /** Leaves nothing but this. */
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

/** @throws {Error} when the Worker is of a later deploy than the object. */
export function clientOf({ versionIndex, capabilityBits, info }: Caller): ClientFacts {
  const rules = VERSIONS[versionIndex];
  if (!rules) throw new Error("The Worker is of a later deploy than the object.");
  return new ClientFacts(rules, decodeCapabilities(capabilityBits), info);
}
