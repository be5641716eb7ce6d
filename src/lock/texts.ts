/**
 * Finds text that a model reads in the new parts of a schema.
 *
 * @module
 */
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import type { Budget } from "./budget.ts";
import { ALL_TYPES } from "./keywords.ts";
import { findTarget } from "./schema-pointer.ts";

/** Matches identifiers, which cannot contain a message to a model. */
const IDENTIFIER = /^[\w$-]{1,64}$/;
/** Matches references within a document, which cannot contain a message either. */
const REFERENCE = /^#[\w$/~%.-]{0,200}$/;
const DIALECT = /^https?:\/\/json-schema\.org\/[\w./#-]{1,60}$/;
const FORMAT = /^[a-z][a-z-]{0,29}$/;

/**
 * Whether a part of a schema contains text: any string, except the names of types, formats and properties that are identifiers.
 * References are followed. The targets that exist with the same text in the old schema do not count as new.
 *
 * @param reached Receives the targets of references.
 */
export function hasNewText(
  part: unknown,
  before: JsonObject,
  after: JsonObject,
  budget: Budget,
  reached: Set<unknown> = new Set(),
): boolean {
  const followed = new Set<unknown>();
  const waiting: (readonly [keyword: string, value: unknown])[] = [["", part]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [keyword, value] = next;
    budget.charge();
    if (typeof value === "string") {
      if (!isHarmless(keyword, value)) return true;
      if (keyword !== "$ref") continue;
      budget.charge(Math.ceil(value.length / 20));
      const target = findTarget(value, after);
      reached.add(target);
      if (target === undefined || followed.has(target)) continue;
      followed.add(target);
      const old = findTarget(value, before);
      if (old === undefined || budget.text(old) !== budget.text(target)) waiting.push(["", target]);
    } else if (Array.isArray(value)) {
      budget.charge(value.length);
      for (const each of value) waiting.push([keyword, each]);
    } else if (isObject(value)) {
      const names = Object.keys(value);
      budget.charge(names.length);
      if (names.some((name) => !IDENTIFIER.test(name))) return true;
      for (const name of names) waiting.push([name, value[name]]);
    }
  }
  return false;
}

function isHarmless(keyword: string, value: string): boolean {
  if (keyword === "type") return ALL_TYPES.includes(value);
  if (keyword === "required") return IDENTIFIER.test(value);
  if (keyword === "$ref") return REFERENCE.test(value);
  if (keyword === "$schema") return DIALECT.test(value);
  return keyword === "format" && FORMAT.test(value);
}
