import { defineConfig } from "vitest/config";

/** The tests that Stryker runs for each mutant, which `mutateRoom` names. */
export default defineConfig({
  test: {
    setupFiles: ["test/harness/setup.ts"],
    include: (process.env.MUTATE_TESTS ?? "").split(",").filter((file) => file !== ""),
    tags: [{ name: "long", description: "takes long, or needs a browser or a shell that may not be installed" }],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    isolate: false,
  },
});
