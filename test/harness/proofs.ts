/** Proofs of possession (RFC 9449), as a client makes them. */
import { base64url, type SigningKey, signJwt } from "./issuer.ts";

type Members = Readonly<Record<string, unknown>>;

export const sha256 = async (text: string): Promise<string> =>
  base64url(await crypto.subtle.digest("SHA-256", Buffer.from(text)));

/** The thumbprint of a key, with the members in the order of RFC 7638. */
export function thumbprint({ jwk }: SigningKey): Promise<string> {
  const names = { EC: ["crv", "kty", "x", "y"], OKP: ["crv", "kty", "x"], RSA: ["e", "kty", "n"] };
  const order = names[jwk.kty as keyof typeof names];
  return sha256(JSON.stringify(Object.fromEntries(order.map((name) => [name, jwk[name]]))));
}

let proofs = 0;

/** Makes a proof for a POST. @param claims Members that replace members of the proof; an undefined member is left out. */
export async function proofOf(
  key: SigningKey,
  token: string,
  url: string,
  claims: Members = {},
  header: Members = {},
): Promise<string> {
  proofs += 1;
  const iat = Math.floor(Date.now() / 1000);
  const all = { jti: `proof ${proofs}`, htm: "POST", htu: url, iat, ath: await sha256(token), ...claims };
  return signJwt(key, all, { typ: "dpop+jwt", jwk: key.jwk, kid: undefined, ...header });
}
