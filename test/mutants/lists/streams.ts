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
  {
    id: "object-keeps-every-session",
    file: "src/worker/sessions/session-object.ts",
    find: "if (session.isIdle) this.#sessions.delete(number);",
    replace: "if (number < 0) this.#sessions.delete(number); else void session;",
    tests: ["test/worker/durable.test.ts"],
    title: "D2: an object lets go",
  },
  {
    id: "object-lets-go-of-running-calls",
    file: "src/worker/sessions/session.ts",
    find: "const isUsed = this.users + this.#posts.size + this.#handling > 0 || this.#roots.isRunning;",
    replace: "const isUsed = this.users + this.#handling > 0 || this.#roots.isRunning;",
    tests: ["test/worker/durable.test.ts"],
    title: "D2: an object lets go",
  },
  {
    id: "sse-places-all-for-one-principal",
    file: "src/http/http-sse.ts",
    find: "if (own < perPrincipalMax) return undefined;",
    replace: "return undefined;",
    tests: ["test/worker/heard.test.ts"],
    title: "D3: one principal cannot",
  },
  {
    id: "sse-places-of-a-principal-never-freed",
    file: "src/http/http-sse.ts",
    find: "const own = (byPrincipal.get(by) ?? 0) + more;",
    replace: "const own = (byPrincipal.get(by) ?? 0) + Math.max(0, more);",
    tests: ["test/worker/heard.test.ts"],
    title: "D3: one principal cannot",
  },
];
