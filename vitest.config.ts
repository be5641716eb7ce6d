import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take the longest, although some are short. They begin first, so that no worker is left alone with one at the end. */
const LONGEST = [
  "templates/templates",
  "scripts/soak",
  "testing/separate-project",
  "interop/own-project",
  "cli/bridge",
];

/** Begins with the longest files, and then takes vitest's own order. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(`${name}.test.ts`));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    // The tests of the templates run in their own folders: test/templates.
    include: ["test/**/*.test.ts"],
    // Tests start workerd and bundle with wrangler; a loaded machine with two cores still meets this timeout.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Many tests wait for timers and processes, so that three workers use two cores better than two.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // The command line and its servers start several hundred times: Node keeps what it compiled of their sources.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/node-compile") },
  },
});
