/**
 * The options of `bearer()`, and their checks.
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
   * The issuer of the tokens, exactly as they name it: the URL of the authorization server. It is the `issuer` of every
   * principal, and the metadata names it as the authorization server.
   */
  readonly issuer: string;
  /**
   * The URL that identifies this server to the issuer. Set it if the Worker is reached by several hosts or paths, or if
   * a proxy in front of it passes on any `Host`. Without it and `audience`, requests over plain HTTP are refused beyond
   * this machine, because their sender chooses the `Host`.
   *
   * @default the URL of the request, without its query
   */
  readonly resource?: string;
  /**
   * The audiences that are accepted. A token for any other audience is refused. Set it only if the issuer writes
   * something else than `resource` into its tokens.
   *
   * @default `resource`
   */
  readonly audience?: string | readonly string[];
  /**
   * The public keys that sign the tokens, or the URL of the key set.
   *
   * @default the `jwks_uri` of the issuer's metadata (RFC 8414 or OpenID Connect Discovery)
   */
  readonly jwks?: string | JsonWebKeySet;
  /** The signature algorithms that are accepted. @default RS256, PS256, ES256 and EdDSA */
  readonly algorithms?: readonly TokenAlgorithm[];
  /** Milliseconds by which the issuer's clock may differ from that of the Worker, at most 5 minutes. @default 30 s */
  readonly clockSkewMs?: number;
  /**
   * Milliseconds for which an isolate keeps the issuer's keys. A key that the issuer removes is refused after this time
   * at the latest. Only while the issuer cannot be reached, known keys stay in use for five times as long, at most for an hour. A new key is found at once: a token with an unknown key makes the isolate request the keys again, at
   * most once in 30 s.
   *
   * @default 600_000 (10 minutes)
   */
  readonly jwksCacheMs?: number;
  /** The scopes that every request needs. @default none */
  readonly scopes?: readonly string[];
  /**
   * The scopes that a broader scope includes: `{ "files": ["files:read", "files:write"] }`. What an included scope
   * includes is included too.
   *
   * @default none
   */
  readonly includes?: Readonly<Record<string, readonly string[]>>;
  /**
   * The scopes that single tools, prompts, resources and methods need, in addition to `scopes`. A request whose token
   * lacks one gets 403 with all scopes that it needs. To hide what a caller may not use, pass the function `visible` of
   * `bearer()` to the server.
   *
   * @default none
   */
  readonly needs?: ScopeNeeds;
  /**
   * Verifies proofs that the client has the key that its token is bound to; created by `dpop()` of
   * `mcp-edge/worker/durable`. Without it, tokens that are bound to a key are refused.
   */
  readonly dpop?: ProofVerifier<Classes>;
  /** Asks the issuer about each token (RFC 7662), for tokens that are not JWTs. */
  readonly introspection?: IntrospectionOptions;
  /** Verifies the token of each request, in place of the kit. Its answers are kept only if `cacheMs` is set. */
  readonly verify?: VerifyToken<Env>;
  /**
   * Milliseconds for which an isolate keeps the answer of `introspection` or `verify` about an accepted token. A token
   * that is revoked is still accepted for this time. 0 keeps none. An answer is kept for the token and the resource, and
   * for nothing else. So set it for a `verify` only if nothing else in its request or `env` matters to its answer.
   *
   * @default 60_000 (1 minute) for `introspection`, 0 for `verify`
   */
  readonly cacheMs?: number;
  /** Members that are added to the metadata of the resource, such as `resource_name` (RFC 9728, section 2). */
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

/** The characters of a scope (RFC 6749, 3.3). */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Checks lists of scopes by name, which may be empty. */
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
