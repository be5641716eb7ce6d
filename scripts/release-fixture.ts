/**
 * Writes the fixture of this release: the bundled Worker of the built package, what it has stored, and its layouts, which tests
 * keep for all later releases. With `--layouts`, writes only the layouts of the present sources: docs/decisions/021-deploys.md.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeLayouts, writeRelease } from "../test/releases/releases.ts";
import { ROOT } from "./tools.ts";

await writeLayouts();
if (!process.argv.includes("--layouts")) {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly version: string };
  console.table(await writeRelease(version));
}
// An aborted request of the fixture may still be open.
process.exit();
