/**
 * Access tokens in the form of signed JWTs.
 *
 * @module
 * @see RFC 7515, RFC 7519, RFC 8725 and RFC 9068
 */
import { decodeBase64Url, encodeText } from "../../../core/basics/bytes.ts";
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { parseObject } from "./fetch-json.ts";

/** A signature algorithm. All of them are asymmetric, so a public key can never be used as the secret of an HMAC. */
export type TokenAlgorithm =
  | "RS256"
  | "RS384"
  | "RS512"
  | "PS256"
  | "PS384"
  | "PS512"
  | "ES256"
  | "ES384"
  | "ES512"
  | "EdDSA"
  | "Ed25519";

/** A public key in the form of RFC 7517. All other members are ignored. */
export interface Jwk {
  /** The kind of key, such as "RSA". */
  readonly kty: string;
  /** The id of the key. A token refers to it in its header. */
  readonly kid?: string;
  /** The only algorithm that the key is used with. */
  readonly alg?: string;
  /** The use of the key. Keys with a use other than "sig" are ignored. */
  readonly use?: string;
  /** The permitted operations of the key. Keys without "verify" are ignored. An empty list permits all operations. */
  readonly key_ops?: readonly string[];
  /** The curve of an EC or OKP key. */
  readonly crv?: string;
  /** The x coordinate of an EC key, or the public key of an OKP key. */
  readonly x?: string;
  /** The y coordinate of an EC key. */
  readonly y?: string;
  /** The modulus of an RSA key. */
  readonly n?: string;
  /** The exponent of an RSA key. */
  readonly e?: string;
}

/** The parameters with which WebCrypto imports a key and verifies a signature, and the members that the key must have. */
interface Scheme {
  readonly name: string;
  readonly hash?: string;
  readonly namedCurve?: string;
  readonly saltLength?: number;
  readonly kty: string;
  readonly crv?: string;
}

const CURVES: Readonly<Record<string, string>> = { 256: "P-256", 384: "P-384", 512: "P-521" };

/** Returns the scheme of an algorithm, or undefined for any other name, such as "none" and "HS256". */
export function findScheme(algorithm: string): Scheme | undefined {
  if (algorithm === "EdDSA" || algorithm === "Ed25519") return { name: "Ed25519", kty: "OKP", crv: "Ed25519" };
  const [, family, bits = ""] = /^(RS|PS|ES)(256|384|512)$/.exec(algorithm) ?? [];
  const hash = `SHA-${bits}`;
  switch (family) {
    case "RS":
      return { name: "RSASSA-PKCS1-v1_5", hash, kty: "RSA" };
    case "PS":
      return { name: "RSA-PSS", hash, saltLength: Number(bits) / 8, kty: "RSA" };
    case "ES": {
      const crv = CURVES[bits] ?? "";
      return { name: "ECDSA", hash, namedCurve: crv, kty: "EC", crv };
    }
    default:
      return undefined;
  }
}

/** A JWT whose signature has not been verified. */
export interface UnverifiedJwt {
  readonly algorithm: string;
  readonly kid: string | undefined;
  readonly header: JsonObject;
  readonly claims: JsonObject;
  readonly signed: Uint8Array<ArrayBuffer>;
  readonly signature: Uint8Array<ArrayBuffer>;
}

/** The `typ` values of access tokens. Many issuers send "JWT" or no `typ` in place of "at+jwt" (RFC 9068). */
const TYPES = /^(application\/)?(at\+)?jwt$/i;

/**
 * Parses a JWT. Returns undefined for a string that is not a JWT, and for a JWT of another type (RFC 8725, section 3.11).
 *
 * @param types Matches the accepted `typ` values.
 */
export function parseJwt(token: string, types = TYPES): UnverifiedJwt | undefined {
  const [head = "", body = "", signature = "", ...rest] = token.split(".");
  const header = readPart(head);
  const claims = readPart(body);
  const bytes = decodeBase64Url(signature);
  if (rest.length > 0 || !header || !claims || !bytes) return undefined;
  const { alg, kid, typ = "JWT", crit } = header;
  // No extensions are supported, so a token that requires one must be refused (RFC 7515, section 4.1.11).
  if (typeof alg !== "string" || typeof typ !== "string" || !types.test(typ) || crit !== undefined) return undefined;
  if (kid !== undefined && typeof kid !== "string") return undefined;
  return { algorithm: alg, kid, header, claims, signed: encodeText(`${head}.${body}`), signature: bytes };
}

function readPart(part: string): JsonObject | undefined {
  const bytes = decodeBase64Url(part);
  return bytes && parseObject(new TextDecoder().decode(bytes));
}

/** The minimum length of a modulus in base64url: 2,048 bits (RFC 7518, section 3.3). */
const MODULUS_MIN = 342;

/** Whether a key of the issuer can verify signatures of an algorithm. Some issuers write null for a member without a value. */
export function isFit({ kty, crv, alg, use, key_ops, n }: Jwk, algorithm: string): boolean {
  const scheme = findScheme(algorithm);
  if (!scheme || kty !== scheme.kty || (crv ?? undefined) !== scheme.crv) return false;
  // A key that specifies an algorithm or a use is not used for anything else.
  if ((alg ?? algorithm) !== algorithm) return false;
  if ((use ?? "sig") !== "sig") return false;
  // The value has not been validated, so it might not be a list.
  const operations = [key_ops ?? []].flat();
  if (operations.length > 0 && !operations.includes("verify")) return false;
  return kty !== "RSA" || (typeof n === "string" && n.length >= MODULUS_MIN);
}

/** Whether the JWT was signed with this key. False for a key that cannot be imported. */
export async function isSignedBy(key: Jwk, { algorithm, signature, signed }: UnverifiedJwt): Promise<boolean> {
  const scheme = findScheme(algorithm);
  if (!scheme) return false;
  const { kty, crv, n, e, x, y } = key;
  // Only the public members are imported, so that no other member changes what the key can be used for.
  const members = JSON.parse(JSON.stringify({ kty, crv, n, e, x, y })) as JsonWebKey;
  try {
    const imported = await crypto.subtle.importKey("jwk", members, scheme, false, ["verify"]);
    return await crypto.subtle.verify(scheme, imported, signature, signed);
  } catch {
    return false;
  }
}
