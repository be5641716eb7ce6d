/**
 * The roles of Durable Objects, and the function that derives the role of an object from its stored data.
 *
 * @module
 */

export type RoleName = "session" | "hub" | "keys" | "once" | "task" | "proof" | "rates" | "user" | "files";

/** Returns the name of an object in a shard of the hub. Object 0 is the root. */
export function hubName(shard: number, object = 0): string {
  return `hub:${shard}${object ? `.${object}` : ""}`;
}

/** The name of the object that creates the sealing keys. */
export const KEYS_NAME = "keys:sealing";

/** The first words of the first stored key, with the roles that they identify. An object with any other key is a session. */
const STORED: Readonly<Record<string, RoleName>> = {
  claim: "once",
  entry: "task",
  files: "files",
  keys: "keys",
  objects: "hub",
  proofs: "proof",
  rates: "rates",
  start: "task",
  user: "user",
};

/** The statement that finds the event log, which only sessions have. */
export const FIND_LOG = "SELECT 1 FROM sqlite_master WHERE name = 'event'";

/** The key-value store of an object. Declared here because `mcp-edge/testing` must not depend on the Workers types. */
interface Stored {
  list(options: { limit: number }): Iterable<readonly [string, unknown]>;
}

/** Returns the role of an object by its stored keys. Undefined if it has no stored keys, like most hubs and sessions. */
export function storedRole(kv: Stored): RoleName | undefined {
  const [[first] = []] = kv.list({ limit: 1 }) as Iterable<readonly [string?, unknown?]>;
  if (first === undefined) return undefined;
  return STORED[/^[a-z]*/.exec(first)?.[0] ?? ""] ?? "session";
}
