/**
 * Sealing keys from the environment: the bindings of a Worker, or the `env` that a Node server was given.
 *
 * @module
 */
import { KitError } from "../protocol/errors.ts";
import { KEYS_VARIABLE, KeyRing } from "./key-ring.ts";

/** The message of the error if there are no sealing keys. */
const KEYS_MISSING = `Sealing keys are missing. Add keys() from "mcp-edge/worker/durable" to the option use of edge(), or set the secret ${KEYS_VARIABLE}, which npx mcp-edge keys makes.`;

export { KEYS_MISSING };

/** Returns the list of keys in an environment; undefined if there is none. */
export function readKeyList(env: unknown): string | undefined {
  const list = (env as Record<string, unknown> | undefined)?.[KEYS_VARIABLE];
  return typeof list === "string" && list.trim() !== "" ? list : undefined;
}

/** Rings by purpose and list. Deriving keys is more expensive than a whole tool call. */
const rings = new Map<string, Promise<KeyRing>>();
/** Greater than the number of rings that the endpoints of a Worker use. @limit internal */
const RINGS_MAX = 64;

/** Returns the key ring of a list for one purpose. @throws {KitError} `keys-invalid`. */
export function openKeyRing(list: string, purpose: string): Promise<KeyRing> {
  const name = `${purpose} ${list}`;
  const ring = rings.get(name) ?? KeyRing.parse(list, purpose);
  if (!rings.has(name) && rings.size > RINGS_MAX) rings.clear();
  rings.set(name, ring);
  return ring;
}

/** Returns the key ring of an environment for one purpose. @throws {KitError} `keys-missing` or `keys-invalid`. */
export async function envRing(env: unknown, purpose: string): Promise<KeyRing> {
  const list = readKeyList(env);
  if (list === undefined) throw new KitError("keys-missing", KEYS_MISSING);
  return openKeyRing(list, purpose);
}
