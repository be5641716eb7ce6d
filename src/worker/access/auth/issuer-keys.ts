/**
 * The public keys of an issuer. An isolate caches them for a while. It requests them again for an unknown key, but at a
 * limited rate, so that invalid tokens cannot cause many requests.
 *
 * @module
 */

import { pause } from "../../../core/basics/pause.ts";
import type { Execution } from "../../../core/protocol/execution.ts";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { fetchJson, isSafeUrl } from "./fetch-json.ts";
import { isFit, type Jwk } from "./jwt.ts";

/** Public keys in the form of RFC 7517. */
export interface JsonWebKeySet {
  /** The keys. Keys that do not fit any accepted algorithm are ignored. */
  readonly keys: readonly Jwk[];
}

/**
 * The minimum time between two requests that are caused by unknown keys, in milliseconds.
 * @limit ms The minimum time between two requests for keys that are caused by unknown keys. In between, tokens with an
 * unknown key get 401.
 */
const UNKNOWN_PAUSE_MS = 30_000;
/** The minimum time between a failed request and the next request, in milliseconds. */
const FAILURE_PAUSE_MS = 2_000;
/** How much longer cached keys stay in use while the issuer fails, as a multiple of `jwksCacheMs`. */
const STALE_TIMES = 5;
/**
 * The maximum of this additional time, in milliseconds.
 * @limit ms How long cached keys stay in use after `jwksCacheMs` while the issuer fails, at most. Then requests get 503.
 */
const STALE_MAX_MS = 3_600_000;
/**
 * How long a caller waits for a request that another caller may have started, in milliseconds: the maximum time of two
 * responses, and a margin.
 */
const WAIT_MS = 12_000;
/**
 * The maximum number of keys that are tried for a token. Every key of its algorithm may have signed a token without `kid`.
 * @limit count Keys that are tried for one token. Additional keys are not tried.
 */
const TRIED_MAX = 4;

interface Known {
  readonly keys: readonly Jwk[];
  readonly requestedAtMs: number;
}

export class IssuerKeys {
  readonly #load: () => Promise<readonly Jwk[]>;
  readonly #ttlMs: number;
  readonly #usableMs: number;
  #known: Known | undefined;
  #pending: Promise<Known> | undefined;
  #requestedAtMs = -Infinity;
  /** When the keys were last requested because of an unknown key. */
  #unknownAtMs = -Infinity;
  #failure: unknown;

  /**
   * @param ttlMs How long the keys are cached, in milliseconds. While the issuer fails, they stay in use longer: for five
   *   times as long, but at most for an additional hour.
   */
  constructor(load: () => Promise<readonly Jwk[]>, ttlMs: number) {
    this.#load = load;
    this.#ttlMs = ttlMs;
    this.#usableMs = ttlMs + Math.min(STALE_TIMES * ttlMs, STALE_MAX_MS);
  }

  /**
   * Returns the keys that may have signed a token.
   *
   * @throws {Error} if the keys could not be requested, so that it is unknown whether the token is valid.
   */
  async find(algorithm: string, kid: string | undefined, execution: Execution): Promise<readonly Jwk[]> {
    const known = fitting(this.#known?.keys ?? [], algorithm, kid);
    if (this.#isYoungerThan(this.#ttlMs)) {
      if (known.length > 0) return known;
      const isPausing = Date.now() - this.#unknownAtMs < UNKNOWN_PAUSE_MS;
      // After a failed request, the key may exist, and a 401 would make the client ask its user to sign in again.
      if (isPausing && !this.#pending && this.#failure === undefined) return [];
      this.#unknownAtMs = Date.now();
    }
    const requested = this.#request(execution).then(({ keys }) => fitting(keys, algorithm, kid));
    if (known.length === 0 || !this.#isYoungerThan(this.#usableMs)) return requested;
    const either = requested.catch(() => known);
    if (this.#failure === undefined) return either;
    // The last request to the issuer failed, so this caller does not wait for the next one.
    execution.waitUntil(either);
    return known;
  }

  /** Whether the cached keys were requested less than `ms` milliseconds ago. False if there are none. */
  #isYoungerThan(ms: number): boolean {
    return this.#known !== undefined && Date.now() - this.#known.requestedAtMs < ms;
  }

  /** Requests the keys, in one request for all concurrent callers. Each caller has its own timer. */
  async #request(execution: Execution): Promise<Known> {
    const isPausing = this.#failure !== undefined && Date.now() - this.#requestedAtMs < FAILURE_PAUSE_MS;
    if (isPausing && !this.#pending) throw this.#failure;
    const pending = this.#pending ?? this.#begin(execution);
    const settled = new AbortController();
    const late = pause(WAIT_MS, settled.signal).then(() => {
      throw this.#failed(pending, new Error("The keys of the issuer did not arrive in time."));
    });
    return Promise.race([pending, late]).finally(() => settled.abort());
  }

  #begin(execution: Execution): Promise<Known> {
    const requestedAtMs = Date.now();
    this.#requestedAtMs = requestedAtMs;
    const pending = this.#load().then(
      (keys) => {
        this.#known = { keys, requestedAtMs };
        if (this.#pending === pending) this.#pending = undefined;
        this.#failure = undefined;
        return this.#known;
      },
      (error: unknown) => {
        throw this.#failed(pending, error);
      },
    );
    this.#pending = pending;
    // Other callers wait for it too, so it must outlive the client request that started it.
    execution.waitUntil(pending.catch(() => undefined));
    return pending;
  }

  #failed(pending: Promise<Known>, error: unknown): unknown {
    if (this.#pending === pending) {
      this.#pending = undefined;
      this.#failure = error;
      if (this.#isYoungerThan(this.#usableMs))
        console.error("mcp-edge: the keys of the issuer could not be requested; the known ones stay in use:", error);
    }
    return error;
  }
}

/**
 * Returns the keys that may have signed a token: the keys with its `kid`, or the only key of its algorithm if that key has
 * no `kid`. For a token without `kid`, returns all keys of its algorithm.
 */
function fitting(keys: readonly Jwk[], algorithm: string, kid: string | undefined): readonly Jwk[] {
  const fit = keys.filter((key) => isFit(key, algorithm));
  const isOnly = fit.length === 1 && (fit[0]?.kid ?? undefined) === undefined;
  return fit.filter((key) => kid === undefined || key.kid === kid || isOnly).slice(0, TRIED_MAX);
}

/** Requests a key set. @throws {Error} if the response is not a key set. */
export async function loadKeys(url: string): Promise<readonly Jwk[]> {
  const { keys } = await fetchJson(url);
  if (!Array.isArray(keys)) throw new Error(`${new URL(url).origin} did not answer with a key set.`);
  return keys.filter(isObject) as readonly unknown[] as readonly Jwk[];
}

/**
 * Finds the URL of an issuer's key set in its metadata, and requests the key set.
 *
 * @throws {Error} if there is none, or if the metadata belongs to another issuer (RFC 8414, section 3.3).
 */
export async function discoverKeys(issuer: string): Promise<readonly Jwk[]> {
  const { issuer: named, jwks_uri } = await fetchMetadata(issuer);
  if (named !== issuer) throw new Error(`The metadata of the issuer ${issuer} names another issuer.`);
  if (!isSafeUrl(jwks_uri)) throw new Error(`The metadata of the issuer ${issuer} has no jwks_uri with https.`);
  return loadKeys(jwks_uri);
}

/** Tries the URLs of RFC 8414 and OpenID Connect Discovery, in the order of the MCP specification. */
async function fetchMetadata(issuer: string): Promise<JsonObject> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const urls = new Set([
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]);
  let failure: unknown;
  for (const url of urls) {
    try {
      return await fetchJson(url);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}
