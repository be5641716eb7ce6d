/**
 * Converts capabilities, results, questions and errors between the protocol versions of host and server.
 *
 * @module
 */
import { shapeQuestion } from "../../core/ask/questions.ts";
import { ClientFacts } from "../../core/protocol/client-facts.ts";
import { encodeBlock, encodeContents, isContentBlock, pick } from "../../core/protocol/content.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { isObject, type JSONRPCErrorObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { readMeta } from "../../core/protocol/lifecycle.ts";
import * as META from "../../core/protocol/meta.ts";
import { findRequest, type ListMember, type RunKind } from "../../core/protocol/methods.ts";
import type { Era, VersionRules } from "../../core/protocol/versions.ts";

/** "Resource not found" in legacy versions. */
const NOT_FOUND = -32002;
/** Returns the server's capabilities that exist in the host's version. */
export function capabilitiesFor(capabilities: JsonObject, rules: VersionRules, isSame: boolean): JsonObject {
  if (isSame) return capabilities;
  // Tasks of 2025-11-25 and of the extension differ too much to be converted.
  const { tasks: _tasks, extensions: _extensions, completions, ...rest } = capabilities;
  const hasCompletions = completions !== undefined && rules.completionsCapability;
  return { ...rest, ...(hasCompletions ? { completions } : {}) };
}

/** Converts a result to the host's version. @param info The name and version of the server. */
export function resultFor(
  result: JsonObject,
  method: string,
  rules: VersionRules,
  { isSame, info }: { readonly isSame: boolean; readonly info?: unknown },
): JsonObject {
  const fitting = isSame ? result : shapeResult(result, method, rules);
  if (rules.era === "legacy") return fitting;
  const meta = readMeta(fitting);
  const named = info === undefined ? meta : { [META.serverInfo]: info, ...meta };
  return {
    resultType: "complete",
    ...(findRequest(method)?.isCacheable ? { ttlMs: 0, cacheScope: "private" } : {}),
    ...fitting,
    ...(Object.keys(named).length === 0 ? {} : { _meta: named }),
  };
}

type Shape = (value: JsonObject, rules: VersionRules) => JsonObject;

/** Converts the entries of each list. The tasks of the two eras are not converted to each other. */
const ENTRIES: Readonly<Record<ListMember, Shape | undefined>> = {
  tools: shapeTool,
  prompts: (prompt, rules) => pick(prompt, rules.promptFields),
  resources: (resource, rules) => pick(resource, rules.resourceFields),
  resourceTemplates: (template, rules) => pick(template, rules.templateFields),
  tasks: undefined,
};

/** Converts the results of requests that run a handler. */
const RESULTS: Readonly<Record<RunKind, Shape>> = {
  tool: shapeCall,
  prompt: (result, rules) => ({
    ...result,
    messages: convertEach(result.messages, (each) => ({ ...each, content: shapeBlock(each.content, rules) })),
  }),
  resource: (result, rules) => ({
    ...result,
    contents: convertEach(result.contents, (each) => orSame(each, () => encodeContents(each, rules))),
  }),
};

/** Removes or converts what the host's version does not have: members, kinds of content, structured content that is not an object. */
function shapeResult(result: JsonObject, method: string, rules: VersionRules): JsonObject {
  const rest = rules.era === "modern" ? result : withoutEnvelope(result);
  const { list, runs } = findRequest(method) ?? {};
  if (runs) return RESULTS[runs](rest, rules);
  const shapeEntry = list && ENTRIES[list];
  return shapeEntry ? { ...rest, [list]: convertEach(rest[list], (entry) => shapeEntry(entry, rules)) } : rest;
}

function withoutEnvelope(result: JsonObject): JsonObject {
  const { resultType: _, ttlMs: _ttl, cacheScope: _scope, _meta, ...rest } = result;
  const { [META.serverInfo]: _info, ...meta } = readMeta(result);
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

function convertEach(items: unknown, shape: (item: JsonObject) => unknown): unknown {
  return Array.isArray(items) ? items.map((item) => (isObject(item) ? shape(item) : item)) : items;
}

function shapeTool(tool: JsonObject, rules: VersionRules): JsonObject {
  const { outputSchema, ...rest } = pick(tool, rules.toolFields);
  const isFit = isObject(outputSchema) && (rules.structured === "any" || outputSchema.type === "object");
  return isFit ? { ...rest, outputSchema } : rest;
}

function shapeCall({ structuredContent, ...rest }: JsonObject, rules: VersionRules): JsonObject {
  const isFit = rules.structured === "any" || (rules.structured === "object" && isObject(structuredContent));
  return {
    ...rest,
    content: convertEach(rest.content, (block) => shapeBlock(block, rules)),
    ...(isFit && structuredContent !== undefined ? { structuredContent } : {}),
  };
}

function shapeBlock(block: unknown, rules: VersionRules): unknown {
  return isContentBlock(block) ? orSame(block, (valid) => encodeBlock(valid, rules)) : block;
}

/** Converts a value. A value that is invalid in every version is passed on unchanged, so that the host can report the mistake. */
function orSame<T>(value: T, shape: (value: T) => JsonObject): T | JsonObject {
  try {
    return shape(value);
  } catch {
    return value;
  }
}

/** Converts the params of a question to the host's version. */
export function questionFor(method: string, params: JsonObject, rules: VersionRules): JsonObject {
  if (method !== "elicitation/create") return params;
  return shapeQuestion({ method, params }, new ClientFacts(rules, {}));
}

/** Converts an error to the host's era. */
export function errorFor(error: JSONRPCErrorObject, method: string, era: Era): JSONRPCErrorObject {
  if (findRequest(method)?.runs !== "resource") return error;
  if (era === "modern" && error.code === NOT_FOUND) return { ...error, code: ErrorCode.InvalidParams };
  const namesUri = isObject(error.data) && typeof error.data.uri === "string";
  return era === "legacy" && error.code === ErrorCode.InvalidParams && namesUri ? { ...error, code: NOT_FOUND } : error;
}
