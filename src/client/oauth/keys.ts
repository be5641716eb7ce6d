/** A key of Web Crypto. Its type has other names in other runtimes, so it is derived from a function that all have. */
export type WebKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** A pair of keys of Web Crypto. */
export interface WebKeyPair {
  /** The public key, with which others check signatures. */
  readonly publicKey: WebKey;
  /** The private key, which signs. */
  readonly privateKey: WebKey;
}

/** A key as JSON (RFC 7517). */
export interface JsonKey {
  /** The key type, such as `EC`. */
  readonly kty: string;
  /** The parameters of the key, such as `crv`, `x` and `d`. */
  readonly [member: string]: unknown;
}
