export interface OAuthClient {
  readonly id: string;
  /** The name that it gives itself, or that the author gives it. */
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** Who says what is known about it. */
  readonly source: "author" | "document" | "registration";
  readonly method: ClientAuthMethod;
  /** Hash of its secret. */
  readonly secretHash?: string | undefined;
}

/** How a client proves its identity to the token endpoint. */
export type ClientAuthMethod = "none" | "client_secret_basic" | "client_secret_post";
