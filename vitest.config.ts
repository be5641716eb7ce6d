import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "templates/*/test/**/*.test.ts"],
    // workerd starts, wrangler bundles: a deadline that a loaded machine of two cores keeps.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
