/** Runs before each test file. */
import * as timers from "node:timers";
import { afterAll, expect } from "vitest";
import { policeLogs } from "./logs.ts";

policeLogs();

// The files that a worker runs share its globals. A file that leaves timers of its own behind would make a later file fail.
afterAll(() => expect(globalThis.setTimeout, "the global setTimeout must be Node's own again").toBe(timers.setTimeout));
