/**
 * Compares two entries, or the entries of two recordings.
 *
 * @module
 */
import { isObject } from "../../core/protocol/jsonrpc.ts";
import type { Comparison, Difference } from "../api.ts";
import type { Entry } from "../entry.ts";
import { masked } from "./mask.ts";

/** The maximum number of differences, of differences of one pair, and the maximum depth of values. */
const [DIFFERENCES_MAX, OF_PAIR_MAX, DEPTH_MAX] = [1_000, 100, 40];

type Where = Omit<Difference, "a" | "b">;

/** Compares entries in pairs, such as the first `tools/call` of a tool on one side with the first on the other side. */
export function compareEntries(left: readonly Entry[], right: readonly Entry[]): Comparison {
  const rest = new Map<string, Entry[]>();
  for (const entry of right) {
    const key = keyOf(entry);
    rest.set(key, [...(rest.get(key) ?? []), entry]);
  }
  const pairs: [Entry | undefined, Entry | undefined][] = left.map((entry) => [entry, rest.get(keyOf(entry))?.shift()]);
  for (const entry of [...rest.values()].flat()) pairs.push([undefined, entry]);
  // Two selected entries are compared even if they have different methods or targets.
  const [only, other] = [left[0], right[0]];
  const isPair = left.length === 1 && right.length === 1;
  const compared: typeof pairs = isPair && only && other ? [[only, other]] : pairs;
  const differences = compared.flatMap(([one, two]) => {
    const ids = { ...(one ? { a: one.id } : {}), ...(two ? { b: two.id } : {}) };
    if (!one || !two)
      return [{ ...ids, where: "entry", left: one ? keyOf(one) : null, right: two ? keyOf(two) : null }];
    return compareTwo(one, two)
      .slice(0, OF_PAIR_MAX)
      .map((each) => ({ ...ids, ...each }));
  });
  return {
    pairs: compared.map(([one, two]) => [one?.id, two?.id]),
    differences: differences.slice(0, DIFFERENCES_MAX),
  };
}

function keyOf({ kind, method, target, http }: Entry): string {
  return [kind, method ?? http?.method, target ?? (method === undefined ? http?.path : undefined)]
    .filter(Boolean)
    .join(" ");
}

/** Returns the differences between two entries. Times, ids and durations are ignored. */
function compareTwo(one: Entry, other: Entry): Where[] {
  const facts = ({ outcome, outcomeText, http, version, era, marks, counts, findings }: Entry) =>
    masked({
      outcome,
      outcomeText: outcomeText ?? null,
      status: http?.status ?? null,
      version: version ?? null,
      era: era ?? null,
      marks: [...marks].sort(),
      counts: { ...counts },
      findings: findings.map(({ what, where }) => ({ what, where })),
    });
  const messages = (entry: Entry) => entry.messages.map(({ from, message }) => ({ from, message: masked(message) }));
  const found: Where[] = [];
  collect(facts(one), facts(other), "", found, 0);
  collect(messages(one), messages(other), "messages", found, 0);
  return found;
}

function collect(left: unknown, right: unknown, where: string, found: Where[], depth: number): void {
  if (found.length >= OF_PAIR_MAX || Object.is(left, right)) return;
  const isDeeper =
    depth < DEPTH_MAX && typeof left === "object" && typeof right === "object" && left !== null && right !== null;
  if (isDeeper && Array.isArray(left) && Array.isArray(right)) {
    for (let at = 0; at < Math.max(left.length, right.length); at += 1) {
      collect(left[at], right[at], `${where}[${at}]`, found, depth + 1);
    }
  } else if (isDeeper && isObject(left) && isObject(right)) {
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
      collect(left[name], right[name], where === "" ? name : `${where}.${name}`, found, depth + 1);
    }
  } else found.push({ where, left: left ?? null, right: right ?? null });
}
