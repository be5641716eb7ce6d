/** Mutants of streams: who may still come back to one, what is kept of it, and when its place is free again. */
import type { Mutant } from "../mutant.ts";

export const STREAMS: readonly Mutant[] = [
  {
    id: "sse-waits-for-whoever-has-left",
    file: "src/worker/sessions/session-streams.ts",
    find: "return Math.max(this.#host.bornAtMs, this.#lostAtMs) + BACK_MS - Date.now();",
    replace: "return BACK_MS;",
    tests: ["test/worker/heard.test.ts"],
    title: "D1: once no Worker",
  },
  {
    id: "sse-waits-for-nobody",
    file: "src/worker/sessions/session-streams.ts",
    find: "return Math.max(this.#host.bornAtMs, this.#lostAtMs) + BACK_MS - Date.now();",
    replace: "return 0;",
    tests: ["test/worker/heard.test.ts"],
    title: "A2: that is posted right after a reset",
  },
];
