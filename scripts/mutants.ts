/**
 * Changes single lines of `src` in a copy of the project, one at a time, and runs the tests that must fail. Prints a
 * table and exits with 1 if a mutant survives or cannot be judged.
 */
import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { Command } from "commander";
import { LISTS, MUTANTS } from "../test/mutants/index.ts";
import type { Mutant } from "../test/mutants/mutant.ts";
import { number } from "./long/number.ts";
import { MutantCopy } from "./mutant-copy.ts";
import type { Verdict } from "./mutant-report.ts";
import { ROOT } from "./tools.ts";

interface Options {
  readonly only?: string;
  readonly room?: string;
  readonly changed?: boolean;
  readonly fast?: boolean;
  readonly workers: number;
  readonly list?: boolean;
}

let files: ReadonlySet<string> | undefined;

await new Command("npm run mutants --")
  .description("Checks that the tests notice wrong lines: each mutant is one line of src that is wrong on purpose.")
  .option("--only <ids>", "the mutants with these ids, with commas between")
  .option("--room <path>", "the mutants of files whose path below src begins like this, such as core/run")
  .option("--changed", "the mutants of files that differ from the branch main, or that are not committed")
  .option("--fast", "runs only the tests of `npm test`, not the ones with the tag long")
  .option("--workers <count>", "how many are tried at the same time", number, Math.min(2, availableParallelism()))
  .option("--list", "prints the mutants with their reasons, and runs nothing")
  .helpCommand(false)
  .action(async (options: Options) => {
    const chosen = MUTANTS.filter((mutant) => isChosen(mutant, options));
    if (options.list) for (const { id, file, reason } of chosen) console.log(`${id}  ${file}\n    ${reason}`);
    else if (chosen.length > 0) await run(chosen, options);
    else if (options.changed) console.log("No mutant is in a file that has changed.");
    else fail("No mutant matches. `npm run mutants -- --list` prints all of them.");
  })
  .parseAsync();

async function run(mutants: readonly Mutant[], { workers, fast = false }: Options): Promise<void> {
  const startedAtMs = Date.now();
  const waiting = [...mutants];
  const verdicts = new Map<Mutant, Verdict>();
  const copies = await Promise.all(Array.from({ length: workers }, () => MutantCopy.create(fast)));
  await Promise.all(
    copies.map(async (copy) => {
      for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
        const verdict = await copy.judge(mutant);
        verdicts.set(mutant, verdict);
        console.log(line(mutant, verdict));
      }
      copy.remove();
    }),
  );
  summarise(verdicts, Date.now() - startedAtMs);
}

function line({ id, file }: Mutant, { outcome, detail, durationMs }: Verdict): string {
  return `${outcome.padEnd(9)} ${id.padEnd(44)} ${file.padEnd(44)} ${(durationMs / 1000).toFixed(1).padStart(6)} s  ${detail}`;
}

function summarise(verdicts: ReadonlyMap<Mutant, Verdict>, durationMs: number): void {
  const counts = { noticed: 0, survived: 0, invalid: 0 };
  for (const { outcome } of verdicts.values()) counts[outcome] += 1;
  for (const [name, list] of Object.entries(LISTS)) {
    const judged = list.filter((mutant) => verdicts.has(mutant));
    const noticed = judged.filter((mutant) => verdicts.get(mutant)?.outcome === "noticed").length;
    if (judged.length > 0) console.log(`${name.padEnd(22)} ${noticed} of ${judged.length} noticed`);
  }
  console.log(
    `\n${verdicts.size} mutants: ${counts.noticed} noticed, ${counts.survived} survived, ` +
      `${counts.invalid} invalid, in ${Math.round(durationMs / 1000)} s`,
  );
  for (const [mutant, verdict] of verdicts) if (verdict.outcome !== "noticed") console.log(line(mutant, verdict));
  if (counts.survived + counts.invalid > 0) process.exitCode = 1;
}

function isChosen({ id, file }: Mutant, { only, room, changed }: Options): boolean {
  return (
    (!only || only.split(",").includes(id)) &&
    (!room || file.startsWith(`src/${room}`)) &&
    (!changed || changedFiles().has(file))
  );
}

function changedFiles(): ReadonlySet<string> {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
  files ??= new Set(git("diff", "--name-only", git("merge-base", "HEAD", "main")).split("\n"));
  return files;
}

function fail(problem: string): never {
  console.error(problem);
  process.exit(1);
}
