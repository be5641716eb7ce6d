/** How long a client may cache a result, and who may share it. @see MCP 2026-07-28, server/utilities/caching */
export interface CacheHint {
  /**
   * How long a client may cache the result, in milliseconds. With 0, it sends the request again each time.
   *
   * @default 0
   */
  readonly ttlMs?: number;
  /**
   * Who may share the result: with `"public"`, a shared cache may serve it to every caller; with `"private"`, only the
   * caller that received it may cache it.
   *
   * @default "private"
   */
  readonly cacheScope?: "public" | "private";
}

/** The methods whose results carry a {@link CacheHint}. */
export type CacheableMethod =
  | "server/discover"
  | "tools/list"
  | "prompts/list"
  | "resources/list"
  | "resources/templates/list"
  | "resources/read";
