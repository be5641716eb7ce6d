/** A client of the authorization server. */
export interface OAuthClient {
  readonly id: string;
  /** The name from the author's options, or from the client's metadata. */
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** The source of these facts: the author's options, a metadata document, or a registration. */
  readonly source: "author" | "document" | "registration";
  readonly method: ClientAuthMethod;
  /** The hash of its secret. */
  readonly secretHash?: string | undefined;
}

/** How a client authenticates to the token endpoint. */
export type ClientAuthMethod = "none" | "client_secret_basic" | "client_secret_post";
