import { defineConfig } from "vitest/config";

// The tests bundle the Worker and start workerd, which may take longer than vitest's default time limits.
export default defineConfig({ test: { testTimeout: 60_000, hookTimeout: 60_000 } });
