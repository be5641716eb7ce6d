/** Compares the results of two servers. */
import type { Answers } from "./ask.ts";

/** Removes the differences that the documents of the migration describe, because they are not counted. */
export function normalize(key: string, answer: unknown): unknown {
  const text = JSON.stringify(answer ?? null, (name, value: unknown) => {
    if (name === "$schema" || name === "execution") return undefined;
    if (name === "additionalProperties" && value === false) return undefined;
    // Capabilities follow from the definitions.
    if (name === "capabilities" && key === "initialize") return undefined;
    // The result of a prompt repeats its description.
    if (name === "description" && key.startsWith("prompt ") && typeof value === "string") return undefined;
    return value;
  });
  const value = sorted(JSON.parse(text) as unknown);
  return isRefusal(value) ? "refused" : value;
}

/** Whether a value is the refusal of arguments or of a name. The kits refuse with an error or with a result, and with different texts. */
function isRefusal(value: unknown): boolean {
  const text = JSON.stringify(value);
  return /Input validation error|Invalid arguments for tool|Unknown tool|Tool no_such_tool|MCP error -32602|"code":-3260[12]/.test(
    text,
  );
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(
    ([name, each]) => !(name === "_meta" && Object.keys(each as object).length === 0),
  );
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, each]) => [name, sorted(each)]));
}

/** Returns the questions with different answers. A value that differs between two runs of the old server is not compared. */
export function differences(old: Answers, again: Answers, migrated: Answers): string[] {
  return Object.keys(old).filter((key) => {
    const [a, b, c] = [old, again, migrated].map((answers) => normalize(key, answers[key]));
    return JSON.stringify(masked(a, b, a)) !== JSON.stringify(masked(a, b, c));
  });
}

/** Replaces each value that differs between two runs. */
function masked(a: unknown, b: unknown, value: unknown): unknown {
  if (Array.isArray(a) && Array.isArray(b) && Array.isArray(value))
    return value.map((each, at) => masked(a[at], b[at], each));
  if (isObject(a) && isObject(b) && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, masked(a[name], b[name], each)]));
  }
  return JSON.stringify(a) === JSON.stringify(b) ? value : "(varies)";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
