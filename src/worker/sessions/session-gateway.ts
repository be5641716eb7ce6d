/**
 * The Worker's side of sessions. It seals and opens session ids, and calls the Durable Objects of sessions.
 *
 * Three checks precede the call of an object: the seal of the id, which opens only at the endpoint that created it, the
 * principal, and the tag that the platform puts into object ids. The object checks the expiry, because it may have
 * renewed the id.
 *
 * @module
 */

import { encodeCapabilities } from "../../core/protocol/client-capabilities.ts";
import type { ClientFacts, Principal } from "../../core/protocol/client-facts.ts";
import { checkFunction, describeType, KitError } from "../../core/protocol/errors.ts";
import { envRing } from "../../core/seal/env-keys.ts";
import type { KeyRing } from "../../core/seal/key-ring.ts";
import type { EventStream } from "../../http/event-stream.ts";
import type { Refusal } from "../../http/refusal.ts";
import {
  type FoundSession,
  type PostOutcome,
  type SessionContext,
  type SessionGateway,
  type SessionNotifications,
  type SessionPost,
  SessionsUnavailable,
  type StreamTarget,
} from "../../http/sessions.ts";
import { type ObjectReference, type ObjectStub, RoleObjects } from "../bindings.ts";
import type { KeysOf } from "../services.ts";
import { openBridge } from "./bridge.ts";
import { ATTACH_HEADER, type Attach, encodeAttach } from "./bridge-messages.ts";
import { ANONYMOUS, decodeFacts, encodeFacts, hashCaller, type SessionFacts } from "./session-id.ts";
import type { SessionRpc } from "./session-object.ts";
import { type Caller, type Period, toClient } from "./session-state.ts";

export interface GatewayOptions {
  readonly reference: ObjectReference;
  /** The validity of session ids. */
  readonly period: Period;
  readonly key: SessionKey<unknown> | undefined;
}

/**
 * Returns the key of the Durable Object that several sessions share, as a non-empty string, or undefined to give the
 * session its own object. For any other result, such as a Promise or null, the session is refused with 500 and the
 * mistake is reported to `onError`.
 */
export type SessionKey<Env> = (principal: Principal | undefined, env: Env) => string | undefined;

/** The purpose for which the keys are derived, so that they cannot open anything else. */
const PURPOSE = "session id";

/** The maximum number of cached session ids. Each takes less than a kilobyte. @limit internal */
const KNOWN_MAX = 4096;

/** How long a session counts as new, in milliseconds. */
const NEW_MS = 60_000;

/** The content of an opened session id, and the endpoint for which it is valid. */
interface KnownId {
  readonly endpoint: string;
  readonly facts: SessionFacts;
}

/** Creates and finds sessions in Durable Objects. */
export class DurableSessionGateway implements SessionGateway {
  readonly #options: GatewayOptions;
  readonly #objects: RoleObjects<SessionRpc>;
  readonly #keysOf: KeysOf;
  #known: { readonly ring?: KeyRing; readonly ids: Map<string, KnownId> } = { ids: new Map() };

  /** @param keysOf Provides the keys. By default they come from the secret `MCP_KEYS`. */
  constructor(options: GatewayOptions, keysOf: KeysOf = envRing) {
    checkFunction("sessions(): key", options.key);
    this.#options = options;
    this.#objects = new RoleObjects("session", options.reference);
    this.#keysOf = keysOf;
  }

  async create(client: ClientFacts, { principal, env, endpoint }: SessionContext): Promise<string> {
    // The namespace is looked up before the keys, so that a missing namespace is reported first.
    const namespace = this.#objects.namespace(env);
    const ring = await this.#keys(env);
    const { key, period } = this.#options;
    const name = key && checkName(key(principal, env));
    const id = name === undefined ? namespace.newUniqueId() : namespace.idFromName(`session:${name}`);
    const bytes = encodeFacts({
      objectId: id.toString(),
      session: name === undefined ? 0 : randomNumber(),
      rules: client.rules,
      capabilityBits: encodeCapabilities(client.capabilities),
      principalHash: await hashCaller(principal),
      openedAtMs: Date.now(),
      expiresAtMs: Date.now() + period.lengthMs,
      info: client.info,
    });
    const sealed = await ring.seal(bytes, this.#boundTo(endpoint));
    this.#remember(ring, sealed, bytes, endpoint);
    return sealed;
  }

  async find(id: string, { principal, env, endpoint }: SessionContext): Promise<FoundSession | undefined> {
    const { ring, ids } = this.#known;
    // Opening an id is as expensive as the rest of a call, so its content is cached until the keys change.
    const known = ring === (await this.#keys(env)) ? ids.get(id) : undefined;
    const facts = known?.endpoint === endpoint ? known.facts : await this.#unseal(id, env, endpoint);
    if (!facts) return undefined;
    const principalHash = await hashCaller(principal);
    const isOpenedAnonymously = facts.principalHash === ANONYMOUS;
    if (!isOpenedAnonymously && facts.principalHash !== principalHash) return undefined;
    const { objectId, rules, openedAtMs, ...rest } = facts;
    const caller = { ...rest, endpoint, versionIndex: rules.index, principal, principalHash, isOpenedAnonymously };
    const nowMs = Date.now();
    const isRenewed = rest.expiresAtMs - nowMs < this.#options.period.renewBelowMs;
    const isNew = nowMs - openedAtMs < NEW_MS && !isRenewed && facts.principalHash === principalHash;
    const objects = this.#objects;
    const namespace = objects.namespace(env);
    try {
      const id = namespace.idFromString(objectId);
      return new DurableSession(caller, isNew, objects, () => objects.get(namespace, id));
    } catch {
      // The id belongs to another class or account with the same key, so it is not a session of this server.
      return undefined;
    }
  }

  async #unseal(id: string, env: unknown, endpoint: string): Promise<SessionFacts | undefined> {
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

  /** Returns the string to which the seal binds an id. The class name distinguishes endpoints with the same path. */
  #boundTo(endpoint: string): string {
    return `${this.#options.reference.className} ${endpoint}`;
  }

  async #keys(env: unknown, sealed?: string): Promise<KeyRing> {
    return this.#keysOf(env, PURPOSE, sealed).catch((cause: Error) => {
      throw new SessionsUnavailable(cause.message, { cause });
    });
  }
}

/** A session in its Durable Object. Each request uses a new stub. */
class DurableSession implements FoundSession {
  readonly client: ClientFacts;
  readonly isNew: boolean;
  readonly #caller: Caller;
  readonly #objects: RoleObjects<SessionRpc>;
  readonly #stub: () => ObjectStub;

  constructor(caller: Caller, isNew: boolean, objects: RoleObjects<SessionRpc>, stub: () => ObjectStub) {
    this.client = toClient(caller);
    this.isNew = isNew;
    this.#caller = caller;
    this.#objects = objects;
    this.#stub = stub;
  }

  admit(): Promise<boolean> {
    return this.#objects.call(this.#stub(), "admit", this.#caller);
  }

  /** Sends the POST as a string, which is faster. The principal is separate, since its members may not have a JSON form. */
  async post(post: SessionPost): Promise<PostOutcome | undefined> {
    const { principal, ...caller } = this.#caller;
    const outcome = await this.#objects.call(this.#stub(), "post", JSON.stringify({ caller, post }), principal);
    return typeof outcome === "string" ? { answer: { text: outcome, status: 200 } } : outcome;
  }

  streamTo(
    target: StreamTarget,
    to: EventStream,
    notifications: SessionNotifications | undefined,
  ): Promise<Refusal | undefined> {
    const dial = (target: Attach["target"]) => {
      const headers = { [ATTACH_HEADER]: encodeAttach({ caller: this.#caller, target }) };
      return this.#objects.dial(this.#stub(), headers);
    };
    return openBridge({ target, to, notifications, dial });
  }

  end(): Promise<boolean> {
    return this.#objects.call(this.#stub(), "end", this.#caller);
  }
}

/**
 * Checks the result of the option `key`. A Promise or null, converted to a string, would put the sessions of unrelated
 * principals into one object.
 *
 * @throws {KitError} `options-invalid`.
 */
function checkName(name: unknown): string | undefined {
  if (name === undefined || (typeof name === "string" && name !== "")) return name;
  const what = name === "" ? "an empty string" : describeType(name);
  throw new KitError("options-invalid", `sessions(): key returned ${what}. Return a non-empty string, or undefined.`);
}

/** Returns a random session number of 48 bits. It is not 0, and collisions are improbable. */
function randomNumber(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high >>> 16) * 2 ** 32 + low || 1;
}
