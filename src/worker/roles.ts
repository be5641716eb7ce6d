/**
 * The roles that objects of the one class play.
 *
 * @module
 */

/** What an object does. */
export type RoleName = "session" | "hub" | "keys" | "once" | "task";

/** Name of the hub object that tells of the subjects of a shard. */
export function hubName(shard: number): string {
  return `hub:${shard}`;
}

/** Name of the object that makes the sealing keys. */
export const KEYS_NAME = "keys:sealing";

/** What the first key begins with that objects of a role store. A hub stores nothing; a session stores anything else. */
const STORED: readonly (readonly [string, RoleName])[] = [
  ["claim", "once"],
  ["entry/", "task"],
  ["keys", "keys"],
  ["start/", "task"],
];

/** What is read of an object's key-value store. Without types of Workers, since `mcp-edge/testing` refers to this. */
interface Stored {
  list(options: { limit: number }): Iterable<readonly [string, unknown]>;
}

/** The role of an object as its keys tell it; undefined where it has none, as hubs and most sessions do. */
export function storedRole(kv: Stored): RoleName | undefined {
  const [[first] = []] = kv.list({ limit: 1 }) as Iterable<readonly [string?, unknown?]>;
  if (first === undefined) return undefined;
  return STORED.find(([prefix]) => first.startsWith(prefix))?.[1] ?? "session";
}
