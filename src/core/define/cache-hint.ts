/** How long a client may keep a result, and who may share it. @see MCP 2026-07-28, server/utilities/caching */
export interface CacheHint {
  /** The time, in milliseconds, for which a client may keep the result. With 0 it asks again each time. @default 0 */
  readonly ttlMs?: number;
  /**
   * Who may share the result: with `"public"`, a shared cache may give it to every caller; with `"private"`, only the
   * caller that got it may keep it.
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
