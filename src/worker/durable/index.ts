/**
 * mcp-edge/worker/durable: what an endpoint keeps in Durable Objects. `durable()` is all of it but `dpop()` and `rates()`.
 *
 * @module
 */

export type { KeepOptions } from "../../http/storable-request.ts";
export type { DpopOptions, ProofVerifier } from "../access/dpop/index.ts";
export { dpop } from "../access/dpop/index.ts";
export type {
  BoundRate,
  BoundRatesOptions,
  LiveSessions,
  Rate,
  RatesOptions,
  UnfinishedTasks,
} from "../access/rates/index.ts";
export { rates } from "../access/rates/index.ts";
export type { HttpSseOptions } from "../http-sse/index.ts";
export { httpSse } from "../http-sse/index.ts";
export type { HubOptions } from "../hub/index.ts";
export { hub } from "../hub/index.ts";
export type { KeysOptions } from "../keys/index.ts";
export { keys } from "../keys/index.ts";
export type { ReplayOptions } from "../replay/index.ts";
export { replay } from "../replay/index.ts";
export type { SessionKey, SessionLimits, SessionsOptions, StreamLimits } from "../sessions/index.ts";
export { sessions } from "../sessions/index.ts";
export type { TasksOptions } from "../tasks/index.ts";
export { tasks } from "../tasks/index.ts";
export type { DurableOptions } from "./durable.ts";
export { durable } from "./durable.ts";
