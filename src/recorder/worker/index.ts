/**
 * mcp-edge/recorder: a Worker that records the last calls of another Worker and their costs, and shows them as an MCP server.
 *
 * It uses streaming tail Workers, which are experimental in production.
 *
 * @example
 * ```ts
 * import { recorder } from "mcp-edge/recorder";
 * import { edge } from "mcp-edge/worker";
 * import { bearer } from "mcp-edge/worker/auth";
 *
 * const recording = recorder();
 * const app = edge(recording.server, { use: [bearer({ issuer: "https://login.example.com" })] });
 *
 * export default { fetch: app.fetch, tailStream: recording.tailStream };
 * export class McpRecorder extends recording.McpRecorder {}
 * ```
 *
 * @module
 */

export { type RecordingWorker, recorder } from "./recorder.ts";
export type { McpRecorder, McpRecorderClass } from "./recorder-object.ts";
export type { RecordingOptions } from "./recording-options.ts";
