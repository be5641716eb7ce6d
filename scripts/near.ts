/** Finds the tests that a change of files can break. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { importsOf } from "./rooms.ts";

/** Paths of the project in string literals: tests name the main modules of their Workers, and files that they read. */
const NAMED = /["'`]((?:src|test|templates|scripts|docs|bench)\/[\w./-]+\.\w+|[A-Z]+\.md)["'`]/g;

/** Tests that need more than Node are not part of `npm test`. */
const LONG = /^\/\/ @module-tag long/;

/**
 * Returns the test files of `npm test` that reach one of the files by imports, or by naming a file that does. Those with the
 * fewest steps come first.
 *
 * @param root The folder of the project, with a final slash.
 */
export function testsNear(
  root: string,
  files: readonly string[],
): { readonly near: readonly string[]; readonly unknown: readonly string[] } {
  const wanted = new Set(files.map((file) => posix.normalize(file).replace(/^\.\//, "")));
  const unknown = [...wanted].filter((file) => !existsSync(root + file));
  const uses = new Map<string, readonly string[]>();
  const usesOf = (file: string): readonly string[] => {
    const known = uses.get(file) ?? read(root, file);
    uses.set(file, known);
    return known;
  };
  const found = globSync("test/**/*.test.ts", { cwd: root }).flatMap((test) => {
    if (LONG.test(readFileSync(root + test, "utf8"))) return [];
    const steps = stepsTo(wanted, test, usesOf);
    return steps === undefined ? [] : [{ test, steps }];
  });
  found.sort((a, b) => a.steps - b.steps || a.test.localeCompare(b.test));
  return { near: found.map(({ test }) => test), unknown };
}

/** Returns how many imports lead from a file to one of the wanted ones; undefined if none do. */
function stepsTo(
  wanted: ReadonlySet<string>,
  from: string,
  usesOf: (file: string) => readonly string[],
): number | undefined {
  const seen = new Set([from]);
  for (let [files, steps] = [[from], 0]; files.length > 0; steps += 1) {
    if (files.some((file) => wanted.has(file))) return steps;
    files = files.flatMap(usesOf).filter((file) => !seen.has(file) && seen.add(file));
  }
  return undefined;
}

/** Returns the files of the project that a file imports or names. */
function read(root: string, file: string): readonly string[] {
  if (!/\.[jt]sx?$/.test(file)) return [];
  const text = readFileSync(root + file, "utf8");
  const imported = importsOf(text).filter((each) => each.startsWith("."));
  const paths = imported.map((each) => posix.join(posix.dirname(file), each).replace(/\.js$/, ".ts"));
  // Only tests and their helpers name files that they use. Names of test files are ignored, because the lists of mutants contain them.
  const all = file.startsWith("test/") ? [...text.matchAll(NAMED)].map(([, path = ""]) => path) : [];
  const named = all.filter((path) => !path.endsWith(".test.ts"));
  return [...paths, ...named].filter((path) => existsSync(root + path));
}
