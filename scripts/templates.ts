/**
 * Creates a project from each template outside the repository, with the package as npm packs it, and does with it what a
 * user would: install, check types, test, serve over stdio and HTTP, `mcp-edge check`, and `wrangler deploy --dry-run`.
 *
 *     npm run templates [names] [-- --node 20,22,24]
 *
 * Prints a table, and exits with 1 if a step failed. The last lines of a failed step are printed too.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeOf } from "../test/harness/nodes.ts";
import { installPackage, type Tried, tryTemplate } from "./templates/try.ts";
import { ROOT } from "./tools.ts";

/** How many projects are tried at the same time. */
const AT_ONCE = 2;

const words = process.argv.slice(2);
const at = words.indexOf("--node");
const majors = at < 0 ? [24] : (words[at + 1] ?? "").split(",").map(Number);
const named = words.filter((_, index) => at < 0 || (index !== at && index !== at + 1));
const templates = named.length > 0 ? named : readdirSync(join(ROOT, "templates"));

const folder = mkdtempSync(join(tmpdir(), "mcp-edge-templates-"));
const startMs = performance.now();
try {
  const installed = await installPackage(folder);
  const queue = majors.flatMap((major) => templates.map((template) => ({ major, template })));
  const results: Tried[] = [];
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      results.push(await tryTemplate({ ...installed, ...next, node: nodeOf(next.major) }));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  print(results);
  if (results.some(({ failure }) => failure)) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function print(results: readonly Tried[]): void {
  console.table(
    results.map(({ template, major, steps, size, failure }) => ({
      template,
      Node: major,
      ...Object.fromEntries(steps.map(({ name, ms }) => [name, `${(ms / 1000).toFixed(1)} s`])),
      gzip: size ?? "",
      result: failure ? `${failure.step} failed` : "passed",
    })),
  );
  for (const { template, major, failure } of results) {
    if (failure) console.error(`\n${template} on Node ${major}: ${failure.step}\n${failure.output}`);
  }
  console.log(`${((performance.now() - startMs) / 1000).toFixed(0)} s in all`);
}
