/** Seals values as the Worker does, with the keys that a test has given it: as if the keys had leaked, or a value were old. */
import { encodeText } from "../../src/core/basics/bytes.ts";
import { KeyRing } from "../../src/core/seal/key-ring.ts";
import { newKeys } from "../harness/workerd.ts";

/** The sealing keys of the Worker that `setUp()` starts. */
export const KEYS = newKeys();

/** Seals a value for a purpose, bound to an issuer. */
export async function forge(purpose: string, value: unknown, issuer: string): Promise<string> {
  return (await KeyRing.parse(KEYS, purpose)).seal(encodeText(JSON.stringify(value)), issuer);
}

/** Opens a sealed value. */
export async function unseal(purpose: string, text: string, issuer: string): Promise<Record<string, unknown>> {
  const bytes = await (await KeyRing.parse(KEYS, purpose)).open(text, issuer);
  return JSON.parse(new TextDecoder().decode(bytes));
}
