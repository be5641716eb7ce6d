/** Cloudflare's `McpAgent`: a session is an Agent, a Durable Object. */
import { McpAgent } from "agents/mcp";
import { makeServer } from "./sdk-v1-server.ts";

export class Session extends McpAgent {
  server = makeServer();
  override async init(): Promise<void> {}
}

export default Session.serve("/mcp", { binding: "SESSION" });
