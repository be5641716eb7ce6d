/**
 * What a session id says. The whole of a session that never streamed is its id: no row is stored for it.
 *
 * | bytes | what |
 * | --- | --- |
 * | 32 | id of the object |
 * | 1 | protocol version, as its place in the version table |
 * | 2 | capabilities of the client, as bits |
 * | 16 | hash of the principal; zeros: opened anonymously |
 * | 4 | end of the trust period, in minutes since 1970 |
 *
 * Sealed (32 bytes more) that is 116 characters; released clients and proxies take 128.
 *
 * @module
 */
import type { Principal } from "../../core/client-facts.ts";
import { VERSIONS, type VersionRules } from "../../core/versions.ts";

const OBJECT_ID_BYTES = 32;
const PRINCIPAL_BYTES = 16;
const BYTES = OBJECT_ID_BYTES + 1 + 2 + PRINCIPAL_BYTES + 4;
const MINUTE_MS = 60_000;

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
  /** Epoch milliseconds, kept to the minute. */
  readonly expiresAtMs: number;
}

/** Facts as bytes, to be sealed. */
export function encodeFacts(facts: SessionFacts): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(fromHex(facts.objectId), 0);
  view.setUint8(32, facts.rules.index);
  view.setUint16(33, facts.capabilityBits);
  bytes.set(fromHex(facts.principalHash), 35);
  view.setUint32(51, Math.floor(facts.expiresAtMs / MINUTE_MS));
  return bytes;
}

/** Facts from opened bytes; undefined when they are of another length or a version this build does not know. */
export function decodeFacts(bytes: Uint8Array): SessionFacts | undefined {
  if (bytes.length !== BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const rules = VERSIONS[view.getUint8(32)];
  if (!rules) return undefined;
  return {
    objectId: toHex(bytes.subarray(0, OBJECT_ID_BYTES)),
    rules,
    capabilityBits: view.getUint16(33),
    principalHash: toHex(bytes.subarray(35, 35 + PRINCIPAL_BYTES)),
    expiresAtMs: view.getUint32(51) * MINUTE_MS,
  };
}

/** A short hash of issuer and subject; {@link ANONYMOUS} for nobody. */
export async function hashPrincipal(principal: Principal | undefined): Promise<string> {
  if (!principal) return ANONYMOUS;
  // As JSON, so that no issuer and subject can run into one another.
  const text = new TextEncoder().encode(JSON.stringify([principal.issuer, principal.subject]));
  const digest = await crypto.subtle.digest("SHA-256", text);
  return toHex(new Uint8Array(digest).subarray(0, PRINCIPAL_BYTES));
}

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
