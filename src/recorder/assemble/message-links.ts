/**
 * Links entries by the contents of their messages: sealed states, task ids, idempotency keys, questions.
 *
 * @module
 */
import { isObject, type JSONRPCRequest, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Related } from "../entry.ts";
import type { Assembly } from "./assembly.ts";
import type { BoundedMap } from "./bounded-map.ts";
import type { LiveEntry } from "./live-entry.ts";

/** The member of `_meta` with the idempotency key of a call. */
const IDEMPOTENCY_KEY = "mcp-edge/idempotencyKey";

/** Links a request of the client to earlier entries. */
export function linkRequest({ params }: JsonObject, entry: LiveEntry, assembly: Assembly): void {
  if (!isObject(params)) return;
  const { requestState, taskId, _meta: meta, inputResponses } = params;
  if (typeof requestState === "string") {
    entry.continues = assembly.links.states.get(assembly.hash(requestState));
    relate(assembly.links.states, requestState, "round", entry, assembly);
    entry.marks.add("replay");
  } else if (isObject(inputResponses)) entry.marks.add("replay");
  if (typeof taskId === "string") relate(assembly.links.tasks, taskId, "task", entry, assembly);
  const key = isObject(meta) ? meta[IDEMPOTENCY_KEY] : undefined;
  if (typeof key !== "string") return;
  if (!relate(assembly.links.keys, key, "same-call", entry, assembly))
    assembly.links.keys.set(assembly.hash(key), entry.id);
}

/** Stores the values of a result that a later request repeats: questions, the sealed state and the task id. */
export function linkResult(result: JsonObject, entry: LiveEntry, assembly: Assembly): void {
  const { links, hash } = assembly;
  for (const question of isObject(result.inputRequests) ? Object.values(result.inputRequests) : []) {
    if (isObject(question)) addQuestion(question, entry, assembly);
  }
  if (typeof result.requestState === "string") links.states.set(hash(result.requestState), entry.id);
  const task = isObject(result.task) ? result.task : result;
  const { taskId } = task;
  if (typeof taskId !== "string") return;
  if (links.tasks.get(hash(taskId)) === undefined) links.tasks.set(hash(taskId), entry.id);
}

/** Stores a question of the server, whose answer arrives in a separate request. */
export function linkQuestion(question: JSONRPCRequest, entry: LiveEntry, session: string, assembly: Assembly): void {
  const { id, method } = question;
  addQuestion(question, entry, assembly);
  assembly.links.questions.set(`${session}|${String(id)}`, {
    entryId: entry.id,
    method: assembly.redactor.name(method),
  });
}

/** The maximum number of stored questions of an entry. */
const QUESTIONS_MAX = 200;

/** Stores a question, to detect that it is asked again. */
function addQuestion(
  { method, params }: { readonly method?: unknown; readonly params?: unknown },
  entry: LiveEntry,
  assembly: Assembly,
): void {
  if (entry.questions.length >= QUESTIONS_MAX || typeof method !== "string") return;
  const { message, url, messages } = isObject(params) ? params : {};
  const text = toText([method, message, url, messages]);
  if (text === undefined) return;
  const key = assembly.hash(text.slice(0, 10_000)).slice(0, 16);
  entry.questions.push({ key, method: assembly.redactor.name(method) });
}

/** Returns a value as JSON. Undefined if it is nested too deeply. */
function toText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Links an entry and the earlier entry with the same secret. Returns whether the earlier entry was found. */
function relate(
  map: BoundedMap<string>,
  secret: string,
  why: Related["why"],
  entry: LiveEntry,
  assembly: Assembly,
): boolean {
  const id = map.get(assembly.hash(secret));
  const other = id === undefined ? undefined : assembly.find(id);
  if (!other) return false;
  entry.addRelated(other.id, why);
  other.addRelated(entry.id, why);
  assembly.touch(other);
  return true;
}
