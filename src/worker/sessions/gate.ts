/**
 * The Worker's side of sessions: seals ids, opens them, and calls the object of the session they name.
 *
 * An id goes through three checks before an object wakes: the seal, the trust period and principal in it, and the tag
 * that the platform puts into ids of objects.
 *
 * @module
 */
import { ClientFacts, decodeCapabilities, encodeCapabilities, type Principal } from "../../core/client-facts.ts";
import { KitError } from "../../core/errors.ts";
import { type FoundSession, type SessionGate, SessionsUnavailable } from "../../http/sessions.ts";
import { KEYS_VARIABLE, KeyRing } from "../keys.ts";
import { ANONYMOUS, decodeFacts, encodeFacts, hashPrincipal, type SessionFacts } from "./session-id.ts";
import type { Caller, SessionRpc } from "./session-object.ts";

export interface GateOptions {
  /** Name of the Durable Object binding. */
  readonly binding: string;
  /** Milliseconds a session id is good for. */
  readonly trustMs: number;
}

type SessionNamespace = DurableObjectNamespace<Rpc.DurableObjectBranded & SessionRpc>;

/** Sessions on Durable Objects. */
export class DurableGate<Env> implements SessionGate<Env> {
  readonly #options: GateOptions;
  /** The key ring of the last list seen: deriving keys is dearer than a call. */
  #ring: { readonly list: string; readonly ring: Promise<KeyRing> } | undefined;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  async open(client: ClientFacts, principal: Principal | undefined, env: Env): Promise<string> {
    const ring = await this.#keys(env);
    const facts = encodeFacts({
      objectId: this.#namespace(env).newUniqueId().toString(),
      rules: client.rules,
      capabilityBits: encodeCapabilities(client.capabilities),
      principalHash: await hashPrincipal(principal),
      expiresAtMs: Date.now() + this.#options.trustMs,
    });
    return ring.seal(facts);
  }

  async find(id: string, principal: Principal | undefined, env: Env): Promise<FoundSession | undefined> {
    const bytes = await (await this.#keys(env)).open(id);
    const facts = bytes && decodeFacts(bytes);
    if (!facts || facts.expiresAtMs <= Date.now()) return undefined;
    const principalHash = await hashPrincipal(principal);
    const isOpenedAnonymously = facts.principalHash === ANONYMOUS;
    if (!isOpenedAnonymously && facts.principalHash !== principalHash) return undefined;
    const { rules, capabilityBits, expiresAtMs } = facts;
    const caller = {
      versionIndex: rules.index,
      capabilityBits,
      principal,
      principalHash,
      isOpenedAnonymously,
      expiresAtMs,
    };
    return this.#session(facts, caller, env);
  }

  #session(facts: SessionFacts, caller: Caller, env: Env): FoundSession | undefined {
    const namespace = this.#namespace(env);
    let objectId: DurableObjectId;
    try {
      objectId = namespace.idFromString(facts.objectId);
    } catch {
      // An id of another class or account, sealed with a shared key: not a session of this server.
      return undefined;
    }
    const stub = () => namespace.get(objectId);
    return {
      client: new ClientFacts(facts.rules, decodeCapabilities(facts.capabilityBits)),
      admit: () => stub().admit(caller),
      post: (post) => stub().post(caller, post),
      end: () => stub().end(caller),
    };
  }

  async #keys(env: Env): Promise<KeyRing> {
    const list = (env as Record<string, unknown> | undefined)?.[KEYS_VARIABLE];
    if (typeof list !== "string" || list.trim() === "") {
      throw unavailable(
        new KitError(
          "keys-missing",
          `Sessions need the secret ${KEYS_VARIABLE}. Locally: npx mcp-edge keys --file .dev.vars. ` +
            `In production: npx mcp-edge keys | npx wrangler secret put ${KEYS_VARIABLE}. Or leave out the option sessions.`,
        ),
      );
    }
    if (this.#ring?.list !== list) this.#ring = { list, ring: KeyRing.parse(list, "session id") };
    return this.#ring.ring.catch((error: unknown) => {
      throw unavailable(error);
    });
  }

  #namespace(env: Env): SessionNamespace {
    const { binding } = this.#options;
    const namespace = (env as Record<string, SessionNamespace | undefined> | undefined)?.[binding];
    if (namespace) return namespace;
    throw unavailable(
      new KitError(
        "binding-missing",
        `Durable Object binding "${binding}" is missing. Add it to wrangler.toml, or leave out the option sessions.`,
      ),
    );
  }
}

function unavailable(cause: unknown): SessionsUnavailable {
  return new SessionsUnavailable(cause instanceof Error ? cause.message : "Sessions are not available.", { cause });
}
