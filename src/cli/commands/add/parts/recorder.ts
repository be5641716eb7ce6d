/**
 * A Worker of its own that records the server: what its last calls did and cost. Its configuration is wrangler.recorder.toml.
 *
 * It is an MCP server itself, with the tools list_calls and show_call, for callers with a token of this issuer.
 */
import { recorder } from "mcp-edge/recorder";
import { edge } from "mcp-edge/worker";
import { bearer } from "mcp-edge/worker/auth";

// Calls are kept for one day, and at most 1,000 of them. With much traffic, record a share: recorder({ share: 0.01 }).
const recording = recorder();
const app = edge(recording.server, { use: [bearer({ issuer: "https://login.example.com" })] });

export default { fetch: app.fetch, tailStream: recording.tailStream };
export class McpRecorder extends recording.McpRecorder {}
