/**
 * A proof of possession: a JWT that the client signs for one request with the key that its token is bound to.
 *
 * @module
 * @see RFC 9449, sections 4.2 and 4.3
 */
import { encodeBase64Url, encodeText } from "../../../core/basics/bytes.ts";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { isFit, isSignedBy, type Jwk, parseJwt } from "../auth/jwt.ts";

/** The rules that a proof must satisfy. */
export interface ProofRules {
  readonly method: string;
  /** The URLs that identify the request. The proof must be for one of them. */
  readonly urls: readonly string[];
  /** The access token of the request. Undefined for a token request. */
  readonly token: string | undefined;
  readonly algorithms: readonly string[];
  /** How far `iat` may differ from the Worker's clock, in milliseconds, in both directions. */
  readonly windowMs: number;
}

/** A valid proof. */
export interface Proof {
  /** Identifies the proof among all proofs of its key. */
  readonly id: string;
  readonly nonce: unknown;
  readonly issuedAtMs: number;
  /** The thumbprint of the key that signed it (RFC 7638). */
  readonly thumbprint: string;
}

/**
 * Limits the work that an invalid proof can cause.
 * @limit characters A DPoP proof. A longer proof is refused with 401.
 */
const PROOF_MAX = 8 * 1024;

const TYPE = /^dpop\+jwt$/i;

/** The members of private and symmetric keys (RFC 7518, section 6). */
const PRIVATE = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** Returns the valid proof in a header, or the reason why it is refused. */
export async function readProof(text: string | null, rules: ProofRules): Promise<Proof | string> {
  if (text === null) return "The proof is missing.";
  // Two headers are joined by a comma, which no JWT contains.
  const jwt = text.length <= PROOF_MAX ? parseJwt(text, TYPE) : undefined;
  if (!jwt) return "The proof is not a single JWT of the type dpop+jwt.";
  const { algorithm, header, claims } = jwt;
  const { jwk } = header;
  if (!rules.algorithms.includes(algorithm)) return "The algorithm of the proof is not accepted.";
  if (!isObject(jwk) || PRIVATE.some((member) => member in jwk)) return "The proof has no public key.";
  const key = jwk as unknown as Jwk;
  if (!isFit(key, algorithm)) return "The key of the proof does not fit its algorithm.";
  const { jti, htm, htu, iat, ath, nonce } = claims;
  if (typeof jti !== "string" || jti === "") return "The proof has no id.";
  if (htm !== rules.method) return "The proof is for another method.";
  const url = canonicalUrl(htu);
  const isHere = url !== undefined && rules.urls.some((each) => canonicalUrl(each) === url);
  if (!isHere) return "The proof is for another URL.";
  const issuedAtMs = typeof iat === "number" ? iat * 1000 : Number.NaN;
  // The comparison is negated, so that NaN refuses the proof.
  if (!(Math.abs(Date.now() - issuedAtMs) <= rules.windowMs)) return "The proof is too old, or from the future.";
  if (rules.token !== undefined && ath !== (await hash(rules.token))) return "The proof is for another token.";
  if (!(await isSignedBy(key, jwt))) return "The signature of the proof is not valid.";
  return { id: (await hash(jti)).slice(0, 22), nonce, issuedAtMs, thumbprint: await computeThumbprint(jwk) };
}

/** Returns the thumbprint of the key that a proof names, before the proof is verified. Returns undefined if it is malformed. */
export async function readProofKey(text: string): Promise<string | undefined> {
  const { jwk } = (text.length <= PROOF_MAX && parseJwt(text, TYPE)?.header) || {};
  return isObject(jwk) ? computeThumbprint(jwk) : undefined;
}

/** Returns a URL without its query and fragment, normalized so that equivalent URLs are equal (RFC 3986, section 6.2.2). */
function canonicalUrl(url: unknown): string | undefined {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { origin, pathname } = new URL(url);
  return origin + pathname.replace(/%[\da-f]{2}/gi, unescapeUnreserved);
}

function unescapeUnreserved(escaped: string): string {
  const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : escaped.toUpperCase();
}

/** Returns the thumbprint of a key: the hash of its required members, sorted by name. */
function computeThumbprint({ kty, crv, x, y, e, n }: JsonObject): Promise<string> {
  const members = kty === "RSA" ? { e, kty, n } : kty === "EC" ? { crv, kty, x, y } : { crv, kty, x };
  return hash(JSON.stringify(members));
}

/** Returns the SHA-256 hash of a string, in base64url. */
async function hash(text: string): Promise<string> {
  return encodeBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", encodeText(text))));
}
