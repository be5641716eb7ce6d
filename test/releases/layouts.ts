/**
 * The layouts of what the kit stores, and of the messages between a Worker and its objects. Each has a number, which
 * layouts.json keeps: docs/decisions/021-deploys.md.
 */

import type { RoleName, TestWorker } from "../../src/testing/index.ts";
import { storedRole } from "../../src/worker/roles.ts";
import type { Recorded } from "../harness/shapes.ts";
import { type Shape, shapeOf } from "../harness/shapes.ts";
import { CLASSES } from "./state.ts";

export interface Layout {
  /** A layout that differs from that of a release has a higher number. */
  readonly number: number;
  readonly layout: Shape;
}

export type Layouts = Readonly<Record<string, Layout>>;

const ROLES: readonly RoleName[] = ["session", "hub", "keys", "once", "task", "proof", "rates", "user", "files"];

/** Returns what the kit has stored, by role, and the messages since the Worker was started. */
export async function describeLayouts(worker: TestWorker): Promise<Record<string, Shape>> {
  const shapes: Record<string, Shape> = {};
  for (const role of ROLES) {
    for (const className of CLASSES) {
      for (const id of await worker.objects(className, role)) {
        const { keys } = await worker.storage(className, id);
        // Counters of rates() are stored up to a second later, and an object without stored keys counts as a session until then.
        const stored = storedRole({
          list: () => Object.entries(keys).sort(([one], [other]) => (one < other ? -1 : 1)),
        });
        if (stored !== undefined && stored !== role) continue;
        const tables = await worker.sql(className, id, TABLES);
        for (const { name, sql } of tables) shapes[`table ${role}/${name}`] = String(sql);
        const values = joinPieces(keys);
        for (const [key, value] of values) {
          const name = `key ${role}/${key}`;
          shapes[name] = shapeOf(NAMES_ARE_DATA.has(name) ? withoutNames(value) : value, shapes[name]);
        }
      }
    }
  }
  for (const { name, shape } of await readRecorded(worker)) shapes[name] = shape;
  return Object.fromEntries(Object.entries(shapes).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The keys whose values are records by names that are data. Which of them are stored depends on the time. */
const NAMES_ARE_DATA: ReadonlySet<string> = new Set(["key rates/rates"]);

function withoutNames(value: unknown): unknown {
  return Object.fromEntries(Object.values(value as object).map((member, at) => [`#${at}`, member]));
}

const TABLES =
  "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'";

/** Returns the messages to objects since the Worker was started. */
export async function readRecorded(worker: TestWorker): Promise<readonly Recorded[]> {
  const response = await fetch(worker.url("/__platform"), { method: "POST", body: "{}" });
  return ((await response.json()) as { readonly recorded: readonly Recorded[] }).recorded;
}

/** Returns the stored values by the patterns of their keys. Values that are stored in pieces of JSON are joined and parsed. */
function joinPieces(keys: Readonly<Record<string, unknown>>): [pattern: string, value: unknown][] {
  const texts = new Map<string, string>();
  const values: [string, unknown][] = [];
  for (const [key, value] of Object.entries(keys)) {
    const [, name = "", piece] = /^(.*?)(\/\d{4})?$/.exec(key) ?? [];
    if (piece === undefined || typeof value !== "string") values.push([toPattern(key), value]);
    else texts.set(name, (texts.get(name) ?? "") + value);
  }
  for (const [name, text] of texts) values.push([`${toPattern(name)}/*`, JSON.parse(text)]);
  return values;
}

/** Replaces the parts of a key that are data. */
function toPattern(key: string): string {
  return key.replace(/[^:/]+/g, (part) => (/^[a-z~]{1,10}$/.test(part) ? part : "*"));
}

/** Returns the layouts with their numbers: a layout that has changed since a release gets the next number. */
export function numberLayouts(shapes: Readonly<Record<string, Shape>>, released: Layouts): Layouts {
  return Object.fromEntries(
    Object.entries(shapes).map(([name, layout]) => {
      const before = released[name];
      const number = before === undefined ? 1 : before.number + (isEqual(before.layout, layout) ? 0 : 1);
      return [name, { number, layout }];
    }),
  );
}

/** Returns the layouts that differ from those of a release and have no higher number, and those that are missing. */
export function findUnnumbered(current: Layouts, released: Layouts): string[] {
  return Object.entries(released).flatMap(([name, before]) => {
    const now = current[name];
    if (!now) return [`"${name}" is missing, but objects of an earlier release have it.`];
    const isKept = isEqual(now.layout, before.layout) ? now.number === before.number : now.number > before.number;
    if (isKept) return [];
    return [`"${name}" has changed since number ${before.number}. Run npm run release-fixture -- --layouts.`];
  });
}

/** Returns the differences between two descriptions. */
export function findDifferences(found: Readonly<Record<string, Shape>>, stored: Layouts): string[] {
  const names = new Set([...Object.keys(found), ...Object.keys(stored)]);
  return [...names].flatMap((name) => {
    const [now, before] = [found[name], stored[name]?.layout];
    if (now !== undefined && before !== undefined && isEqual(now, before)) return [];
    return [`${name} is ${JSON.stringify(now)}, not ${JSON.stringify(before)}`];
  });
}

function isEqual(one: Shape, other: Shape): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(shape: Shape): Shape {
  if (typeof shape === "string") return shape;
  if (Array.isArray(shape)) return (shape as Shape[]).map(sorted);
  const entries = Object.entries(shape as Readonly<Record<string, Shape>>);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, each]) => [name, sorted(each)]));
}
