import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // The tests of the templates run in their own folders: test/templates.
    include: ["test/**/*.test.ts"],
    // Tests start workerd and bundle with wrangler; a loaded machine with two cores still meets this timeout.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
