/**
 * The state that all functions share while they compare two schemas.
 *
 * @module
 */
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import type { Budget } from "./budget.ts";
import type { Severity } from "./changes.ts";
import { own } from "./json.ts";
import type { Effect } from "./keywords.ts";
import type { Place } from "./place.ts";

/** Whether a schema describes arguments, which callers write, or results, which callers read. */
export type Direction = "input" | "output";

/** A running comparison. */
export interface Comparison {
  readonly direction: Direction;
  readonly budget: Budget;
  /** Compares two schemas. */
  compare(before: unknown, after: unknown, place: Place): void;
  /** Compares a keyword whose value is not a schema. */
  keyword(keyword: string, before: JsonObject, after: JsonObject, place: Place): void;
  /**
   * Reports what a change means for the values that are allowed.
   *
   * @param added The new part of the schema. If it contains text that a model reads, the change is at least to be reviewed.
   */
  effect(effect: Effect, place: Place, reason: string, added?: unknown): void;
  /** Reports a change. */
  report(severity: Severity, place: Place, reason: string, added?: unknown): void;
  /** Returns a schema with its reference replaced by the target. */
  resolved(schema: unknown, side: "before" | "after"): unknown;
}

/** Returns `false` for a schema that allows nothing, and an object for any other valid schema. */
export function plain(schema: unknown): unknown {
  if (schema === true) return {};
  const names = isObject(schema) ? Object.keys(schema) : [];
  const isNothing = names.length === 1 && isObject(schema) && names[0] === "not" && isAnything(schema.not);
  return isNothing && isObject(schema) && schema.not !== undefined ? false : schema;
}

/** Whether a schema allows every value and has no annotations. A missing schema does. */
export function isAnything(schema: unknown): boolean {
  return schema === undefined || schema === true || (isObject(schema) && Object.keys(schema).length === 0);
}

/** Returns the own members of an object; an empty map for any other value. */
export function mapOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(isObject(value) ? Object.keys(value).map((name) => [name, own(value, name)]) : []);
}

/** Returns a list of names. */
export function namesOf(value: unknown): ReadonlySet<string> {
  return new Set(Array.isArray(value) ? value.map(String) : []);
}

/** Returns a list; an empty one for any other value. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
