/**
 * Verifies that the sender of a token has the key that the token is bound to.
 *
 * @module
 * @see RFC 9449; SEP-1932
 */

import { quote } from "../../../core/basics/quote.ts";
import { checkOptions, type OptionTable } from "../../../core/protocol/check-options.ts";
import { KitError } from "../../../core/protocol/errors.ts";
import { isObject } from "../../../core/protocol/jsonrpc.ts";
import { envRing } from "../../../core/seal/env-keys.ts";
import { splitUrl } from "../../../http/origin.ts";
import type { Refused } from "../../../http/refusal.ts";
import { RoleObjects } from "../../bindings.ts";
import { findKeyProblems } from "../../key-problems.ts";
import { OBJECTS, type WithMcpObject } from "../../object.ts";
import type { KeysOf } from "../../services.ts";
import { unavailable } from "../auth/denials.ts";
import { findScheme, type TokenAlgorithm } from "../auth/jwt.ts";
import type { BoundToken, ProofProblem, ProofVerifier } from "../auth/proof-verifier.ts";
import { Nonces } from "./nonces.ts";
import { type Proof, readProof } from "./proof.ts";
import { ProofsObject, type ProofsRpc } from "./proofs-object.ts";

export type { ProofVerifier } from "../auth/proof-verifier.ts";

/** Options of {@link dpop}. */
export interface DpopOptions {
  /** Whether tokens that are not bound to a key are refused. @default false */
  readonly required?: boolean;
  /**
   * Whether a proof must contain a nonce of this server, which is valid for 5 minutes. This refuses proofs that someone
   * with temporary access to the key made in advance. The first request of a client then gets 401 with a nonce, and is
   * repeated.
   *
   * @default false
   */
  readonly nonces?: boolean;
  /**
   * Milliseconds by which the time in a proof may differ from that of the Worker, in both directions, at most 10
   * minutes. Proofs are remembered for this time, so that each is accepted once.
   *
   * @default 300_000 (5 minutes)
   */
  readonly windowMs?: number;
  /** The signature algorithms of proofs. @default ES256, EdDSA, PS256 and RS256 */
  readonly algorithms?: readonly TokenAlgorithm[];
}

const MINUTE_MS = 60_000;

const OPTIONS: OptionTable<DpopOptions> = {
  required: null,
  nonces: null,
  windowMs: [1_000, 10 * MINUTE_MS],
  algorithms: null,
};

const ALGORITHMS: readonly TokenAlgorithm[] = ["ES256", "EdDSA", "Ed25519", "PS256", "RS256"];

/**
 * Verifies proofs of possession (DPoP), as the option `dpop` of `bearer()`. A token that its issuer has bound to a key of
 * the client is then accepted, but only with a proof that the client signs for each request, and each proof only once.
 * A stolen token is useless without the key.
 *
 * Each request with such a token costs one request to an object, which writes one row. Needs the exported class
 * `McpObject`, which an endpoint with `keys()`, `sessions()` or `durable()` has.
 *
 * @example
 * ```ts
 * const app = edge(server, { use: [keys(), bearer({ issuer: "https://login.example.com", dpop: dpop() })] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @see RFC 9449
 */
export function dpop(options: DpopOptions = {}): ProofVerifier<WithMcpObject<unknown>> {
  checkOptions("dpop(): ", options, OPTIONS);
  const { required = false, nonces = false, windowMs = 5 * MINUTE_MS, algorithms = ALGORITHMS } = options;
  const unknown = algorithms.find((algorithm) => !findScheme(algorithm));
  if (unknown !== undefined) {
    const text = `dpop(): algorithms has ${quote(unknown)}, which is not an asymmetric algorithm.`;
    throw new KitError("options-invalid", text);
  }
  /** Undefined until the endpoint is known. */
  let objects: RoleObjects<ProofsRpc> | undefined;
  let ringOf: KeysOf = envRing;
  const issued = nonces ? new Nonces((env, sealed) => ringOf(env, "DPoP nonce", sealed)) : undefined;
  return {
    objects: OBJECTS,
    isRequired: required,
    challenge: `DPoP algs="${algorithms.join(" ")}", `,
    metadata: { dpop_signing_alg_values_supported: algorithms, dpop_bound_access_tokens_required: required },
    attach: ({ reference, keys }) => {
      objects = new RoleObjects("proof", reference);
      ringOf = keys ?? envRing;
      return { name: "proof", create: (ctx) => new ProofsObject(ctx) };
    },
    findProblems: (env) => (nonces && ringOf === envRing ? findKeyProblems(env) : []),
    check: async (bound) => {
      if (!objects) throw new KitError("options-invalid", "dpop() works only as bearer({ dpop: dpop() }) in edge().");
      const proof = await verify(bound, { algorithms, windowMs });
      if ("error" in proof) return proof;
      return (await issued?.check(proof.nonce, bound.env)) ?? useOnce(objects, proof, bound.env, windowMs);
    },
    prove: async (request, env, url) => {
      if (!objects) throw new KitError("options-invalid", "dpop() has not joined an endpoint.");
      const rules = { algorithms, windowMs, method: request.method, urls: [url], token: undefined };
      const proof = await readProof(request.headers.get("DPoP"), rules);
      if (typeof proof === "string") return { error: "invalid_dpop_proof", message: proof };
      const problem = (await issued?.check(proof.nonce, env)) ?? (await useOnce(objects, proof, env, windowMs));
      return problem ?? proof.thumbprint;
    },
  };
}

/** Returns the proof of a request for its token, or the reason for which it is refused. */
async function verify(
  { request, token, cnf, resource }: BoundToken,
  rules: { readonly algorithms: readonly string[]; readonly windowMs: number },
): Promise<Proof | ProofProblem> {
  const invalidToken = (message: string): ProofProblem => ({ error: "invalid_token", message });
  const [bound, ...others] = isObject(cnf) ? Object.entries(cnf) : [];
  if (bound === undefined) return invalidToken("The token is not bound to a key.");
  // Any other member is a condition that is not verified here, such as a certificate.
  if (bound[0] !== "jkt" || others.length > 0) return invalidToken("The token is bound to a key of another kind.");
  const { pathname } = splitUrl(request.url);
  // A proxy may change the host and the path of a request, but then the author says what they were.
  const urls = resource === undefined ? [request.url] : [new URL(resource).origin + pathname, resource];
  const proof = await readProof(request.headers.get("DPoP"), { ...rules, method: request.method, urls, token });
  if (typeof proof === "string") return { error: "invalid_dpop_proof", message: proof };
  return proof.thumbprint === bound[1] ? proof : invalidToken("The token is bound to another key.");
}

/** Stores that a proof was used. Returns why it is refused, or undefined if it was not used before. */
async function useOnce(
  objects: RoleObjects<ProofsRpc>,
  { id, issuedAtMs, thumbprint }: Proof,
  env: unknown,
  windowMs: number,
): Promise<ProofProblem | Refused | undefined> {
  const untilMs = issuedAtMs + windowMs;
  try {
    const outcome = await objects.call(objects.named(env, `proof:${thumbprint}`), "use", id, untilMs);
    if (outcome === "new") return undefined;
    if (outcome === "used") return { error: "invalid_dpop_proof", message: "The proof was used before." };
    return unavailable("The key of the token makes too many requests.");
  } catch (error) {
    if (KitError.is(error)) throw error;
    // Whether the proof was used is unknown, so it must not be accepted.
    console.error("mcp-edge: the object of a DPoP key could not be reached", error);
    return unavailable();
  }
}
