/**
 * The roles of objects, and how the role of an object is found.
 *
 * @module
 */

/** The role of an object. */
export type RoleName = "session" | "hub" | "keys" | "once" | "task" | "proof" | "rates" | "user";

/** Returns the name of an object of a hub's shard. Object 0 is the root. */
export function hubName(shard: number, object = 0): string {
  return `hub:${shard}${object ? `.${object}` : ""}`;
}

/** Name of the object that creates the sealing keys. */
export const KEYS_NAME = "keys:sealing";

/** Prefixes of the first stored key, and the role they identify. Any other key is of a session. */
const STORED: Readonly<Record<string, RoleName>> = {
  claim: "once",
  "entry/": "task",
  keys: "keys",
  objects: "hub",
  "proofs/": "proof",
  rates: "rates",
  "start/": "task",
  "user/": "user",
};

/** The key-value store of an object. Declared here because `mcp-edge/testing` must not depend on the types of Workers. */
interface Stored {
  list(options: { limit: number }): Iterable<readonly [string, unknown]>;
}

/** Returns the role of an object from its stored keys. Undefined if it stores none, like most hubs and sessions. */
export function storedRole(kv: Stored): RoleName | undefined {
  const [[first] = []] = kv.list({ limit: 1 }) as Iterable<readonly [string?, unknown?]>;
  if (first === undefined) return undefined;
  return Object.entries(STORED).find(([prefix]) => first.startsWith(prefix))?.[1] ?? "session";
}
