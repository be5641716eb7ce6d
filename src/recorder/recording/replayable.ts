/**
 * Checks whether the request of an entry can be sent again.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Entry } from "../entry.ts";
import { REDACTED } from "../redact/secrets.ts";
import { isReplaced } from "../redact/shape.ts";

/** Returns the client messages in the request of an entry. */
export function requestOf(entry: Entry): readonly unknown[] {
  const first = entry.messages.findIndex(({ from }) => from === "server");
  const end = first === -1 ? entry.messages.length : first;
  return entry.messages.slice(0, end).flatMap(({ from, message }) => (from === "client" ? [message] : []));
}

/** Returns the reason why an entry cannot be sent again. Undefined if it can. */
export function findProblem(entry: Entry, messages: readonly unknown[] = requestOf(entry)): string | undefined {
  const name = entry.method ?? entry.http?.method ?? entry.kind;
  if (entry.kind === "alarm" || entry.kind === "scheduled") return "An alarm is not a request that can be sent again.";
  if (entry.request?.body !== undefined) return "The body of this request is not recorded.";
  if (messages.some(isReplaced)) {
    return `The arguments of this ${name} were not recorded. Start "mcp-edge dev --contents", and make the call again.`;
  }
  const rest = messages.map((message) => withoutStates(message));
  if (rest.some(containsSecret)) return "The request contains a secret, which is not recorded.";
  return undefined;
}

/** Removes the sealed state, which a test takes from an earlier response. */
function withoutStates(message: unknown): unknown {
  if (!isObject(message) || !isObject(message.params)) return message;
  const { requestState: _, ...params } = message.params;
  return { ...message, params };
}

function containsSecret(value: unknown): boolean {
  if (typeof value === "string") return value.includes(REDACTED);
  if (Array.isArray(value)) return value.some(containsSecret);
  return isObject(value) && Object.values(value).some(containsSecret);
}

/** Returns whether a message contains a sealed state. */
export function hasState(message: unknown): message is JsonObject {
  return isObject(message) && isObject(message.params) && message.params.requestState !== undefined;
}
