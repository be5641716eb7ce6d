import { defineConfig } from "vitest/config";
import { SlowFirst } from "./test/harness/slow-first.ts";
import { COMPILE_CACHE } from "./test/oracle/node.ts";

export default defineConfig({
  test: {
    setupFiles: ["test/harness/setup.ts"],
    // The tests of the templates run in their own folders: test/templates.
    include: ["test/**/*.test.ts", "examples/*/test/**/*.test.ts"],
    // `npm test` leaves out the tests with this tag, and `npm run test:all` runs them too.
    tags: [{ name: "long", description: "takes long, or needs a browser or a shell that may not be installed" }],
    // Tests start workerd and bundle with wrangler. The time limit ends a test that hangs; a slow machine never reaches it.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // A condition that is waited for is a second late on a loaded machine, not wrong.
    expect: { poll: { timeout: 15_000 } },
    // Many tests wait for timers and processes, so more workers than cores finish sooner.
    maxWorkers: 6,
    sequence: { sequencer: SlowFirst },
    // The files that a worker runs share the modules they import: 28 s of imports instead of 166. A module that keeps state
    // must therefore reset it for each file.
    isolate: false,
    // The command line and its servers start several hundred times: Node keeps what it compiled of their sources.
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE },
  },
});
