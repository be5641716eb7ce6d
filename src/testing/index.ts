/**
 * mcp-edge/testing: your server on real workerd in a test, and everything that goes wrong in production done on purpose.
 *
 * @module
 */

export type { WorkerEntry } from "./bundle.ts";
export { newKeys } from "./keys.ts";
export { createPair } from "./pair.ts";
export { until } from "./until.ts";
export type { ObjectName, Row, WorkerOptions } from "./worker.ts";
export { startWorker, TestWorker } from "./worker.ts";
export type { StoredState } from "./worker-side.ts";
