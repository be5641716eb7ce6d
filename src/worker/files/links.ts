/**
 * The links for uploads and downloads. A link contains the file and its owner, sealed, so that it can be neither read nor
 * changed, and no object is needed to create it.
 *
 * @module
 */
import { decodeBase64Url, encodeBase64Url, encodeText, fromHex, toHex } from "../../core/basics/bytes.ts";
import type { Principal } from "../../core/protocol/client-facts.ts";
import type { KeysOf } from "../services.ts";

/** What a link allows: an upload or a download. */
export type LinkKind = "upload" | "download";

/** What an upload must be, and why it is asked for. */
export interface UploadRules {
  readonly types?: readonly string[] | undefined;
  readonly bytesMax?: number | undefined;
  readonly description?: string | undefined;
}

/** The content of a link. */
export interface Link extends UploadRules {
  readonly kind: LinkKind;
  /** The owner of the file: 32 hexadecimal digits. */
  readonly owner: string;
  /** The id of the file. */
  readonly id: string;
  /** When the link ends, in milliseconds since 1970. */
  readonly untilMs: number;
}

const PURPOSE = "file link";
const KINDS: readonly LinkKind[] = ["upload", "download"];
const OWNER_BYTES = 16;
const ID_BYTES = 16;
const TIME_BYTES = 6;
const FIXED_BYTES = 1 + OWNER_BYTES + ID_BYTES + TIME_BYTES;

/** The maximum number of characters of the sealed text in a URL. @limit internal */
const SEALED_MAX = 4_096;
/** The maximum number of characters of a description in a link. @limit internal */
const DESCRIPTION_MAX = 300;

/** The number of objects that callers without a principal share. */
const ANONYMOUS_OBJECTS = 16;

/** The form of an id. */
const ID = /^file_([\w-]{22})$/;

/** The minimum number of characters of the sealed text in a URL, by which it is found. */
const SEALED_MIN = 80;

/**
 * Finds the sealed text of a link in a URL or a path, and the name behind it: the last segment, because clients also send names
 * with folders. The path may also be a part of such a name, or of a prefix.
 *
 * @param path The path under which links are served.
 */
export function findSealed(url: string, path: string): { readonly sealed: string; readonly name: string } {
  const before = `${path}/`;
  for (let at = url.indexOf(before); at !== -1; at = url.indexOf(before, at + 1)) {
    const [sealed = "", ...names] = url.slice(at + before.length).split("/");
    if (sealed.length >= SEALED_MIN) return { sealed, name: names.at(-1) ?? "" };
  }
  return { sealed: "", name: "" };
}

/** Returns a new id, which cannot be guessed. */
export function newFileId(): string {
  return `file_${encodeBase64Url(crypto.getRandomValues(new Uint8Array(ID_BYTES)))}`;
}

/** Returns the bytes of an id, or undefined if it is not one. */
function idBytes(id: string): Uint8Array | undefined {
  const [, text] = ID.exec(id) ?? [];
  return text === undefined ? undefined : decodeBase64Url(text);
}

/** Whether a string has the form of an id. */
export function isFileId(text: string): boolean {
  return idBytes(text)?.length === ID_BYTES;
}

/**
 * Returns the owner of a file: the principal of the caller. Callers without a principal share a few owners, and only the id
 * of a file protects it.
 */
export async function findOwner(principal: Principal | undefined, id: string): Promise<string> {
  if (principal) return ownerOf(JSON.stringify([principal.issuer, principal.subject]));
  return anonymousOwner((idBytes(id)?.[0] ?? 0) % ANONYMOUS_OBJECTS);
}

function anonymousOwner(shard: number): Promise<string> {
  return ownerOf(`anonymous ${shard}`);
}

async function ownerOf(name: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", encodeText(name)));
  return toHex(digest.subarray(0, OWNER_BYTES));
}

/** Keeps the result and not its promise, because the promise of a cancelled request would never be fulfilled for others. */
let anonymousOwners: readonly string[] | undefined;

/** Returns the owners of the files of callers without a principal. */
export async function listAnonymousOwners(): Promise<readonly string[]> {
  anonymousOwners ??= await Promise.all(Array.from({ length: ANONYMOUS_OBJECTS }, (_, shard) => anonymousOwner(shard)));
  return anonymousOwners;
}

/** Seals and opens links. */
export class Links {
  readonly #keys: KeysOf;
  readonly #endpoint: string;

  /** @param endpoint The name of the endpoint, to which links are bound. */
  constructor(keys: KeysOf, endpoint: string) {
    this.#keys = keys;
    this.#endpoint = endpoint;
  }

  async seal({ kind, owner, id, untilMs, ...rules }: Link, env: unknown): Promise<string> {
    const description = rules.description?.slice(0, DESCRIPTION_MAX);
    const rest = encodeText(kind === "upload" ? JSON.stringify({ ...rules, description }) : "");
    const bytes = new Uint8Array(FIXED_BYTES + rest.length);
    bytes[0] = KINDS.indexOf(kind);
    bytes.set(fromHex(owner), 1);
    bytes.set(idBytes(id) ?? [], 1 + OWNER_BYTES);
    bytes.set(fromHex(untilMs.toString(16).padStart(2 * TIME_BYTES, "0")), 1 + OWNER_BYTES + ID_BYTES);
    bytes.set(rest, FIXED_BYTES);
    return (await this.#keys(env, PURPOSE)).seal(bytes, this.#endpoint);
  }

  /** Returns the content of a link, or undefined if this endpoint has not created it. It may have ended. */
  async open(sealed: string, env: unknown): Promise<Link | undefined> {
    if (sealed.length > SEALED_MAX) return undefined;
    const bytes = await (await this.#keys(env, PURPOSE, sealed)).open(sealed, this.#endpoint);
    const kind = KINDS[bytes?.[0] ?? KINDS.length];
    if (!bytes || !kind) return undefined;
    const part = (start: number, length: number) => bytes.subarray(start, start + length);
    const rest = new TextDecoder().decode(bytes.subarray(FIXED_BYTES));
    return {
      ...((rest === "" ? {} : JSON.parse(rest)) as UploadRules),
      kind,
      owner: toHex(part(1, OWNER_BYTES)),
      id: `file_${encodeBase64Url(part(1 + OWNER_BYTES, ID_BYTES))}`,
      untilMs: Number.parseInt(toHex(part(1 + OWNER_BYTES + ID_BYTES, TIME_BYTES)), 16),
    };
  }
}
