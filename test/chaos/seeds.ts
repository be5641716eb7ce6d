/** Runs scripts of many seeds, on several Workers at once. */
import { run } from "./run.ts";
import { scriptOf } from "./script.ts";
import { Tally } from "./tally.ts";
import { World, type WorldOptions } from "./world.ts";

export interface SeedsOptions extends WorldOptions {
  readonly first: number;
  readonly count: number;
  /** Workers at once. */
  readonly worlds: number;
  readonly report: (text: string) => void;
}

/** Adds what came of it to `tally`; a violation is told with the seed, the script and what happened. */
export async function runSeeds(options: SeedsOptions, tally: Tally): Promise<void> {
  const { first, count, report } = options;
  let next = first;
  const work = async () => {
    const world = await World.start(options);
    try {
      while (next < first + count) {
        const script = scriptOf(next++);
        const ran = await run(script, world);
        tally.add(ran.tally);
        if (ran.tally.violations.length > 0) {
          report(`seed ${script.seed}:\n${JSON.stringify(script)}\n${ran.trace.join("\n")}`);
          for (const { violation, what } of ran.tally.violations) report(`  ${violation}: ${what}`);
        }
      }
      const after = new Tally();
      await world.expire(after);
      tally.add(after);
      for (const { violation, what } of after.violations) report(`  ${violation}: ${what}`);
    } finally {
      await world.stop();
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.worlds, count) }, work));
}
