/**
 * The options of `bearer()` and their validation.
 *
 * @module
 */

import { quote } from "../../../core/basics/quote.ts";
import { checkOptions, type OptionTable, TIMER_OR_ZERO } from "../../../core/protocol/check-options.ts";
import { checkFunction, KitError } from "../../../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { checkUrl } from "./fetch-json.ts";
import type { IntrospectionOptions } from "./introspection.ts";
import type { JsonWebKeySet } from "./issuer-keys.ts";
import { findScheme, type TokenAlgorithm } from "./jwt.ts";
import type { ScopeNeeds } from "./needs.ts";
import type { VerifyToken } from "./opaque.ts";
import type { ProofVerifier } from "./proof-verifier.ts";

/** Options of {@link bearer}. */
export interface BearerOptions<Env = unknown, Classes = unknown> {
  /**
   * The issuer of the tokens, exactly as it is written in them: the URL of the authorization server. It is the `issuer` of
   * every principal, and the resource metadata lists it as the authorization server.
   */
  readonly issuer: string;
  /**
   * The URL that identifies this server to the issuer. Set it if the Worker is reached under several hosts or paths, or if
   * a proxy in front of it forwards any `Host`. If neither this option nor `audience` is set, requests over plain HTTP are
   * accepted only on loopback hosts, because the sender of such a request chooses the `Host`.
   *
   * @default the URL of the request, without its query
   */
  readonly resource?: string;
  /**
   * The accepted audiences. A token for any other audience is refused. Set this option only if the issuer writes a value
   * other than `resource` into its tokens.
   *
   * @default `resource`
   */
  readonly audience?: string | readonly string[];
  /**
   * The public keys of the issuer, or the URL of its key set.
   *
   * @default the `jwks_uri` of the issuer's metadata (RFC 8414 or OpenID Connect Discovery)
   */
  readonly jwks?: string | JsonWebKeySet;
  /** The accepted signature algorithms. @default RS256, PS256, ES256 and EdDSA */
  readonly algorithms?: readonly TokenAlgorithm[];
  /** How far the issuer's clock may differ from the Worker's clock, in milliseconds. At most 5 minutes. @default 30 s */
  readonly clockSkewMs?: number;
  /**
   * How long an isolate caches the issuer's keys, in milliseconds. A key that the issuer removes is refused after this time
   * at the latest. Only while the issuer cannot be reached, cached keys stay in use longer: for five times as long, but at
   * most for an additional hour. A new key is found immediately: a token with an unknown key makes the isolate request the
   * keys again, at most once in 30 s.
   *
   * @default 600_000 (10 minutes)
   */
  readonly jwksCacheMs?: number;
  /** The scopes that every request needs. @default none */
  readonly scopes?: readonly string[];
  /**
   * The narrower scopes that a scope includes, such as `{ "files": ["files:read", "files:write"] }`. Inclusion is
   * transitive.
   *
   * @default none
   */
  readonly includes?: Readonly<Record<string, readonly string[]>>;
  /**
   * The scopes that individual tools, prompts, resources and methods need, in addition to `scopes`. A request whose token
   * lacks one of them gets 403 with all scopes that the request needs. To hide what a caller must not use, pass the
   * function `visible` of the plugin to the server.
   *
   * @default none
   */
  readonly needs?: ScopeNeeds;
  /**
   * Verifies proofs that the client holds the key that its token is bound to. Create it with `dpop()` of
   * `mcp-edge/worker/durable`. Without it, tokens that are bound to a key are refused.
   */
  readonly dpop?: ProofVerifier<Classes>;
  /** Verifies tokens that are not JWTs at the introspection endpoint of the issuer (RFC 7662). */
  readonly introspection?: IntrospectionOptions;
  /**
   * Verifies the token of each request in place of the built-in verification. Its results are cached only if `cacheMs` is
   * set.
   */
  readonly verify?: VerifyToken<Env>;
  /**
   * How long an isolate caches the result of `introspection` or `verify` for an accepted token, in milliseconds. A revoked
   * token is still accepted during this time. 0 disables the cache. Results are cached by token and resource only, so set
   * this option for a `verify` function only if its result depends on nothing else in the request or in `env`.
   *
   * @default 60_000 (1 minute) for `introspection`, 0 for `verify`
   */
  readonly cacheMs?: number;
  /** Members to add to the resource metadata, such as `resource_name` (RFC 9728, section 2). */
  readonly metadata?: JsonObject;
}

const NEEDS: OptionTable<ScopeNeeds> = { tools: null, prompts: null, resources: null, methods: null };
const MINUTE_MS = 60_000;

const OPTIONS: OptionTable<BearerOptions<never>> = {
  issuer: null,
  resource: null,
  audience: null,
  jwks: null,
  algorithms: null,
  clockSkewMs: [0, 5 * MINUTE_MS],
  jwksCacheMs: [1_000, 24 * 60 * MINUTE_MS],
  scopes: null,
  includes: null,
  needs: null,
  dpop: null,
  introspection: null,
  verify: null,
  cacheMs: TIMER_OR_ZERO,
  metadata: null,
};

/** @throws {KitError} `options-invalid` naming the option. */
export function checkBearerOptions(options: BearerOptions<never>): void {
  checkOptions("bearer(): ", options, OPTIONS);
  const { issuer, resource, audience, jwks, algorithms, scopes, introspection, verify } = options;
  checkUrl("bearer(): issuer", issuer);
  if (resource !== undefined) checkUrl("bearer(): resource", resource);
  if (typeof jwks === "string") checkUrl("bearer(): jwks", jwks);
  else if (jwks !== undefined && !Array.isArray(jwks?.keys)) throw invalid("jwks", "is neither a URL nor a key set");
  if (introspection) checkUrl("bearer(): introspection.url", introspection.url);
  checkFunction("verify of bearer()", verify);
  if ([jwks, introspection, verify].filter((each) => each !== undefined).length > 1) {
    throw new KitError("options-invalid", "bearer(): write one of jwks, introspection and verify.");
  }
  if (audience !== undefined) checkTexts("audience", typeof audience === "string" ? [audience] : audience, /^.+$/);
  checkTexts("scopes", scopes, SCOPE);
  checkTexts("algorithms", algorithms, /^.+$/);
  const unknown = algorithms?.find((algorithm) => !findScheme(algorithm));
  if (unknown !== undefined) throw invalid("algorithms", `has ${quote(unknown)}, which is not an asymmetric algorithm`);
  checkScopes("includes", options.includes);
  checkOptions("bearer(): needs: ", options.needs ?? {}, NEEDS);
  for (const [kind, needed] of Object.entries(options.needs ?? {})) checkScopes(`needs.${kind}`, needed);
}

/** The syntax of a scope (RFC 6749, section 3.3). */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Checks lists of scopes by name. A list may be empty. */
function checkScopes(option: string, byName: unknown): void {
  if (byName === undefined) return;
  if (!isObject(byName)) throw invalid(option, "is not an object");
  for (const scopes of Object.values(byName)) {
    if (!Array.isArray(scopes) || scopes.length > 0) checkTexts(option, scopes as readonly unknown[], SCOPE);
  }
}

function checkTexts(option: string, texts: readonly unknown[] | undefined, form: RegExp): void {
  if (texts === undefined) return;
  if (!Array.isArray(texts) || texts.length === 0) throw invalid(option, "is not a list with an entry");
  const wrong = texts.find((text) => typeof text !== "string" || !form.test(text));
  if (wrong !== undefined) throw invalid(option, `has ${quote(String(wrong))}, which is not valid there`);
}

function invalid(option: string, problem: string): KitError {
  return new KitError("options-invalid", `bearer(): ${option} ${problem}.`);
}
