/**
 * Releases this repository: `npm run release -- prepare 1.0.0` commits the version, and, after `npm run test:all` on that commit,
 * `npm run release -- pack` packs all packages, and `npm run release -- publish` also publishes them. Each refuses while a check fails.
 */
import { spawnSync } from "node:child_process";
import { Command } from "commander";
import { pack } from "./release/pack.ts";
import { prepare } from "./release/prepare.ts";
import { publish } from "./release/publish.ts";
import { Repository } from "./release/repository.ts";
import { ROOT } from "./tools.ts";

const repository = new Repository(ROOT);
const isSigned = process.env.GITHUB_ACTIONS === "true";
const program = new Command("npm run release --").description("Releases all packages of mcp-edge.");

program
  .command("prepare")
  .description("commits a version: package.json, CHANGELOG.md, and the fixture for the tests of later releases")
  .argument("<version>", "the version, such as 1.0.0")
  .action(async (version: string) => {
    const today = new Date().toISOString().slice(0, 10);
    const run = (script: string) =>
      spawnSync(process.execPath, [ROOT + script], { cwd: ROOT, stdio: "inherit" }).status ?? 1;
    report(await prepare(repository, version, today, run));
    console.log(`Committed. Run npm run test:all on this commit, then npm run release -- publish.`);
    // An aborted request of the fixture may still be open.
    process.exit();
  });

program
  .command("pack")
  .description("checks and packs the version that has been prepared; the workflow release.yml runs it")
  .action(() => report(pack(repository, isSigned)));

program
  .command("publish")
  .description("packs and publishes the version that has been prepared")
  .option("--dry-run", "pack, check and show, but do not publish")
  .action(({ dryRun = false }: { readonly dryRun?: boolean }) => {
    report(pack(repository, isSigned));
    report(publish(repository, { isDryRun: dryRun, isSigned }));
  });

await program.helpCommand(false).parseAsync();

/** Prints what prevents a step, and ends. */
function report(problems: readonly string[]): void {
  if (problems.length === 0) return;
  for (const problem of problems) console.error(`- ${problem}`);
  process.exit(1);
}
