import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { transform } from "esbuild";
import { expect, test } from "vitest";
import { withoutFunctionNames } from "../../scripts/unnamed-functions.ts";

const ROOT = join(import.meta.dirname, "../..");

/** A module with every form of function that gets a name from where it stands. */
const MODULE = `import { sep } from "node:path";
export const early = late(); // called before its declaration
/** Declared below its first call. */
function late() {
    return "late";
}
export async function* counted() {
    yield 1;
}
export class Box {
    #open = () => 2;
    open() {
        return this.#open();
    }
}
export const box = { close: () => 3, lock() { return 4; }, get size() { return 5; } };
export const shown = (number, to = () => sep) => { let cut; cut = function () { return to(); }; return number + cut().length; };
export function sum() { return [...arguments].reduce((sum, each) => sum + each); }
export function Point(x) { this.x = x; }
function fail() { throw new Error("here"); }
export { fail };
`;

const load = async (code: string) => import(`data:text/javascript,${encodeURIComponent(code)}`);

test("functions without names do the same as before", async () => {
  const { early, counted, Box, box, shown, sum, Point } = await load(withoutFunctionNames(MODULE));
  expect(early).toBe("late");
  expect((await counted().next()).value).toBe(1);
  expect(new Box().open()).toBe(2);
  expect([box.close(), box.lock(), box.size]).toEqual([3, 4, 5]);
  expect([shown(1), sum(1, 2), new Point(6).x]).toEqual([2, 3, 6]);
});

test("esbuild adds a call with the name of a class, and with no other name", async () => {
  const options = { format: "esm", minify: true, keepNames: true } as const;
  const namesIn = async (code: string) =>
    [...(await transform(code, options)).code.matchAll(/,"(\w+)"\)/g)]
      .map(([, name]) => name)
      .filter((name) => name !== "name");
  expect((await namesIn(MODULE)).length).toBeGreaterThan(5);
  expect(await namesIn(withoutFunctionNames(MODULE))).toEqual(["Box"]);
});

test("stack traces of code that is not minified still name the functions", async () => {
  const { fail } = await load(withoutFunctionNames(MODULE));
  let stack = "";
  try {
    fail();
  } catch (error) {
    stack = (error as Error).stack ?? "";
  }
  expect(stack).toMatch(/at fail /);
});

test("comments stay with what they describe", () => {
  const text = withoutFunctionNames(MODULE);
  expect(text).toContain("/** Declared below its first call. */\nconst late = (0, () => {");
  expect(text).toContain("late(); // called before its declaration");
});

/** Unlike a function declaration, a constant cannot be used before its module has run. */
test("no module of the package imports itself in a circle", () => {
  const files = globSync("dist/{client,core,http,safe,schema,skills,worker}/**/*.js", { cwd: ROOT });
  expect(files.length).toBeGreaterThan(300);
  const done = new Set<string>();
  const visit = (path: string, above: readonly string[]): void => {
    expect(above, "modules that import each other").not.toContain(path);
    if (done.has(path)) return;
    const code = readFileSync(path, "utf8");
    const imports = [...code.matchAll(/^(?:import|export) [^;'"]*?from "(\.[^"]+)"|^import "(\.[^"]+)"/gm)];
    for (const [, from, bare] of imports) visit(join(path, "..", from ?? bare ?? ""), [...above, path]);
    done.add(path);
  };
  for (const file of files) visit(join(ROOT, file), []);
});
