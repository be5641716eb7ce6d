/**
 * Infers the roles of the objects of an endpoint from the names from which their ids were created, from the keys that they read
 * first, and from the URL with which a WebSocket is opened.
 *
 * @module
 */

/** Roles by the prefix of the object's name. */
const NAMES: Readonly<Record<string, string>> = {
  "hub:": "hub",
  "keys:": "keys",
  "once:": "once",
  "proof:": "proof",
  "rates:": "rates",
  "session:": "session",
  "user:": "user",
};

/** Roles by the prefix of a stored key. */
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

/** Returns the role that is part of the URL with which the Worker opens a WebSocket to an object of an endpoint. */
export function roleOfUrl(url: string): string | undefined {
  return /^https:\/\/object\/([a-z]+)\//.exec(url)?.[1];
}

/** The RPC method through which the Worker calls objects of an endpoint. */
export const ROLE_METHOD = "callRole";

/** The RPC method that the test harness adds to objects. Its calls are not work of the Worker. */
export const CONTROL_METHOD = "__mcpEdgeTesting";
