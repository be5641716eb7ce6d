/**
 * Formats values as TypeScript. Strings come from clients and servers, so they are escaped and cannot end their literal.
 *
 * @module
 */
import { isObject } from "../../core/protocol/jsonrpc.ts";
import { REDACTED } from "../redact/secrets.ts";
import { isTime, patternOf } from "./mask.ts";

/** The name of the member that an expression can replace. */
const STATE = "requestState";

/** Returns a value as a literal. @param state An expression that replaces a sealed state. */
export function formatCode(value: unknown, state?: string): string {
  return write(value, 0, (leaf, name) => (name === STATE && state !== undefined ? state : literal(leaf)));
}

/** Returns the expectation of a test for a value. Varying and redacted parts match any value of the same kind. */
export function formatExpectation(value: unknown): string {
  return write(value, 0, expectationOf);
}

function expectationOf(leaf: unknown, name: string | undefined): string {
  if (typeof leaf === "number") return isTime(leaf) ? "expect.any(Number)" : literal(leaf);
  if (typeof leaf !== "string") return literal(leaf);
  if (leaf === "<number>") return "expect.any(Number)";
  if (leaf === "<boolean>") return "expect.any(Boolean)";
  if (leaf.includes(REDACTED) || /^<text, \d+ characters?>$/.test(leaf)) return "expect.any(String)";
  if (/^<(?:nested deeper|value|bytes, \d+|\d+ more)>$/.test(leaf)) return "expect.anything()";
  // The server creates a new id for each question.
  if (name === "id" && /[\da-f-]{16,}/i.test(leaf)) return "expect.any(String)";
  const pattern = patternOf(leaf);
  return pattern === undefined ? literal(leaf) : `expect.stringMatching(/${pattern}/)`;
}

type Leaf = (leaf: unknown, name: string | undefined) => string;

function write(value: unknown, depth: number, leaf: Leaf, name?: string): string {
  const pad = "  ".repeat(depth + 1);
  const end = "  ".repeat(depth);
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((each) => `${pad}${write(each, depth + 1, leaf)},`).join("\n")}\n${end}]`;
  }
  if (!isObject(value)) return leaf(value, name);
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  if (entries.length === 0) return "{}";
  // A value with omitted members cannot be compared.
  if (entries.some(([member]) => member === "…" || member.startsWith("<member "))) return "expect.anything()";
  const members = entries.map(
    ([member, each]) => `${pad}${propertyOf(member)}: ${write(each, depth + 1, leaf, member)},`,
  );
  return `{\n${members.join("\n")}\n${end}}`;
}

function propertyOf(name: string): string {
  // As a property name, __proto__ would set the prototype.
  if (name === "__proto__") return '["__proto__"]';
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name);
}

/** Returns a value as JSON, which is valid TypeScript. Line separators and control characters are escaped too. */
function literal(value: unknown): string {
  return (JSON.stringify(value ?? null) ?? "null").replace(
    /[\u2028\u2029\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
