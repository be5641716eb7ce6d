/**
 * mcp-edge/client/cache: keeps lists and resources for the time that the server names.
 *
 * @example
 * ```ts
 * import { connect } from "mcp-edge/client";
 * import { cache } from "mcp-edge/client/cache";
 *
 * const client = await connect("https://example.com/mcp", { name: "my-app", version: "1.0.0", use: [cache()] });
 * await client.readResource("file:///guide.md");
 * await client.readResource("file:///guide.md"); // not sent while the first result is fresh
 * ```
 *
 * @module
 */

export type { CacheOptions } from "./cache.ts";
export { cache } from "./cache.ts";
export type { CacheStore, MemoryStoreOptions } from "./store.ts";
export { memoryStore } from "./store.ts";
