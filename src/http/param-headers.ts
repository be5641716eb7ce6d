/**
 * Checks that `Mcp-Param-*` headers match the arguments of a tool call.
 *
 * @module
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Server Behavior for Custom Headers"
 */

import { isObject } from "../core/protocol/jsonrpc.ts";
import type { ParamHeader } from "../core/protocol/param-headers.ts";
import { decodeHeaderValue } from "./headers.ts";

/** Returns the first mismatch, or undefined. A header is required exactly when its argument is present and not null. */
export function findParamProblem(
  expected: readonly ParamHeader[],
  args: unknown,
  headers: Headers,
): string | undefined {
  for (const { name, path } of expected) {
    const header = `Mcp-Param-${name}`;
    const problem = findProblem(headers.get(header), valueAt(args, path));
    if (problem) return `${header} ${problem}`;
  }
  return undefined;
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

function findProblem(header: string | null, value: unknown): string | undefined {
  if (value === undefined || value === null) return header === null ? undefined : "is present but its argument is not";
  if (header === null) return "is missing";
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined) return "has invalid characters or broken base64";
  return agrees(decoded, value) ? undefined : "does not match the argument";
}

/**
 * Returns whether a header matches an argument. Numbers are compared as numbers. Objects and arrays are left to
 * validation.
 */
function agrees(text: string, value: unknown): boolean {
  switch (typeof value) {
    case "number":
      return (Number.isInteger(value) ? INTEGER : DECIMAL).test(text) && Number(text) === value;
    case "string":
    case "boolean":
      return text === String(value);
    default:
      return true;
  }
}

const INTEGER = /^-?\d+(\.0+)?$/;
const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
