/**
 * Functions that examine content without rendering it.
 *
 * @module
 */
import type { CallToolResult, ReceivedContentBlock } from "../../client/index.ts";
import { isObject } from "../../core/protocol/jsonrpc.ts";

/** Returns the human-readable size of base64 data. */
export function sizeOf(base64: string): string {
  const bytes = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** Returns the data URL of an image or audio. Undefined if the media type or the data is malformed. */
export function sourceOf(type: string, base64: string): string | undefined {
  return /^(image|audio)\/[\w.+-]+(;[\w=; -]+)?$/.test(type) && /^[\w+/=\s]*$/.test(base64)
    ? `data:${type};base64,${base64}`
    : undefined;
}

/** Returns the value of text that is a JSON object or array. Undefined for other text. */
export function parseStructured(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) || Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the content without text that repeats the structured result as JSON, which tools send for older clients. */
export function withoutDouble({ content, structuredContent }: CallToolResult): readonly ReceivedContentBlock[] {
  if (structuredContent === undefined) return content;
  const own = JSON.stringify(structuredContent);
  return content.filter((block) => block.type !== "text" || JSON.stringify(parseStructured(block.text)) !== own);
}

/** One piece of a result as a model receives it. */
export interface ModelPiece {
  /** Models read `text` unchanged. Hosts convert or omit `media`. A `note` explains something to the user. */
  readonly kind: "text" | "media" | "note";
  readonly text: string;
}

/** Returns the pieces of a result that a model receives. */
export function toModelPieces({ content, isError, structuredContent }: CallToolResult): readonly ModelPiece[] {
  const blocks = content.filter(({ annotations }: ReceivedContentBlock) => {
    const audience = annotations?.audience;
    return audience === undefined || audience.includes("assistant");
  });
  const hidden = content.length - blocks.length;
  const pieces = blocks.map(toPiece);
  return [
    ...(isError === true ? [{ kind: "note", text: "The tool failed. The model sees:" } as const] : []),
    ...pieces,
    ...(hidden > 0 ? [{ kind: "note", text: `${hidden} for the user only` } as const] : []),
    ...(structuredContent !== undefined && pieces.length === 0
      ? [
          {
            kind: "note",
            text: "Nothing: most hosts pass only content to the model, and there is none.",
          } as const,
        ]
      : []),
  ];
}

function toPiece(block: ReceivedContentBlock): ModelPiece {
  switch (block.type) {
    case "text":
      return { kind: "text", text: block.text };
    case "image":
    case "audio":
      return { kind: "media", text: `${block.type}: ${block.mimeType}, ${sizeOf(block.data)}` };
    case "resource":
      return "text" in block.resource
        ? { kind: "text", text: block.resource.text }
        : { kind: "media", text: `file: ${block.resource.mimeType ?? "unknown type"}, ${sizeOf(block.resource.blob)}` };
    case "resource_link":
      return { kind: "text", text: `${block.name}: ${block.uri}` };
    default:
      return { kind: "note", text: "A block of an unknown type" };
  }
}

/** The average number of characters per token in English. */
const TOKEN_CHARACTERS = 4;

/** Estimates the number of tokens of the text pieces. */
export function tokensOf(pieces: readonly ModelPiece[]): number {
  const characters = pieces.reduce((sum, { kind, text }) => sum + (kind === "text" ? text.length : 0), 0);
  return Math.ceil(characters / TOKEN_CHARACTERS);
}
