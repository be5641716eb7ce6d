/**
 * mcp-edge/worker/replay: handlers that ask in the middle, as straight-line code, for clients of every version, and
 * wait for the answer through eviction, deploy and crash.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { replayRounds } from "../../core/run/replay.ts";
import { type KeepOptions, storing } from "../../http/storable-request.ts";
import type { ReplayPart } from "../parts.ts";
import { LastingCalls } from "./lasting-calls.ts";

/** What is kept of the request that began a call, beside what always is. */
export type ReplayOptions = KeepOptions;

const OPTIONS: OptionTable<ReplayOptions> = { keepHeaders: null, keepQuery: null };

/**
 * Lets handlers ask in the middle also where a protocol version has no requests from the server (2026-07-28):
 * `await ctx.elicit(...)` and the like end the run, and when the answers come the handler runs again from the top, with
 * everything it had before returned at once. In a legacy session the run goes on where it is; if its object was lost
 * meanwhile, it runs again in the same way.
 *
 * So between questions a handler does the same with the same answers, and what must not be repeated goes into
 * `ctx.step()`. `finally` does not run where a run ends for a question.
 *
 * A call that is run again after its object was lost gives a server factory and the option `context` what was stored of
 * its request: no credentials, no query, and of the headers only some. `keepHeaders` and `keepQuery` name more.
 *
 * @throws {KitError} `options-invalid` naming a header or query parameter that must not be stored.
 * @example
 * ```ts
 * const app = edge(server, { sessions: sessions(), replay: replay({ keepHeaders: ["X-Tenant"] }), keys: keys() });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
export function replay(options: ReplayOptions = {}): ReplayPart {
  checkOptions("replay(): ", options, OPTIONS);
  const storable = storing("replay()", options);
  return { rounds: replayRounds, calls: (host) => new LastingCalls(host, storable) };
}
