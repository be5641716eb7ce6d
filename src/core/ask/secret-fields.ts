/**
 * Finds form fields that ask for a secret. Form input passes through the client and often its model, so secrets must be
 * requested in URL mode.
 *
 * @module
 * @see MCP 2026-07-28, client/elicitation, "Form Mode Security"
 */
import { KitError } from "../protocol/errors.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { describeRequest } from "../protocol/request-description.ts";
import type { AskedBy, QuestionReporter } from "./asked-by.ts";
import type { Question } from "./questions.ts";

/**
 * Words for secrets that consist of digits, so the field may also be a number. They match names normalised by {@link
 * toWords}.
 */
const DIGITS =
  /\b(pins?|pin ?codes?|pass ?codes?|otp|cvv|cvc|card ?(numbers?|no)|(credit|debit) ?cards?|security codes?)\b/;
const TEXT =
  /\b(pass ?words?|passwd|pwd|pass ?phrases?|secrets?|tokens?|credentials?|bearer|jwt|(api|access|private|signing) ?keys?)\b/;

/** Returns the names of the properties whose name or title suggests a secret. */
export function findSecretFields(requestedSchema: unknown): readonly string[] {
  const properties =
    isObject(requestedSchema) && isObject(requestedSchema.properties) ? requestedSchema.properties : {};
  return Object.entries(properties)
    .filter(([name, property]) => isObject(property) && asksForSecret([name, property.title], property))
    .map(([name]) => name);
}

function asksForSecret(
  names: readonly unknown[],
  { type, enum: choices, oneOf }: { [member: string]: unknown },
): boolean {
  // A choice shows all possible answers, so it cannot be a secret.
  if (choices !== undefined || oneOf !== undefined) return false;
  const words = names.filter((name) => typeof name === "string").map(toWords);
  if (type === "string") return words.some((text) => TEXT.test(text) || DIGITS.test(text));
  return (type === "number" || type === "integer") && words.some((text) => DIGITS.test(text));
}

/** Normalises a name: `apiKey`, `API_KEY` and "API key" all give "api key". */
function toWords(name: string): string {
  return name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .toLowerCase();
}

/**
 * The warnings reported for each server. The bound stops forms with generated names from filling memory and the log.
 */
const warned = new WeakMap<QuestionReporter, Set<string>>();
/** @limit internal */
const WARNINGS_MAX = 1000;

/** Reports a form that asks for a secret to `onError`, once for each tool or prompt and set of fields. */
export function warnOfSecrets({ params }: Question, by: AskedBy): void {
  const fields = findSecretFields(params?.requestedSchema).map((name) => JSON.stringify(name));
  if (fields.length === 0) return;
  const { method, requestId, tool, prompt } = describeRequest(by.request, by.client, by.principal);
  const asker = tool === undefined ? (prompt === undefined ? method : `prompt "${prompt}"`) : `tool "${tool}"`;
  const text = `The form of ${asker} asks for ${fields.join(", ")}, which looks like a secret. Use ctx.elicitUrl() or elicitUrlQuestion().`;
  const known = warned.get(by.registry) ?? new Set();
  if (known.has(text) || known.size >= WARNINGS_MAX) return;
  warned.set(by.registry, known.add(text));
  const context = { method, requestId, ...(tool === undefined ? {} : { tool }) };
  by.registry.report(new KitError("elicitation-secret", text), context, by.onError);
}
