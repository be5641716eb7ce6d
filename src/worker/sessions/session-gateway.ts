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
import { answered, explained, namespaceOf } from "../bindings.ts";
import type { KeysOf } from "../edge.ts";
import { openBridge } from "./bridge.ts";
import { ATTACH_HEADER, type Attach, encodeAttach, SESSION_URL } from "./bridge-messages.ts";
import { ANONYMOUS, decodeFacts, encodeFacts, hashPrincipal, type SessionFacts } from "./session-id.ts";
import type { SessionRpc } from "./session-object.ts";
import { type Caller, clientOf } from "./session-state.ts";

export interface GateOptions<Env> {
  /** Name of the Durable Object binding. */
  readonly binding: string;
  /** Milliseconds a session id is good for when made. */
  readonly lengthMs: number;
  readonly jurisdiction: DurableObjectJurisdiction | undefined;
  readonly locationHint: DurableObjectLocationHint | undefined;
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

type SessionNamespace = DurableObjectNamespace<Rpc.DurableObjectBranded & SessionRpc>;

/** Sessions on Durable Objects. */
export class DurableGate<Env> implements SessionGate<Env> {
  readonly #options: GateOptions<Env>;
  readonly #env = new EnvKeys(PURPOSE, "Sessions need");
  readonly #keysOf: KeysOf | undefined;
  #known: { readonly ring?: KeyRing; readonly ids: Map<string, KnownId> } = { ids: new Map() };

  /** @param keysOf Where keys come from; undefined: the secret. */
  constructor(options: GateOptions<Env>, keysOf: KeysOf | undefined) {
    checkFunction("durable(): key", options.key);
    this.#options = options;
    this.#keysOf = keysOf;
  }

  async open(client: ClientFacts, { principal, env, endpoint }: SessionPlace<Env>): Promise<string> {
    // First: without a binding there is no use for keys, and the message names what is missing.
    const namespace = this.#namespace(env);
    const ring = await this.#keys(env);
    const { key, lengthMs } = this.#options;
    const name = key && checkName(key(principal, env));
    const id = name === undefined ? namespace.newUniqueId() : namespace.idFromName(`key ${name}`);
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
    const { binding } = this.#options;
    const versionIndex = rules.index;
    const caller = { ...rest, binding, endpoint, versionIndex, principal, principalHash, isOpenedAnonymously };
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

  /** What an id is sealed with, without containing it: the binding tells endpoints apart whose paths are the same. */
  #boundTo(endpoint: string): string {
    return `${this.#options.binding} ${endpoint}`;
  }

  #session(objectId: string, caller: Caller, env: Env): FoundSession | undefined {
    const namespace = this.#namespace(env);
    const { locationHint } = this.#options;
    try {
      const id = namespace.idFromString(objectId);
      return new DurableSession(caller, () => namespace.get(id, locationHint && { locationHint }));
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

  #namespace(env: Env): SessionNamespace {
    const { binding, jurisdiction } = this.#options;
    try {
      return namespaceOf(env, binding, "sessions", jurisdiction);
    } catch (error) {
      throw unavailable(error);
    }
  }
}

/** A session in its object. A stub is good for one request to it, and made for each. */
class DurableSession implements FoundSession {
  readonly client: ClientFacts;
  readonly #caller: Caller;
  readonly #stub: () => ReturnType<SessionNamespace["get"]>;

  constructor(caller: Caller, stub: () => ReturnType<SessionNamespace["get"]>) {
    this.client = clientOf(caller);
    this.#caller = caller;
    this.#stub = stub;
  }

  admit(): Promise<boolean> {
    return this.#answered(this.#stub().admit(this.#caller));
  }

  /** As text, which crosses faster than objects do; but what a principal is made of is its author's affair. */
  async post(post: SessionPost): Promise<PostOutcome | undefined> {
    const { principal, ...caller } = this.#caller;
    try {
      const outcome = await this.#stub().post(JSON.stringify({ caller, post }), principal);
      if (typeof outcome === "string") return { answer: { text: outcome, status: 200 } };
      // A plain object on its way back is a copy of its own; nothing of it needs disposing.
      return outcome as PostOutcome | undefined;
    } catch (error) {
      throw explained(error, "sessions", caller.binding);
    }
  }

  streamTo(target: StreamTarget, to: EventStream, notices: SessionNotices | undefined): Promise<Refusal | undefined> {
    const dial = (target: Attach["target"]) => {
      const headers = { Upgrade: "websocket", [ATTACH_HEADER]: encodeAttach({ caller: this.#caller, target }) };
      return this.#answered(this.#stub().fetch(SESSION_URL, { headers }));
    };
    return openBridge({ target, to, notices, dial });
  }

  end(): Promise<boolean> {
    return this.#answered(this.#stub().end(this.#caller));
  }

  #answered<T>(answer: Promise<T>): Promise<T> {
    return answered("sessions", this.#caller.binding, answer);
  }
}

/** @throws {KitError} `options-invalid`: made into text, a Promise or null would put strangers into one object. */
function checkName(name: unknown): string | undefined {
  if (name === undefined || (typeof name === "string" && name !== "")) return name;
  const what = name === "" ? "an empty string" : unfit(name);
  throw new KitError("options-invalid", `durable(): key returned ${what}. Return a non-empty string, or undefined.`);
}

/** Unlike 0, and unlike every other session of its object: 48 bits. */
function randomNumber(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high >>> 16) * 2 ** 32 + low || 1;
}

function unavailable(cause: unknown): SessionsUnavailable {
  return new SessionsUnavailable(cause instanceof Error ? cause.message : "Sessions are not available.", { cause });
}
