/** A key of Web Crypto. The type is derived from a function, because its name differs between runtimes. */
export type WebKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** A key pair of Web Crypto. */
export interface WebKeyPair {
  /** The public key, which verifies signatures. */
  readonly publicKey: WebKey;
  /** The private key, which creates signatures. */
  readonly privateKey: WebKey;
}

/** A key as JSON (RFC 7517). */
export interface JsonKey {
  /** The key type, such as `EC`. */
  readonly kty: string;
  /** The parameters of the key, such as `crv`, `x` and `d`. */
  readonly [member: string]: unknown;
}
