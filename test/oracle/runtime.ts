/** The official packages' runtime schemas, one package per version, and their known mistakes. */

import * as modern from "@modelcontextprotocol/core";
import * as v2025_11_25 from "@modelcontextprotocol/sdk/types.js";
import * as v2024_11_05 from "sdk-2024-11-05/types.js";
import * as v2025_03_26 from "sdk-2025-03-26/types.js";
import * as v2025_06_18 from "sdk-2025-06-18/types.js";
import { isJson } from "./spec.ts";

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The common interface of zod 3 and zod 4, which the packages use. */
interface RuntimeSchema {
  safeParse(value: unknown): { success: boolean; error?: { issues: readonly Issue[] } | undefined };
}

const PACKAGES: { readonly [version: string]: { readonly [name: string]: unknown } } = {
  "2024-11-05": v2024_11_05,
  "2025-03-26": v2025_03_26,
  "2025-06-18": v2025_06_18,
  "2025-11-25": v2025_11_25,
  "2026-07-28": modern,
};

function isRuntimeSchema(value: unknown): value is RuntimeSchema {
  return typeof value === "object" && value !== null && "safeParse" in value && typeof value.safeParse === "function";
}

/**
 * A case in which an official runtime schema refuses what its version allows, according to the specification's JSON
 * Schema. To stay narrow, an exception does not excuse a message: it adds the one thing that the package wrongly
 * requires, and the package checks the rest. `runtime.test.ts` shows that each exception is needed and hides nothing
 * else.
 */
export interface Exception {
  readonly version: string;
  readonly definition: string;
  readonly why: string;
  /** Returns the value with what the package requires, or the value itself. */
  readonly amend: (value: unknown) => unknown;
}

export const EXCEPTIONS: readonly Exception[] = [
  {
    version: "2026-07-28",
    definition: "ElicitRequestURLParams",
    why: "one schema serves two eras and still requires the elicitationId that URL elicitation lost in 2026-07-28",
    amend: withElicitationId,
  },
  {
    version: "2026-07-28",
    definition: "ElicitRequest",
    why: "the same, one level up",
    amend: (value) => (isJson(value) ? { ...value, params: withElicitationId(value.params) } : value),
  },
];

function withElicitationId(params: unknown): unknown {
  return isJson(params) && params.mode === "url" ? { elicitationId: "none", ...params } : params;
}

/**
 * Definitions with other names: the packages have the array form of `content` (tool use in sampling) in a second
 * schema.
 */
const RENAMED: { readonly [definition: string]: string } = {
  CreateMessageResult: "CreateMessageResultWithTools",
};

function schemaFor(version: string, definition: string): RuntimeSchema | undefined {
  const schemas = PACKAGES[version];
  const renamed = schemas?.[`${RENAMED[definition]}Schema`];
  const schema = renamed ?? schemas?.[`${definition}Schema`];
  return isRuntimeSchema(schema) ? schema : undefined;
}

/**
 * Problems of a value according to the official runtime schema of that name; none if the package has no such schema.
 */
export function runtimeProblems(version: string, definition: string, value: unknown): string[] {
  const exceptions = EXCEPTIONS.filter((each) => each.version === version && each.definition === definition);
  const judged = exceptions.reduce((amended, each) => each.amend(amended), value);
  return strictRuntimeProblems(version, definition, judged);
}

/** The same without the exceptions. */
export function strictRuntimeProblems(version: string, definition: string, value: unknown): string[] {
  const parsed = schemaFor(version, definition)?.safeParse(value);
  if (parsed === undefined || parsed.success) return [];
  const issues = parsed.error?.issues ?? [];
  return issues.slice(0, 3).map((issue) => `/${issue.path.join("/")} ${issue.message}`);
}

/** Whether the package of that version has a schema of that name. */
export function hasRuntime(version: string, definition: string): boolean {
  return schemaFor(version, definition) !== undefined;
}
