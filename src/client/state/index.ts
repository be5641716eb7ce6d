/**
 * mcp-edge/client/state: what a client is doing, for displays and for finding faults.
 *
 * @example
 * ```ts
 * import { connect } from "mcp-edge/client";
 * import { stateOf, trackState } from "mcp-edge/client/state";
 *
 * const client = await connect("https://example.com/mcp", { name: "my-app", version: "1.0.0", use: [trackState()] });
 * console.log(stateOf(client)); // { phase: "connected", requests: [], ... }
 * ```
 *
 * @module
 */

export type { ConnectionState, RequestState } from "./state.ts";
export { stateOf, trackState } from "./state.ts";
