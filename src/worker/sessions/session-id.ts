/**
 * The content of a session id. A session without streams consists only of its id; no rows are stored.
 *
 * | bytes | content |
 * | --- | --- |
 * | 32 | id of the Durable Object |
 * | 1 | protocol version, as its index in the version table |
 * | 2 | capabilities of the client, as bits |
 * | 16 | hash of the principal and its client; zeros if the session was opened anonymously |
 * | 4 | when the id was created, in seconds since 1970 |
 * | 4 | when the id expires, in seconds since 1970 |
 * | 6 | number of the session within its object; zeros if the object has only this session |
 * | 1 | length of the client's name in bytes; absent, like the next field, if the client is unknown |
 * | 0 to 94 | name and version of the client in UTF-8, each truncated to fit |
 *
 * Sealing adds 32 bytes. In base64url, an id has 130 to 256 characters.
 *
 * @module
 */
import { encodeText, fromHex, toHex } from "../../core/basics/bytes.ts";
import type { Implementation, Principal } from "../../core/protocol/client-facts.ts";
import { VERSIONS, type VersionRules } from "../../core/protocol/versions.ts";

const OBJECT_ID_BYTES = 32;
const PRINCIPAL_BYTES = 16;
const FIXED_BYTES = OBJECT_ID_BYTES + 1 + 2 + PRINCIPAL_BYTES + 4 + 4 + 6;
/** The maximum number of bytes, which become 256 characters when they are sealed and in base64url. @limit internal */
const BYTES_MAX = 160;
/** The maximum number of bytes for a client's name and version together. @limit internal */
const INFO_MAX = BYTES_MAX - FIXED_BYTES - 1;
/** The maximum number of bytes reserved for the version when the name is long. @limit internal */
const VERSION_MAX = 32;
const SECOND_MS = 1000;

/** The principal hash of a session that was opened anonymously. */
export const ANONYMOUS = "0".repeat(PRINCIPAL_BYTES * 2);

/** The content of a session id. */
export interface SessionFacts {
  /** 64 hexadecimal digits. */
  readonly objectId: string;
  readonly rules: VersionRules;
  /** From `encodeCapabilities`. */
  readonly capabilityBits: number;
  /** 32 hexadecimal digits; see {@link hashCaller}. */
  readonly principalHash: string;
  /** Epoch milliseconds, encoded with a precision of one second. */
  readonly openedAtMs: number;
  /** Epoch milliseconds, encoded with a precision of one second. */
  readonly expiresAtMs: number;
  /** Less than 2^48. */
  readonly session: number;
  /** Name and version of the client, truncated by {@link fitInfo}. Undefined if the client is unknown. */
  readonly info?: Implementation | undefined;
}

/** Encodes the content of a session id as bytes, which are then sealed. */
export function encodeFacts(facts: SessionFacts): Uint8Array<ArrayBuffer> {
  const { name, version } = facts.info ? fitInfo(facts.info) : EMPTY;
  const info = encodeText(name + version);
  const bytes = new Uint8Array(FIXED_BYTES + (facts.info ? 1 + info.length : 0));
  const view = new DataView(bytes.buffer);
  bytes.set(fromHex(facts.objectId), 0);
  view.setUint8(32, facts.rules.index);
  view.setUint16(33, facts.capabilityBits);
  bytes.set(fromHex(facts.principalHash), 35);
  view.setUint32(51, Math.floor(facts.openedAtMs / SECOND_MS));
  view.setUint32(55, Math.floor(facts.expiresAtMs / SECOND_MS));
  view.setUint16(59, Math.floor(facts.session / 2 ** 32));
  view.setUint32(61, facts.session % 2 ** 32);
  if (facts.info) {
    view.setUint8(FIXED_BYTES, encodeText(name).length);
    bytes.set(info, FIXED_BYTES + 1);
  }
  return bytes;
}

const EMPTY: Implementation = { name: "", version: "" };

/** Decodes the bytes of a session id. Returns undefined if their length is wrong or this build lacks the protocol version. */
export function decodeFacts(bytes: Uint8Array): SessionFacts | undefined {
  const { length } = bytes;
  if (length < FIXED_BYTES || length > BYTES_MAX) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const rules = VERSIONS[view.getUint8(32)];
  const versionAt = length > FIXED_BYTES ? FIXED_BYTES + 1 + view.getUint8(FIXED_BYTES) : 0;
  if (!rules || versionAt > length) return undefined;
  const toText = (from: number, to: number) => toDecoder().decode(bytes.subarray(from, to));
  return {
    objectId: toHex(bytes.subarray(0, OBJECT_ID_BYTES)),
    rules,
    capabilityBits: view.getUint16(33),
    principalHash: toHex(bytes.subarray(35, 35 + PRINCIPAL_BYTES)),
    openedAtMs: view.getUint32(51) * SECOND_MS,
    expiresAtMs: view.getUint32(55) * SECOND_MS,
    session: view.getUint16(59) * 2 ** 32 + view.getUint32(61),
    info: versionAt > 0 ? { name: toText(FIXED_BYTES + 1, versionAt), version: toText(versionAt, length) } : undefined,
  };
}

/** Returns the name and the version of a client, each truncated after a whole character to fit into a session id. */
export function fitInfo({ name, version }: Implementation): Implementation {
  const kept = Math.min(encodeText(version).length, VERSION_MAX);
  const fitted = cut(name, INFO_MAX - kept);
  return { name: fitted, version: cut(version, INFO_MAX - encodeText(fitted).length) };
}

/** Returns the longest prefix of a string that fits into `bytesMax` bytes of UTF-8. */
function cut(text: string, bytesMax: number): string {
  // As part of a stream, an incomplete character at the end is left out.
  return toDecoder().decode(encodeText(text).subarray(0, bytesMax), { stream: true });
}

/** Returns a decoder for which a byte order mark at the beginning belongs to the text. */
function toDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
}

/**
 * Returns a short hash of issuer, subject and client id, or {@link ANONYMOUS} without a principal. If tokens contain a
 * client id, a session belongs to the client that opened it.
 */
export function hashCaller(principal: Principal | undefined): Promise<string> {
  return hashPrincipal(principal, principal?.clientId);
}

/** Returns a short hash of issuer and subject, or {@link ANONYMOUS} without a principal. */
export async function hashPrincipal(principal: Principal | undefined, clientId?: string): Promise<string> {
  if (!principal) return ANONYMOUS;
  // JSON gives different strings for different issuers, subjects and clients.
  const named = clientId === undefined ? [] : [clientId];
  const text = encodeText(JSON.stringify([principal.issuer, principal.subject, ...named]));
  const digest = await crypto.subtle.digest("SHA-256", text);
  return toHex(new Uint8Array(digest).subarray(0, PRINCIPAL_BYTES));
}
