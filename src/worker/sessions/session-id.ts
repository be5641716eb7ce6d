/**
 * What a session id says. The whole of a session that never streamed is its id: no row is stored for it.
 *
 * | bytes | what |
 * | --- | --- |
 * | 32 | id of the object |
 * | 1 | protocol version, as its place in the version table |
 * | 2 | capabilities of the client, as bits |
 * | 16 | hash of the principal; zeros: opened anonymously |
 * | 4 | until when it is good, in seconds since 1970 |
 * | 6 | number of the session within its object; zeros: it has the object to itself |
 *
 * Sealed (32 bytes more) that is 124 characters; released clients and proxies take 128.
 *
 * Ids from before objects could be shared lack the last, and count minutes; they stay good for the time they name.
 *
 * @module
 */
import { encodeText, fromHex, toHex } from "../../core/bytes.ts";
import type { Principal } from "../../core/client-facts.ts";
import { VERSIONS, type VersionRules } from "../../core/versions.ts";

const OBJECT_ID_BYTES = 32;
const PRINCIPAL_BYTES = 16;
const UNSHARED_BYTES = OBJECT_ID_BYTES + 1 + 2 + PRINCIPAL_BYTES + 4;
const BYTES = UNSHARED_BYTES + 6;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** The hash of nobody: a session opened anonymously. */
export const ANONYMOUS = "0".repeat(PRINCIPAL_BYTES * 2);

/** What is sealed into a session id. */
export interface SessionFacts {
  /** 64 hexadecimal digits. */
  readonly objectId: string;
  readonly rules: VersionRules;
  /** From `encodeCapabilities`. */
  readonly capabilityBits: number;
  /** 32 hexadecimal digits; see {@link hashPrincipal}. */
  readonly principalHash: string;
  /** Epoch milliseconds, kept to the second. */
  readonly expiresAtMs: number;
  /** Below 2^48. */
  readonly session: number;
}

/** Facts as bytes, to be sealed. */
export function encodeFacts(facts: SessionFacts): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(fromHex(facts.objectId), 0);
  view.setUint8(32, facts.rules.index);
  view.setUint16(33, facts.capabilityBits);
  bytes.set(fromHex(facts.principalHash), 35);
  view.setUint32(51, Math.floor(facts.expiresAtMs / SECOND_MS));
  view.setUint16(55, Math.floor(facts.session / 2 ** 32));
  view.setUint32(57, facts.session % 2 ** 32);
  return bytes;
}

/** Facts from opened bytes; undefined when they are of another length or a version this build does not know. */
export function decodeFacts(bytes: Uint8Array): SessionFacts | undefined {
  const isShareable = bytes.length === BYTES;
  if (!isShareable && bytes.length !== UNSHARED_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const rules = VERSIONS[view.getUint8(32)];
  if (!rules) return undefined;
  return {
    objectId: toHex(bytes.subarray(0, OBJECT_ID_BYTES)),
    rules,
    capabilityBits: view.getUint16(33),
    principalHash: toHex(bytes.subarray(35, 35 + PRINCIPAL_BYTES)),
    expiresAtMs: view.getUint32(51) * (isShareable ? SECOND_MS : MINUTE_MS),
    session: isShareable ? view.getUint16(55) * 2 ** 32 + view.getUint32(57) : 0,
  };
}

/** A short hash of issuer and subject; {@link ANONYMOUS} for nobody. */
export async function hashPrincipal(principal: Principal | undefined): Promise<string> {
  if (!principal) return ANONYMOUS;
  // As JSON, so that no issuer and subject can run into one another.
  const text = encodeText(JSON.stringify([principal.issuer, principal.subject]));
  const digest = await crypto.subtle.digest("SHA-256", text);
  return toHex(new Uint8Array(digest).subarray(0, PRINCIPAL_BYTES));
}
