/**
 * The roles of the objects of an endpoint, as far as they can be seen from outside: by the names from which their ids were created, by
 * the keys that they read first, and by the URL with which a WebSocket is opened.
 *
 * @module
 */

/** Prefixes of names. */
const NAMES: Readonly<Record<string, string>> = {
  "hub:": "hub",
  "keys:": "keys",
  "once:": "once",
  "proof:": "proof",
  "rates:": "rates",
  "session:": "session",
  "user:": "user",
};

/** Prefixes of stored keys. */
const KEYS: Readonly<Record<string, string>> = {
  claim: "once",
  "entry/": "task",
  keys: "keys",
  objects: "hub",
  "proofs/": "proof",
  rates: "rates",
  "start/": "task",
  "user/": "user",
  session: "session",
  "call:": "session",
};

/** Returns the role of an object whose id was created from a name. */
export function roleOfName(name: string): string | undefined {
  return Object.entries(NAMES).find(([prefix]) => name.startsWith(prefix))?.[1];
}

/** Returns the role of an object that reads or stores a key. */
export function roleOfKey(key: string): string | undefined {
  return Object.entries(KEYS).find(([prefix]) => key.startsWith(prefix))?.[1];
}

/** Returns the role in the URL with which the Worker opens a WebSocket to an object of an endpoint. */
export function roleOfUrl(url: string): string | undefined {
  return /^https:\/\/object\/([a-z]+)\//.exec(url)?.[1];
}

/** The method through which the Worker calls objects of an endpoint. */
export const ROLE_METHOD = "callRole";

/** The method that the test harness adds to objects. Calls of it are no work of the Worker. */
export const CONTROL_METHOD = "__mcpEdgeTesting";
