/**
 * Names of tools, which tell a model what the tool does with what, such as `get_pet`.
 *
 * @module
 */
import { NAME_CHARS_MAX } from "./limits.ts";
import type { Operation } from "./operations.ts";
import { unique, wordsOf } from "./text.ts";

const VERBS = new Set(
  "get list find search read fetch create add post put update replace set patch delete remove cancel send check upload download start stop enable disable archive restore move copy approve reject retrieve query count run close open merge invite revoke rotate refresh place log login logout validate verify lookup".split(
    " ",
  ),
);

/** Matches parts of a path that have no meaning for a model. */
const NOISE = /^(api|apis|rest|v\d+([a-z]+\d*)?|\d{4}-\d{2}-\d{2}|beta|public)$/;

/** The names that are already assigned or taken. */
export interface GivenNames {
  /** The names that operations keep, by operation. */
  readonly kept?: Readonly<Record<string, string>>;
  /** The names of the other tools in the project. */
  readonly taken?: readonly string[];
  /** The name of the API, which is the prefix of names that are already taken. */
  readonly prefix?: string;
}

/** Returns a unique name for each operation. */
export function nameTools(
  operations: readonly Operation[],
  { kept = {}, taken: others = [], prefix = "api" }: GivenNames = {},
): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const { id } of operations) {
    const name = Object.hasOwn(kept, id) ? kept[id] : undefined;
    // In a record that was edited by hand, two operations can have the same name. The first one keeps it.
    if (name === undefined || taken.has(name) || !/^[a-z][\w-]{0,63}$/i.test(name)) continue;
    names.set(id, name);
    taken.add(name);
  }
  for (const name of others) taken.add(name);
  const isOthers = new Set(others);
  for (const operation of operations) {
    if (names.has(operation.id)) continue;
    const [first, second] = candidates(operation);
    const wanted = taken.has(first) && !taken.has(second) ? second : first;
    const name = unique(isOthers.has(first) ? join([...wordsOf(prefix), ...wordsOf(first)]) : wanted, taken);
    taken.add(name);
    names.set(operation.id, name);
  }
  return names;
}

/** The preferred name, and the alternative if another tool has that name. */
function candidates(operation: Operation): [string, string] {
  const fromPath = join(wordsOfPath(operation));
  const words = wordsOf(operation.operationId ?? "");
  if (words.length === 0 || isGenerated(words, operation)) return [fromPath, join(allWords(operation))];
  return [join(verbFirst(words, operation)), fromPath];
}

/** Whether a name was generated from the method and the path, as frameworks do. Such names are long and add no meaning. */
function isGenerated(words: readonly string[], { method, path }: Operation): boolean {
  const literal = path.split("/").flatMap((part) => wordsOf(part.replace(/[{}]/g, " ")));
  const known = new Set([...literal, method.toLowerCase(), "by", "api"]);
  const hasNoise = words.some((word) => NOISE.test(word));
  return (words.length > 2 && hasNoise) || (words.length > 3 && words.every((word) => known.has(word)));
}

/** Verbs that are also nouns. At the end of the name of a GET operation they are nouns, such as in "audit log". */
const NOUNS = new Set("log place post run set check query copy".split(" "));

/** Moves a verb to the front: `pets_list` becomes `list_pets`. */
function verbFirst(words: readonly string[], { method }: Operation): readonly string[] {
  const [first = "", ...rest] = words;
  if (VERBS.has(first) || rest.length === 0) return words;
  const isNoun = (word: string, at: number) => method === "GET" && at === rest.length - 1 && NOUNS.has(word);
  const at = rest.findIndex((word, place) => VERBS.has(word) && !isNoun(word, place));
  if (at < 0) return words;
  return [rest[at] ?? "", first, ...rest.slice(0, at), ...rest.slice(at + 1)];
}

function wordsOfPath(operation: Operation): string[] {
  const { method, path, response } = operation;
  const parts = path.split("/").filter((part) => part !== "" && !NOISE.test(part));
  const isItem = /\}$/.test(parts.at(-1) ?? "");
  const literal = parts.flatMap((part, at) => {
    if (part.startsWith("{")) return [];
    const words = wordsOf(part);
    if (words.length === 0) return [];
    const hasId = /^\{/.test(parts[at + 1] ?? "");
    return [hasId ? words.with(-1, singular(words.at(-1) ?? "")) : words];
  });
  const last = literal.at(-1) ?? ["root"];
  const [first = ""] = last;
  if (method === "POST" && VERBS.has(first) && literal.length > 1) return [...last, ...(literal.at(-2) ?? [])];
  const isList = method === "GET" && !isItem && isPlural(last.at(-1) ?? "", response);
  const verb = { GET: isList ? "list" : "get", POST: "create", PUT: "replace", PATCH: "update", DELETE: "delete" }[
    method
  ];
  const object = method === "POST" && !isItem ? last.with(-1, singular(last.at(-1) ?? "")) : last;
  const parent = literal.length > 1 ? (literal.at(-2) ?? []) : [];
  return [verb, ...parent, ...object];
}

function allWords({ method, path }: Operation): string[] {
  return [method.toLowerCase(), ...path.split("/").flatMap((part) => (part.startsWith("{") ? [] : wordsOf(part)))];
}

function isPlural(word: string, response: unknown): boolean {
  return singular(word) !== word || (response as { type?: unknown } | undefined)?.type === "array";
}

function singular(word: string): string {
  if (/(ss|us|is|news|series)$/.test(word)) return word;
  if (/ies$/.test(word)) return word.replace(/ies$/, "y");
  if (/(ses|xes|ches|shes)$/.test(word)) return word.replace(/es$/, "");
  return word.replace(/s$/, "");
}

function join(words: readonly string[]): string {
  const distinct = words.filter((word, at) => word !== words[at - 1]);
  while (distinct.join("_").length > NAME_CHARS_MAX && distinct.length > 2) distinct.splice(distinct.length - 2, 1);
  const name = distinct.join("_").slice(0, NAME_CHARS_MAX).replace(/_$/, "");
  return /^[a-z]/.test(name) ? name : `call_${name}`.slice(0, NAME_CHARS_MAX);
}
