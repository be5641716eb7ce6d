/**
 * Content blocks that handlers return, and their encoding for the client's protocol version.
 *
 * @module
 * @see MCP 2026-07-28, server/tools, "Tool Result"
 */
import { encodeBase64, isBase64 } from "../basics/bytes.ts";
import { quote } from "../basics/quote.ts";
import { KitError, type KitErrorCode } from "./errors.ts";
import { isObject, type JsonObject } from "./jsonrpc.ts";
import type { VersionRules } from "./versions.ts";

/** Hints about content: its audience, its importance, and when it last changed. */
export interface Annotations {
  /** The readers that the content is meant for. @default both */
  readonly audience?: readonly ("user" | "assistant")[];
  /** The importance, from 0 (optional) to 1 (effectively required). */
  readonly priority?: number;
  /** When the content last changed, as ISO 8601 text such as `2026-07-28T12:00:00Z`. */
  readonly lastModified?: string;
}

/** An image a client may show for a tool or server. */
export interface Icon {
  /** An `https:` or `data:` URI. */
  readonly src: string;
  /** The media type, if the URI does not show it. */
  readonly mimeType?: string;
  /** Sizes the icon is made for, such as `48x48`, or `any` for vector formats. */
  readonly sizes?: readonly string[];
  /** The background that the icon is drawn for. @default any */
  readonly theme?: "light" | "dark";
}

/** Base64 text (RFC 4648, section 4, padded), or bytes that the kit encodes. */
export type Base64OrBytes = string | Uint8Array | ArrayBuffer;

/** Members that every kind of content has. */
export interface BlockCommon {
  /** Hints for the client about how to use the content. */
  readonly annotations?: Annotations;
  /** Metadata for the client, sent unchanged. */
  readonly _meta?: JsonObject;
}

/** Text. @see MCP 2026-07-28, server/tools, "Text Content" */
export interface TextContent extends BlockCommon {
  /** The kind of content. */
  readonly type: "text";
  /** The text itself. */
  readonly text: string;
}

/** An image. @see MCP 2026-07-28, server/tools, "Image Content" */
export interface ImageContent extends BlockCommon {
  /** The kind of content. */
  readonly type: "image";
  /** The bytes of the image. */
  readonly data: Base64OrBytes;
  /** The media type of the image, such as `image/png`. */
  readonly mimeType: string;
}

/**
 * A sound recording. Clients of versions before 2025-03-26, which lack it, receive a text block instead.
 *
 * @see MCP 2026-07-28, server/tools, "Audio Content"
 */
export interface AudioContent extends BlockCommon {
  /** The kind of content. */
  readonly type: "audio";
  /** The bytes of the recording. */
  readonly data: Base64OrBytes;
  /** The media type of the recording, such as `audio/wav`. */
  readonly mimeType: string;
}

/** The contents of a resource as text. @see MCP 2026-07-28, server/resources, "Resource Contents" */
export interface TextResourceContents {
  /** The URI of the resource. */
  readonly uri: string;
  /** The media type of the text, such as `text/plain`. */
  readonly mimeType?: string;
  /** The text itself. */
  readonly text: string;
  /** Metadata for the client, sent unchanged. */
  readonly _meta?: JsonObject;
}

/** The contents of a resource as bytes. @see MCP 2026-07-28, server/resources, "Resource Contents" */
export interface BlobResourceContents {
  /** The URI of the resource. */
  readonly uri: string;
  /** The media type of the bytes, such as `image/png`. */
  readonly mimeType?: string;
  /** The bytes themselves. */
  readonly blob: Base64OrBytes;
  /** Metadata for the client, sent unchanged. */
  readonly _meta?: JsonObject;
}

/**
 * A resource inside a result, so that the client need not read it.
 *
 * @see MCP 2026-07-28, server/tools, "Embedded Resources"
 */
export interface EmbeddedResource extends BlockCommon {
  /** The kind of content. */
  readonly type: "resource";
  /** The contents of the resource. */
  readonly resource: TextResourceContents | BlobResourceContents;
}

/** A link to a resource that the client may read. @see MCP 2026-07-28, server/tools, "Resource Links" */
export interface ResourceLink extends BlockCommon {
  /** The kind of content. */
  readonly type: "resource_link";
  /** The URI of the resource. */
  readonly uri: string;
  /** The name of the resource, for programs. */
  readonly name: string;
  /** The name of the resource, for people. */
  readonly title?: string;
  /** What the resource is, for people and models. */
  readonly description?: string;
  /** The media type of the resource, where it is known. */
  readonly mimeType?: string;
  /** The size in bytes. */
  readonly size?: number;
  /** Icons that a client may show for the resource. */
  readonly icons?: readonly Icon[];
}

/** One piece of content: text, an image, sound, a resource or a link to one. */
export type ContentBlock = TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink;

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const NAME = "[a-z\\d][\\w!#$&^.+-]{0,126}";
/** A media type with its parameters (RFC 6838, 4.2; RFC 9110, 8.3.1). */
const MEDIA_TYPE = new RegExp(`^${NAME}/${NAME}(\\s*;\\s*${TOKEN}=(${TOKEN}|"([^"\\\\]|\\\\.)*"))*$`, "i");

export function isMediaType(value: unknown): boolean {
  return typeof value === "string" && MEDIA_TYPE.test(value);
}

/**
 * Checks an optional `mimeType`.
 *
 * @param what The name of the thing that has this media type, for the error text.
 * @throws {KitError} naming the value if it is not a media type.
 */
export function checkMediaType(what: string, value: unknown, code: KitErrorCode = "result-invalid"): void {
  if (value === undefined || isMediaType(value)) return;
  const shown = typeof value === "string" ? quote(value) : typeof value;
  throw new KitError(code, `The mimeType of ${what} is ${shown}; write a media type such as "text/plain" (RFC 6838).`);
}

/** The string members that each kind of block must have. */
const REQUIRED: Readonly<Record<ContentBlock["type"], readonly string[]>> = {
  text: ["text"],
  image: ["mimeType"],
  audio: ["mimeType"],
  resource: [],
  resource_link: ["uri", "name"],
};

/** Whether the value has the `type` of a content block. */
export function isContentBlock(value: unknown): value is ContentBlock {
  return isObject(value) && typeof value.type === "string" && Object.hasOwn(REQUIRED, value.type);
}

/**
 * Encodes a block for a protocol version. Bytes become base64, and members that the version lacks are left out. A block
 * of a kind that the version lacks becomes a text block that describes it.
 *
 * @throws {KitError} `result-invalid` naming the member that is missing or of the wrong type, a `mimeType` that is not
 *   a media type, or `data` that is not base64.
 */
export function encodeBlock(block: unknown, rules: VersionRules): JsonObject {
  if (!isContentBlock(block)) throw invalidBlock(`is not a content block (its "type" is ${describeType(block)})`);
  for (const field of REQUIRED[block.type]) {
    const value = (block as unknown as JsonObject)[field];
    if (typeof value !== "string") throw invalidBlock(`of type "${block.type}" has no string "${field}"`);
  }
  if ("mimeType" in block) checkMediaType(`a content block of type "${block.type}"`, block.mimeType);
  if (!rules.contentKinds.includes(block.type)) return { type: "text", text: describeLacking(block) };
  const { annotations, _meta, ...rest } = block as ContentBlock & JsonObject;
  return {
    ...encodeBody(block, rest, rules),
    ...(annotations ? { annotations: pick(annotations, rules.annotationFields) } : {}),
    ...(_meta && rules.contentMeta ? { _meta } : {}),
  };
}

function encodeBody(block: ContentBlock, rest: JsonObject, rules: VersionRules): JsonObject {
  switch (block.type) {
    case "text":
      return rest;
    case "image":
    case "audio":
      return { ...rest, data: toBase64(block.data, `"data" of a block of type "${block.type}"`) };
    case "resource":
      return { ...rest, resource: encodeContents(block.resource, rules) };
    case "resource_link":
      return pick(rest, rules.resourceLinkFields);
  }
}

/**
 * Encodes the contents of a resource, embedded or read, for a protocol version.
 *
 * @throws {KitError} `result-invalid` if there is no URI, not exactly one of text and blob, a blob that is not base64,
 *   or a `mimeType` that is not a media type.
 */
export function encodeContents(contents: unknown, rules: VersionRules): JsonObject {
  if (!isObject(contents) || typeof contents.uri !== "string") {
    throw invalidBlock('of type "resource", or the result of a reader, has no string "uri"');
  }
  const { _meta, ...rest } = contents;
  checkMediaType(`the resource ${quote(contents.uri)}`, rest.mimeType);
  const meta = _meta && rules.contentMeta ? { _meta } : {};
  if (typeof rest.text !== "string")
    return { ...rest, blob: toBase64(rest.blob, '"blob" of a resource without "text"'), ...meta };
  if (rest.blob === undefined) return { ...rest, ...meta };
  throw invalidBlock('of type "resource", or the result of a reader, has both "text" and "blob"; leave one out');
}

function toBase64(data: unknown, what: string): string {
  if (typeof data === "string") {
    if (isBase64(data)) return data;
    throw invalidBlock(`has ${what} that is text but not base64; encode it, or pass the bytes as a Uint8Array`);
  }
  if (data instanceof Uint8Array) return encodeBase64(data);
  if (data instanceof ArrayBuffer) return encodeBase64(new Uint8Array(data));
  throw invalidBlock(`has ${what} that is neither base64 text nor bytes`);
}

/** Returns a tool result with `isError` and one text block, which is valid in every version. */
export function errorText(text: string): JsonObject {
  return { content: [{ type: "text", text }], isError: true };
}

/** Returns the named members of a value, except those that are undefined. */
export function pick(value: object, fields: readonly string[]): JsonObject {
  const source = value as JsonObject;
  const picked: JsonObject = {};
  for (const field of fields) if (source[field] !== undefined) picked[field] = source[field];
  return picked;
}

function describeLacking(block: ContentBlock): string {
  if (block.type === "resource_link") return `${block.title ?? block.name}: ${block.uri}`;
  const mimeType = "mimeType" in block ? ` (${block.mimeType})` : "";
  return `[${block.type} content${mimeType} left out: the protocol version of this client has no such content]`;
}

function describeType(value: unknown): string {
  return isObject(value) ? (JSON.stringify(value.type) ?? "missing") : `missing, the value is ${typeof value}`;
}

function invalidBlock(problem: string): KitError {
  return new KitError("result-invalid", `A content block ${problem}.`);
}
