/**
 * Changes single lines of `src` in a copy of the project, one at a time, and runs the tests that must fail. Prints a
 * table and exits with 1 if a mutant survives or cannot be judged.
 *
 * `--only id,id` runs the listed mutants; `--room PATH` runs the mutants of the files whose path below `src` starts with
 * PATH, such as `core/run`; `--workers N` is the number of concurrent workers (default 2); `--list` prints the mutants and
 * runs nothing.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { MUTANTS } from "../test/mutants/index.ts";
import type { Mutant } from "../test/mutants/mutant.ts";
import { MutantCopy } from "./mutant-copy.ts";
import type { Verdict } from "./mutant-report.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    room: { type: "string" },
    workers: { type: "string", default: String(Math.min(2, availableParallelism())) },
    list: { type: "boolean", default: false },
  },
});

const chosen = MUTANTS.filter(isChosen);
if (chosen.length === 0) fail("No mutant matches. `npm run mutants -- --list` prints all of them.");
if (values.list) for (const mutant of chosen) console.log(`${mutant.id}  ${mutant.file}`);
else await run(chosen);

async function run(mutants: readonly Mutant[]): Promise<void> {
  const startedAtMs = Date.now();
  const waiting = [...mutants];
  const verdicts = new Map<Mutant, Verdict>();
  const copies = await Promise.all(Array.from({ length: Number(values.workers) }, () => MutantCopy.create()));
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
  const rooms = new Set([...verdicts.keys()].map(({ file }) => file.split("/").slice(0, -1).join("/")));
  console.log(
    `\n${verdicts.size} mutants in ${rooms.size} folders: ${counts.noticed} noticed, ${counts.survived} survived, ` +
      `${counts.invalid} invalid, in ${Math.round(durationMs / 1000)} s`,
  );
  for (const [mutant, verdict] of verdicts) if (verdict.outcome !== "noticed") console.log(line(mutant, verdict));
  if (counts.survived + counts.invalid > 0) process.exitCode = 1;
}

function isChosen({ id, file }: Mutant): boolean {
  const { only, room } = values;
  return (!only || only.split(",").includes(id)) && (!room || file.startsWith(`src/${room}`));
}

function fail(problem: string): never {
  console.error(problem);
  process.exit(1);
}
