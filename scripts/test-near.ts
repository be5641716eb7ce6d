/** Runs the tests that a change of files can break, the nearest first: `npm run test:near -- src/core/seal/key-ring.ts`. */
import { Command } from "commander";
import { number } from "./long/number.ts";
import { testsNear } from "./near.ts";
import { ROOT, runTool } from "./tools.ts";

await new Command("npm run test:near --")
  .description(
    "Runs the tests that a change of these files can break: those that reach them by imports, or by naming a Worker.",
  )
  .argument("<files...>", "files of the project, such as src/core/seal/key-ring.ts")
  .option("--most <count>", "the most test files, the nearest first", number, 40)
  .helpCommand(false)
  .action((files: string[], { most }: { readonly most: number }) => {
    const { near, unknown } = testsNear(ROOT, files);
    if (unknown.length > 0)
      return fail(`There is no file ${unknown.join(", ")}. Write paths from the project's folder.`);
    if (near.length === 0) return fail("No test of `npm test` reaches these files.");
    const chosen = near.slice(0, most);
    const left = near.length - chosen.length;
    console.log(`${chosen.length} test files${left > 0 ? `; ${left} that are farther away are left to npm test` : ""}`);
    process.exitCode = runTool("vitest", ["run", "--tags-filter=!long", ...chosen]);
  })
  .parseAsync();

function fail(problem: string): void {
  console.error(problem);
  process.exitCode = 2;
}
