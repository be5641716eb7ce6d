/**
 * The public surface as text: one file per entry, in docs/reference/api. A change of the surface changes a file, so it
 * is visible in a review.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { ROOT } from "../tools.ts";
import type { Declared, Entry } from "./surface.ts";

export const REPORTS = `${ROOT}docs/reference/api/`;

const HEADER =
  "This file is generated. If the change of the public surface is intended: npm run build && npm run api -- --write";

/** Returns the name of an entry's report file, such as `worker-sessions.txt`. */
function fileOf(module: string): string {
  return `${module.replace(/^mcp-edge\/?/, "").replaceAll("/", "-") || "index"}.txt`;
}

/** Returns the report of each entry, by file name. */
export function reportsOf(entries: readonly Entry[]): Map<string, string> {
  const homes = homesOf(entries);
  return new Map(entries.map((entry) => [fileOf(entry.module), reportOf(entry, homes)]));
}

/** Returns the first entry that exports each declaration; other entries refer to it. */
function homesOf(entries: readonly Entry[]): Map<string, string> {
  const homes = new Map<string, string>();
  for (const { module, names } of entries) {
    for (const name of names) if (!homes.has(keyOf(name))) homes.set(keyOf(name), module);
  }
  return homes;
}

function keyOf({ file, name }: Declared): string {
  return `${file} ${name}`;
}

/**
 * Returns one line for each declaration that the public surface mentions, or extends, and that no entry exports: authors
 * could not name its type.
 */
export function hiddenOf(entries: readonly Entry[]): string[] {
  const all = entries.flatMap(({ names }) => names);
  const exported = new Set(all.filter(({ isExported }) => isExported).map(keyOf));
  const mentions = all.flatMap((by) => [...by.mentions, by].map((each) => ({ ...each, by: by.name })));
  const hidden = new Map(mentions.filter((each) => !exported.has(keyOf(each))).map((each) => [keyOf(each), each]));
  return [...hidden.values()].map(
    ({ file, name, by }) => `src/${file.replace(".d.ts", ".ts")}: no entry exports ${name}, which ${by} mentions`,
  );
}

function reportOf({ module, names }: Entry, homes: ReadonlyMap<string, string>): string {
  const isHere = (name: Declared) => homes.get(keyOf(name)) === module;
  const own = names.filter((name) => name.isExported && isHere(name));
  const others = names.filter((name) => name.isExported && !isHere(name));
  const extended = names.filter((name) => !name.isExported && isHere(name));
  const exported = new Set(names.filter(({ isExported }) => isExported).map(keyOf));
  const elsewhere = [...own, ...extended].flatMap(({ mentions }) =>
    mentions.filter((each) => !exported.has(keyOf(each))),
  );
  const unexported = [...new Set(elsewhere.map(({ name }) => name))].sort();
  return [
    `${module}\n\n${HEADER}\n`,
    ...own.map(({ text }) => `${text}\n`),
    ...others.map((name) => `${name.name}: see ${homes.get(keyOf(name))}\n`),
    ...(extended.length > 0 ? ["Extended by the above, and not exported:\n"] : []),
    ...extended.map(({ text }) => `${text}\n`),
    ...(unexported.length > 0 ? [`Mentioned above, and not exported here:\n${unexported.join("\n")}\n`] : []),
  ].join("\n");
}

export function writeReports(reports: ReadonlyMap<string, string>): void {
  rmSync(REPORTS, { recursive: true, force: true });
  mkdirSync(REPORTS, { recursive: true });
  for (const [file, text] of reports) writeFileSync(REPORTS + file, text);
}

/** Reads the reports in the repository, by file name. */
export function readReports(): Map<string, string> {
  return new Map(readdirSync(REPORTS).map((file) => [file, readFileSync(REPORTS + file, "utf8")]));
}

/** Returns one line for each report that differs, with its first difference. */
export function differencesOf(expected: ReadonlyMap<string, string>, found: ReadonlyMap<string, string>): string[] {
  const files = [...new Set([...expected.keys(), ...found.keys()])].sort();
  return files.flatMap((file) => {
    const [now, before] = [expected.get(file), found.get(file)].map((text) => (text ?? "").split("\n"));
    const at = now?.findIndex((line, index) => line !== before?.[index]) ?? -1;
    if (at < 0 && now?.length === before?.length) return [];
    const line = at < 0 ? (now?.length ?? 0) : at;
    return [`docs/reference/api/${file}:${line + 1}: was "${before?.[line] ?? ""}", is "${now?.[line] ?? ""}"`];
  });
}
