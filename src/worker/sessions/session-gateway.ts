/**
 * The Worker's side of sessions: seals ids, opens them, and calls the object of the session they name.
 *
 * An id goes through three checks before an object wakes: the seal, which opens only at the endpoint that made it, the
 * principal in it, and the tag that the platform puts into ids of objects. Whether its time is over only the object
 * knows, which may have renewed it.
 *
 * @module
 */
import { type ClientFacts, encodeCapabilities, type Principal } from "../../core/protocol/client-facts.ts";
import { checkFunction, KitError, unfit } from "../../core/protocol/errors.ts";
import { EnvKeys } from "../../core/seal/env-keys.ts";
import type { KeyRing } from "../../core/seal/key-ring.ts";
import type { EventStream } from "../../http/event-stream.ts";
import type { Refusal } from "../../http/refusal.ts";
import {
  type FoundSession,
  type PostOutcome,
  type SessionGate,
  type SessionNotices,
  type SessionPlace,
  type SessionPost,
  SessionsUnavailable,
  type StreamTarget,
} from "../../http/sessions.ts";
import { type ObjectNamespace, type ObjectPlace, type ObjectStub, RoleObjects } from "../bindings.ts";
import type { KeysOf } from "../parts.ts";
import { openBridge } from "./bridge.ts";
import { ATTACH_HEADER, type Attach, encodeAttach } from "./bridge-messages.ts";
import { ANONYMOUS, decodeFacts, encodeFacts, hashPrincipal, type SessionFacts } from "./session-id.ts";
import type { SessionRpc } from "./session-object.ts";
import { type Caller, clientOf } from "./session-state.ts";

export interface GateOptions<Env> {
  readonly place: ObjectPlace;
  /** Milliseconds a session id is good for when made. */
  readonly lengthMs: number;
  readonly key: SessionKey<Env> | undefined;
}

/**
 * Names what the sessions of one object have in common, as a non-empty string; undefined: this one has an object to
 * itself. Anything else, such as a Promise or null, refuses the session with 500 and is reported to `onError`.
 */
export type SessionKey<Env> = (principal: Principal | undefined, env: Env) => string | undefined;

/** Keys of this purpose open nothing else. */
const PURPOSE = "session id";

/** Ids whose facts are remembered: less than a kilobyte each. */
const KNOWN_MAX = 4096;

/** An id that was opened, and the one endpoint it is good at. */
interface KnownId {
  readonly endpoint: string;
  readonly facts: SessionFacts;
}

/** Sessions on Durable Objects. */
export class DurableGate<Env> implements SessionGate<Env> {
  readonly #options: GateOptions<Env>;
  readonly #objects: RoleObjects<SessionRpc>;
  readonly #env = new EnvKeys(PURPOSE, "Sessions need");
  readonly #keysOf: KeysOf | undefined;
  #known: { readonly ring?: KeyRing; readonly ids: Map<string, KnownId> } = { ids: new Map() };

  /** @param keysOf Where keys come from; undefined: the secret. */
  constructor(options: GateOptions<Env>, keysOf: KeysOf | undefined) {
    checkFunction("sessions(): key", options.key);
    this.#options = options;
    this.#objects = new RoleObjects("session", options.place);
    this.#keysOf = keysOf;
  }

  async open(client: ClientFacts, { principal, env, endpoint }: SessionPlace<Env>): Promise<string> {
    // First: without a binding there is no use for keys, and the message names what is missing.
    const namespace = this.#namespace(env);
    const ring = await this.#keys(env);
    const { key, lengthMs } = this.#options;
    const name = key && checkName(key(principal, env));
    const id = name === undefined ? namespace.newUniqueId() : namespace.idFromName(`session:${name}`);
    const bytes = encodeFacts({
      objectId: id.toString(),
      session: name === undefined ? 0 : randomNumber(),
      rules: client.rules,
      capabilityBits: encodeCapabilities(client.capabilities),
      principalHash: await hashPrincipal(principal),
      openedAtMs: Date.now(),
      expiresAtMs: Date.now() + lengthMs,
      info: client.info,
    });
    const sealed = await ring.seal(bytes, this.#boundTo(endpoint));
    this.#remember(ring, sealed, bytes, endpoint);
    return sealed;
  }

  async find(id: string, { principal, env, endpoint }: SessionPlace<Env>): Promise<FoundSession | undefined> {
    const { ring, ids } = this.#known;
    // Opening an id costs as much as the rest of a call: what it said is known as long as its keys are.
    const known = ring === (await this.#keys(env)) ? ids.get(id) : undefined;
    const facts = known?.endpoint === endpoint ? known.facts : await this.#open(id, env, endpoint);
    if (!facts) return undefined;
    const principalHash = await hashPrincipal(principal);
    const isOpenedAnonymously = facts.principalHash === ANONYMOUS;
    if (!isOpenedAnonymously && facts.principalHash !== principalHash) return undefined;
    const { objectId, rules, openedAtMs: _, ...rest } = facts;
    const versionIndex = rules.index;
    const caller = { ...rest, endpoint, versionIndex, principal, principalHash, isOpenedAnonymously };
    return this.#session(objectId, caller, env);
  }

  async #open(id: string, env: Env, endpoint: string): Promise<SessionFacts | undefined> {
    const ring = await this.#keys(env, id);
    const bytes = await ring.open(id, this.#boundTo(endpoint));
    return bytes && this.#remember(ring, id, bytes, endpoint);
  }

  #remember(ring: KeyRing, id: string, bytes: Uint8Array, endpoint: string): SessionFacts | undefined {
    const facts = decodeFacts(bytes);
    if (this.#known.ring !== ring || this.#known.ids.size >= KNOWN_MAX) this.#known = { ring, ids: new Map() };
    if (facts) this.#known.ids.set(id, { endpoint, facts });
    return facts;
  }

  /** What an id is sealed with, without containing it: the class tells endpoints apart whose paths are the same. */
  #boundTo(endpoint: string): string {
    return `${this.#options.place.className} ${endpoint}`;
  }

  #session(objectId: string, caller: Caller, env: Env): FoundSession | undefined {
    const namespace = this.#namespace(env);
    const objects = this.#objects;
    try {
      const id = namespace.idFromString(objectId);
      return new DurableSession(caller, objects, () => objects.get(namespace, id));
    } catch {
      // An id of another class or account, sealed with a shared key: not a session of this server.
      return undefined;
    }
  }

  async #keys(env: Env, sealed?: string): Promise<KeyRing> {
    const ring = this.#keysOf ? this.#keysOf(env, PURPOSE, sealed) : this.#env.ring(env);
    return ring.catch((error: unknown) => {
      throw unavailable(error);
    });
  }

  #namespace(env: Env): ObjectNamespace {
    try {
      return this.#objects.namespace(env);
    } catch (error) {
      throw unavailable(error);
    }
  }
}

/** A session in its object. A stub is good for one request to it, and made for each. */
class DurableSession implements FoundSession {
  readonly client: ClientFacts;
  readonly #caller: Caller;
  readonly #objects: RoleObjects<SessionRpc>;
  readonly #stub: () => ObjectStub;

  constructor(caller: Caller, objects: RoleObjects<SessionRpc>, stub: () => ObjectStub) {
    this.client = clientOf(caller);
    this.#caller = caller;
    this.#objects = objects;
    this.#stub = stub;
  }

  admit(): Promise<boolean> {
    return this.#objects.call(this.#stub(), "admit", this.#caller);
  }

  /** As text, which crosses faster than objects do; but what a principal is made of is its author's affair. */
  async post(post: SessionPost): Promise<PostOutcome | undefined> {
    const { principal, ...caller } = this.#caller;
    const outcome = await this.#objects.call(this.#stub(), "post", JSON.stringify({ caller, post }), principal);
    return typeof outcome === "string" ? { answer: { text: outcome, status: 200 } } : outcome;
  }

  streamTo(target: StreamTarget, to: EventStream, notices: SessionNotices | undefined): Promise<Refusal | undefined> {
    const dial = (target: Attach["target"]) => {
      const headers = { [ATTACH_HEADER]: encodeAttach({ caller: this.#caller, target }) };
      return this.#objects.dial(this.#stub(), headers);
    };
    return openBridge({ target, to, notices, dial });
  }

  end(): Promise<boolean> {
    return this.#objects.call(this.#stub(), "end", this.#caller);
  }
}

/** @throws {KitError} `options-invalid`: made into text, a Promise or null would put strangers into one object. */
function checkName(name: unknown): string | undefined {
  if (name === undefined || (typeof name === "string" && name !== "")) return name;
  const what = name === "" ? "an empty string" : unfit(name);
  throw new KitError("options-invalid", `sessions(): key returned ${what}. Return a non-empty string, or undefined.`);
}

/** Unlike 0, and unlike every other session of its object: 48 bits. */
function randomNumber(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high >>> 16) * 2 ** 32 + low || 1;
}

function unavailable(cause: unknown): SessionsUnavailable {
  return new SessionsUnavailable(cause instanceof Error ? cause.message : "Sessions are not available.", { cause });
}
