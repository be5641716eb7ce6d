/**
 * mcp-edge/testing: runs your server on real workerd in a test, and simulates the faults of production.
 *
 * @module
 */

export type { RoleName } from "../worker/roles.ts";
export type { WorkerEntry } from "./bundle.ts";
export type { CutHow } from "./cut.ts";
export type { DevelopmentTokenOptions } from "./development-token.ts";
export { developmentToken } from "./development-token.ts";
export type { StreamEnd, StreamEvent, StreamOptions } from "./http-stream.ts";
export { HttpStream, openStream } from "./http-stream.ts";
export type { InMemoryClient, InMemoryOptions } from "./in-memory.ts";
export { connectInMemory } from "./in-memory.ts";
export { newKeys } from "./keys.ts";
export type { Pace } from "./proxy.ts";
export { CuttableProxy, startProxy } from "./proxy.ts";
export { until } from "./until.ts";
export type { ObjectName, Row, TestWorker, WorkerOptions } from "./worker.ts";
export { startWorker } from "./worker.ts";
export type { StoredState } from "./worker-side.ts";
