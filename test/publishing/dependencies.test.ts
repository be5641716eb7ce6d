/** The packages that an installation brings, and the table of them in docs/facts.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FACTS_FILE, installedPackages, REASONS, withPackages } from "../../scripts/dependencies.ts";

const manifest = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")) as {
  readonly dependencies: Readonly<Record<string, string>>;
};

test("every dependency has a reason, and every reason belongs to a dependency", () => {
  expect(Object.keys(REASONS).sort()).toEqual(Object.keys(manifest.dependencies).sort());
});

test("docs/facts.md has the present packages, sizes and licences", () => {
  const text = readFileSync(FACTS_FILE, "utf8");
  expect(text === withPackages(text), "Run npm run docs:reference.").toBe(true);
  expect(text).toContain(
    `| What does it bring along? | ${installedPackages().length} packages, all under the MIT licence`,
  );
});

test("no package of an installation has an install script or another licence than MIT", () => {
  const packages = installedPackages();
  expect(packages.length).toBeGreaterThanOrEqual(Object.keys(manifest.dependencies).length);
  expect(packages.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
  expect(packages.filter(({ licence }) => licence !== "MIT")).toEqual([]);
});
