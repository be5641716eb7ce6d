/**
 * mcp-edge/worker/replay: handlers that ask in the middle, as straight-line code, for clients of every version, and
 * wait for the answer through eviction, deploy and crash.
 *
 * @module
 */
import { installReplay } from "../../core/replay/index.ts";
import type { ReplayPart } from "../edge.ts";
import { LastingCalls } from "./lasting-calls.ts";

/**
 * Lets handlers ask in the middle also where a protocol version has no requests from the server (2026-07-28):
 * `await ctx.elicit(...)` and the like end the run, and when the answers come the handler runs again from the top, with
 * everything it had before returned at once. In a legacy session the run goes on where it is; if its object was lost
 * meanwhile, it runs again in the same way.
 *
 * So between questions a handler does the same with the same answers, and what must not be repeated goes into
 * `ctx.step()`. `finally` does not run where a run ends for a question.
 *
 * @example
 * ```ts
 * const app = edge(server, { sessions: durable(), replay: replay() });
 * ```
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
export function replay(): ReplayPart {
  installReplay();
  return { calls: (host) => new LastingCalls(host) };
}
