/** Runs the scripts of many seeds, on several Workers concurrently. */
import { runReleased } from "./released.ts";
import { run } from "./run.ts";
import { scriptOf } from "./script.ts";
import { Tally } from "./tally.ts";
import { World, type WorldOptions } from "./world.ts";

export interface SeedsOptions extends WorldOptions {
  readonly first: number;
  readonly count: number;
  /** The number of additional scripts with released clients. */
  readonly released: number;
  /** The number of concurrent Workers. */
  readonly worlds: number;
  readonly report: (text: string) => void;
}

/** Adds the outcomes to `tally`. A violation is reported with its seed, its script and its trace. */
export async function runSeeds(options: SeedsOptions, tally: Tally): Promise<void> {
  const { first, count, released, report } = options;
  let next = first;
  let nextReleased = first;
  const tell = ({ violations }: Tally) => {
    for (const { violation, what } of violations) report(`  ${violation}: ${what}`);
  };
  const work = async () => {
    const world = await World.start(options);
    try {
      while (next < first + count) {
        const script = scriptOf(next++);
        const { tally: own, trace } = await run(script, world);
        tally.add(own);
        if (own.violations.length > 0) report(`seed ${script.seed}:\n${JSON.stringify(script)}\n${trace.join("\n")}`);
        tell(own);
      }
      while (nextReleased < first + released) {
        const own = await runReleased(nextReleased++, world);
        tally.add(own);
        tell(own);
      }
      const after = new Tally();
      await world.expire(after);
      tally.add(after);
      tell(after);
    } finally {
      await world.stop();
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.worlds, count + released) }, work));
}
