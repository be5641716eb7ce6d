/**
 * Limits the size of results, and marks the results that were truncated.
 *
 * @module
 */

import type { AroundHook } from "../core/define/hook-types.ts";
import { checkOptions, type OptionTable, SIZE } from "../core/protocol/check-options.ts";
import * as ErrorCode from "../core/protocol/error-codes.ts";
import { KitError, McpError } from "../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import { findRequest, type RunKind } from "../core/protocol/methods.ts";

/** Options of {@link truncateResults}. */
export interface TruncateOptions {
  /**
   * The maximum number of characters of a result: its text, plus the rest of the result as JSON. Longer text is truncated, with a
   * sentence that states how much is missing. A result that is still longer is refused.
   */
  readonly charsMax: number;
}

const OPTIONS: OptionTable<TruncateOptions> = { charsMax: SIZE };

/** The characters that are reserved in each text for the sentence about its truncation. */
const SENTENCE_CHARS = 90;

/** The results that are bounded, as errors name them. */
const BOUNDED: Readonly<Record<RunKind, string>> = {
  tool: "The result of the tool",
  prompt: "The prompt",
  resource: "The resource",
};

/**
 * Creates an entry of the option `around` of `new McpServer()` that limits the size of the results of tools, prompts and
 * resources, so that no result fills the context of a model or the memory of a client.
 *
 * A text is truncated between two characters, and ends with a sentence that states how many characters are missing.
 * `structuredContent`, binary data, and resources of a media type other than `text/*` are never truncated, because a part of them
 * would be useless. If the rest of the result is longer than `charsMax`, a tool returns an error that the model reads, and any other
 * method fails with -32603 and the reason "result-too-large".
 *
 * ```ts
 * import { truncateResults } from "mcp-edge/safe";
 *
 * const bounded = new McpServer({ name: "bounded", version: "1.0.0", around: [truncateResults({ charsMax: 50_000 })] });
 * ```
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function truncateResults<Env = unknown>(options: TruncateOptions): AroundHook<Env> {
  checkOptions("truncateResults(): ", options, OPTIONS);
  const { charsMax } = options;
  if (charsMax === undefined) throw new KitError("options-invalid", "truncateResults(): charsMax is missing.");
  return async ({ method }, next) => {
    const result = await next();
    const kind = findRequest(method)?.runs;
    return kind === undefined || !isObject(result) ? result : bounded(result, charsMax, kind);
  };
}

/** @throws {McpError} -32603 for a result that is too long and is not that of a tool. */
function bounded(result: JsonObject, charsMax: number, kind: RunKind): JsonObject {
  const texts: string[] = [];
  const others = JSON.stringify(withTexts(result, (text) => `${texts.push(text) - 1}`)).length;
  const total = others + texts.reduce((sum, text) => sum + text.length, 0);
  if (total <= charsMax) return result;
  // The sentences must fit too, whichever texts are truncated.
  let left = charsMax - others - texts.length * SENTENCE_CHARS;
  if (left < 0 || texts.length === 0) return refused(total, charsMax, kind);
  return withTexts(result, (text) => {
    const kept = text.length <= left ? text : cut(text, left);
    left -= kept.length;
    if (kept === text) return text;
    const missing = (text.length - kept.length).toLocaleString("en-US");
    const all = text.length.toLocaleString("en-US");
    return `${kept}\n[Truncated: ${missing} of ${all} characters are missing here.]`;
  });
}

/** Returns the error in place of a result that cannot be cut. */
function refused(chars: number, charsMax: number, kind: RunKind): JsonObject {
  const [has, may] = [chars, charsMax].map((number) => number.toLocaleString("en-US"));
  const text = `${BOUNDED[kind]} is too large: it has ${has} characters of at most ${may}, and cannot be cut. Ask for less.`;
  if (kind === "tool") return { content: [{ type: "text", text }], isError: true };
  throw new McpError(ErrorCode.InternalError, text, { reason: "result-too-large", chars, charsMax });
}

/** Returns a copy of a result in which a function has replaced every text that can be truncated. */
function withTexts(result: JsonObject, change: (text: string) => string): JsonObject {
  const block = (value: unknown): unknown => {
    if (!isObject(value)) return value;
    if (isObject(value.resource)) return { ...value, resource: contents(value.resource) };
    return value.type === "text" && typeof value.text === "string" ? { ...value, text: change(value.text) } : value;
  };
  const contents = (value: unknown): unknown => {
    if (!isObject(value) || typeof value.text !== "string") return value;
    const isText = value.mimeType === undefined || /^text\//i.test(String(value.mimeType));
    return isText ? { ...value, text: change(value.text) } : value;
  };
  const message = (value: unknown): unknown => (isObject(value) ? { ...value, content: block(value.content) } : value);
  const members = Object.entries({ content: block, messages: message, contents }).flatMap(([name, changed]) => {
    const list = result[name];
    return Array.isArray(list) ? [[name, list.map(changed)] as const] : [];
  });
  return { ...result, ...Object.fromEntries(members) };
}

/** Returns the beginning of a text, which ends between two user-perceived characters (graphemes). */
function cut(text: string, lengthMax: number): string {
  const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return text.slice(0, characters.segment(text).containing(lengthMax)?.index);
}
