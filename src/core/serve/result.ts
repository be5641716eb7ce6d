/**
 * Converts the return value of a tool's handler to a result that is valid in the client's version.
 *
 * @module
 * @see MCP 2026-07-28, server/tools, "Tool Result"
 */

import { type CompiledTool, hasObjectRoot, type ToolResult } from "../define/tool.ts";
import { type ContentBlock, encodeBlock, isContentBlock } from "../protocol/content.ts";
import { KitError, type ToolError } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { describeIssues } from "../protocol/schema.ts";
import type { VersionRules } from "../protocol/versions.ts";

/**
 * Returns the result of a call.
 *
 * @throws {KitError} `output-misfit` naming the path if the value does not fit the output schema; `result-invalid` if a
 *   content block is invalid. Then no part of the value must be sent.
 */
export async function toToolResult(tool: CompiledTool, returned: unknown, rules: VersionRules): Promise<JsonObject> {
  const result = tool.output ? structuredResult(returned) : plainResult(returned, tool.name);
  const isError = result.isError === true;
  const checked = tool.output && !isError ? await checkStructured(tool, result) : result.structuredContent;
  return encodeToolResult({ ...result, structuredContent: checked }, rules, hasOtherRoot(tool, isError));
}

/** Returns the result of a failure that the model is meant to read. */
export function toErrorResult(error: ToolError, rules: VersionRules): JsonObject {
  const content = (error.content ?? [{ type: "text", text: error.message }]) as readonly ContentBlock[];
  return encodeToolResult({ content, structuredContent: error.structuredContent, isError: true }, rules, false);
}

/**
 * With an output schema, only a value with `structuredContent` or `isError: true` is a full result. Any other value is
 * the structured content, even if it has a member `content`.
 */
function structuredResult(returned: unknown): ToolResult {
  const isFull = isObject(returned) && (returned.isError === true || Object.hasOwn(returned, "structuredContent"));
  return isFull ? (returned as ToolResult) : { structuredContent: returned };
}

function plainResult(returned: unknown, name: string): ToolResult {
  if (returned === undefined || returned === null) return { content: [] };
  if (typeof returned === "string") return { content: [{ type: "text", text: returned }] };
  if (isFullResult(returned)) return returned;
  if (isContentBlock(returned)) return { content: [returned] };
  if (isContentList(returned)) return { content: returned.map(toBlock) };
  if (typeof returned === "object") return { content: [{ type: "text", text: toJson(returned) }] };
  throw new KitError(
    "result-invalid",
    `Tool "${name}" returned a ${typeof returned}; return text, content blocks or an object.`,
  );
}

/** Whether a value is a list of content blocks, possibly with texts among them. A list of texts alone is data. */
function isContentList(value: unknown): value is readonly (ContentBlock | string)[] {
  if (!Array.isArray(value)) return false;
  const isContent = value.every((part) => typeof part === "string" || isContentBlock(part));
  return isContent && (value.length === 0 || value.some(isContentBlock));
}

function toBlock(part: ContentBlock | string): ContentBlock {
  return typeof part === "string" ? { type: "text", text: part } : part;
}

/**
 * Whether a value is a full result: it has an array of blocks as `content`, or else `isError: true` or
 * `structuredContent`.
 */
function isFullResult(value: unknown): value is ToolResult {
  if (!isObject(value)) return false;
  if (Array.isArray(value.content)) return value.content.every(isContentBlock);
  return value.content === undefined && (value.isError === true || Object.hasOwn(value, "structuredContent"));
}

async function checkStructured(tool: CompiledTool, result: ToolResult): Promise<unknown> {
  const outcome = await tool.output?.validate(result.structuredContent);
  if (!outcome?.issues) return outcome?.value;
  const why = describeIssues(outcome.issues, "structuredContent");
  throw new KitError("output-misfit", `The result of tool "${tool.name}" does not fit its output schema: ${why}`);
}

/**
 * Whether versions that allow only object roots must leave out the structured content, because the schema cannot be
 * listed.
 */
function hasOtherRoot(tool: CompiledTool, isError: boolean): boolean {
  return tool.output !== undefined && !isError && !hasObjectRoot(tool.output.json);
}

function encodeToolResult(result: ToolResult, rules: VersionRules, hasOtherRoot: boolean): JsonObject {
  const { structuredContent: structured, content, isError, _meta } = result;
  const isSent = rules.structured === "any" || (rules.structured === "object" && isObject(structured) && !hasOtherRoot);
  // A client that received neither content nor structured content would not see the result at all.
  const isNeeded = !isSent && content?.length === 0;
  const encoded: JsonObject = { content: encodeContent(isNeeded ? undefined : content, structured, rules) };
  if (structured !== undefined && isSent) encoded.structuredContent = structured;
  if (isError !== undefined) encoded.isError = isError;
  if (_meta !== undefined) encoded._meta = _meta;
  return encoded;
}

/** Returns the content blocks. Structured content is also sent as JSON text, unless the author has set the content. */
function encodeContent(content: ToolResult["content"], structured: unknown, rules: VersionRules): JsonObject[] {
  if (content !== undefined) return content.map((block) => encodeBlock(block, rules));
  return structured === undefined ? [] : [{ type: "text", text: toJson(structured) }];
}

function toJson(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new KitError("result-invalid", `A ${typeof value} cannot be encoded as JSON.`);
  return text;
}
