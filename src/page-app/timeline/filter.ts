/**
 * Filters the entries of the list.
 *
 * @module
 */
import type { Summary } from "../../recorder/entry.ts";

/** Methods that clients call automatically, without a request of the user. */
const HOUSEKEEPING = /list$|^(initialize|server\/discover|ping|logging\/setLevel|subscriptions\/listen)$/;

/** Caches the searchable text of each summary. A changed entry gets a new summary object. */
const texts = new WeakMap<Summary, string>();

function textOf(entry: Summary): string {
  const known = texts.get(entry);
  if (known !== undefined) return known;
  const { method, target, client, version, outcome, outcomeText, session, principal, kind, marks, http } = entry;
  const text = [
    method,
    target,
    client?.name,
    version,
    outcome,
    outcomeText,
    session,
    principal,
    kind,
    http?.status,
    ...marks,
  ]
    .join(" ")
    .toLowerCase();
  texts.set(entry, text);
  return text;
}

/** Returns whether an entry contains every word. @param isBrief Whether successful housekeeping requests are hidden. */
export function matches(entry: Summary, words: readonly string[], isBrief: boolean): boolean {
  if (isBrief && isHousekeeping(entry)) return false;
  return words.length === 0 || words.every((word) => textOf(entry).includes(word));
}

function isHousekeeping({ kind, method = "", outcome, marks }: Summary): boolean {
  if (marks.includes("exception") || marks.includes("suspicious")) return false;
  if (outcome !== "ok" && outcome !== "running" && outcome !== "cut-by-client") return false;
  if (kind === "page" || kind === "delete" || kind === "stream") return true;
  return kind === "notification" || HOUSEKEEPING.test(method);
}
