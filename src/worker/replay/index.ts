/**
 * Lets handlers ask questions in the middle of a call, for clients of all versions. The wait for the answer survives
 * evictions, deploys and crashes.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { replayRounds } from "../../core/run/replay.ts";
import { type KeepOptions, storing } from "../../http/storable-request.ts";
import { findKeyProblems } from "../key-problems.ts";
import type { Part } from "../parts.ts";
import type { ReplayPart } from "../services.ts";
import { DurableCalls } from "./durable-calls.ts";

/** Options of {@link replay}: additional parts of a request that are stored with its call. */
export type ReplayOptions = KeepOptions;

const OPTIONS: OptionTable<ReplayOptions> = { keepHeaders: null, keepQuery: null };

/**
 * Lets handlers ask in the middle of a call in protocol versions without requests from the server (the modern era). In these
 * versions, a question such as `await ctx.elicit(...)` ends the run. When the answers arrive, the handler runs again from
 * the top, and the answers and step results that it has already received are returned immediately. In a legacy session
 * the handler waits, and runs again in the same way if its Durable Object is reset.
 *
 * Between questions, a handler must therefore do the same things when it receives the same answers, and side effects
 * belong in `ctx.step()`. If a run ends with a question, its `finally` blocks do not run.
 *
 * For a call that runs again after a reset, a server function and the option `context` receive only the stored parts of
 * its request: some of its headers, and neither credentials nor the query. `keepHeaders` and `keepQuery` add other parts.
 *
 * @throws {KitError} `options-invalid` naming a header or query parameter that must not be stored.
 * @example
 * ```ts
 * const app = edge(server, { use: [sessions(), replay({ keepHeaders: ["X-Tenant"] }), keys()] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
export function replay(options: ReplayOptions = {}): Part {
  checkOptions("replay(): ", options, OPTIONS);
  const storable = storing("replay()", options);
  const part: ReplayPart = {
    slot: "replay",
    findProblems: findKeyProblems,
    rounds: replayRounds,
    calls: (host) => new DurableCalls(host, storable),
  };
  return part;
}
