/**
 * The public keys of an issuer. They are kept in the isolate for a while, and requested again for an unknown key, but
 * not often, so that invalid tokens cannot cause many requests.
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
  /** The keys. Those that fit none of the accepted algorithms are ignored. */
  readonly keys: readonly Jwk[];
}

/**
 * Milliseconds between two requests because of an unknown key.
 * @limit ms The time between two requests for keys because of unknown ones. Until then tokens with an unknown key get
 * 401.
 */
const UNKNOWN_PAUSE_MS = 30_000;
/** Milliseconds after a failed request, until the next one. */
const FAILURE_PAUSE_MS = 2_000;
/** How much longer known keys stay in use while the issuer fails, in multiples of their usual time. */
const STALE_TIMES = 5;
/**
 * The maximum of that, in milliseconds.
 * @limit ms The most by which known keys stay in use beyond `jwksCacheMs` while the issuer fails. Then tokens get 503.
 */
const STALE_MAX_MS = 3_600_000;
/**
 * Milliseconds that a caller waits for the request of another one: the longest time of two answers, and a little more.
 */
const WAIT_MS = 12_000;
/**
 * Keys that are tried for a token. Every key of its algorithm may have signed a token without `kid`.
 * @limit count Keys that are tried for one token. Further keys are not tried.
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
  #requestedAtMs = Number.NEGATIVE_INFINITY;
  /** When the keys were last requested because of an unknown key. */
  #unknownAtMs = Number.NEGATIVE_INFINITY;
  #failure: unknown;

  /**
   * @param ttlMs Milliseconds after which the keys are requested again. While that fails, they stay in use for five
   * times as
   *   long, at most for an hour.
   */
  constructor(load: () => Promise<readonly Jwk[]>, ttlMs: number) {
    this.#load = load;
    this.#ttlMs = ttlMs;
    this.#usableMs = ttlMs + Math.min(STALE_TIMES * ttlMs, STALE_MAX_MS);
  }

  /**
   * Returns the keys that may have signed a token.
   *
   * @throws {Error} if the keys could not be requested. Then it is unknown whether the token is valid.
   */
  async find(algorithm: string, kid: string | undefined, execution: Execution): Promise<readonly Jwk[]> {
    const known = fitting(this.#known?.keys ?? [], algorithm, kid);
    if (this.#isYoungerThan(this.#ttlMs)) {
      if (known.length > 0) return known;
      const isPausing = Date.now() - this.#unknownAtMs < UNKNOWN_PAUSE_MS;
      // After a failed request the key may exist, and "invalid" would make the client ask its user again.
      if (isPausing && !this.#pending && this.#failure === undefined) return [];
      this.#unknownAtMs = Date.now();
    }
    const requested = this.#request(execution).then(({ keys }) => fitting(keys, algorithm, kid));
    if (known.length === 0 || !this.#isYoungerThan(this.#usableMs)) return requested;
    const either = requested.catch(() => known);
    if (this.#failure === undefined) return either;
    // The issuer failed the last time, so this caller does not wait for it.
    execution.waitUntil(either);
    return known;
  }

  /** Whether there are keys that were requested less than some milliseconds ago. */
  #isYoungerThan(ms: number): boolean {
    return this.#known !== undefined && Date.now() - this.#known.requestedAtMs < ms;
  }

  /** Requests the keys, in one request for all concurrent callers. Each has a timer of its own. */
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
    // Others wait for it too, so it must not end with the client's request that began it.
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

/** Returns the keys that may have signed a token: with its `kid`, or the only one of its algorithm if that has none. */
function fitting(keys: readonly Jwk[], algorithm: string, kid: string | undefined): readonly Jwk[] {
  const fit = keys.filter((key) => isFit(key, algorithm));
  const isOnly = fit.length === 1 && (fit[0]?.kid ?? undefined) === undefined;
  return fit.filter((key) => kid === undefined || key.kid === kid || isOnly).slice(0, TRIED_MAX);
}

/** Requests a key set. @throws {Error} if there is none. */
export async function loadKeys(url: string): Promise<readonly Jwk[]> {
  const { keys } = await fetchJson(url);
  if (!Array.isArray(keys)) throw new Error(`${new URL(url).origin} did not answer with a key set.`);
  return keys.filter(isObject) as readonly unknown[] as readonly Jwk[];
}

/**
 * Finds the key set of an issuer in its metadata, and requests it.
 *
 * @throws {Error} if there is none, or if the metadata is that of another issuer (RFC 8414, 3.3).
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
