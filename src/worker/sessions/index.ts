/**
 * mcp-edge/worker/sessions: legacy sessions on Durable Objects.
 *
 * What makes what: `initialize` seals an id and wakes no object; the first use of the id makes the object; DELETE
 * leaves a tombstone, which goes when the id would have expired anyway.
 *
 * @module
 */
import { createSessionRoutes } from "../../http/session-routes.ts";
import type { EdgeRuntime, SessionsPart } from "../edge.ts";
import { DurableGate } from "./gate.ts";
import { SessionObject, type SessionObjectOptions } from "./session-object.ts";

export interface DurableOptions {
  /** Name of the Durable Object binding. @default "MCP_SESSION" */
  readonly binding?: string;
  /** Milliseconds a session may be used for. @default 14 days */
  readonly trustMs?: number;
  /** Milliseconds a stream can be resumed after the last word on it. @default 5 minutes */
  readonly resumeMs?: number;
}

/** A Durable Object class as the Worker exports it. */
export type SessionClass<Env> = new (ctx: DurableObjectState, env: Env) => SessionObject<Env>;

const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * Keeps the sessions of legacy clients (2024-11-05 to 2025-11-25) in Durable Objects, one each. Sessions survive
 * eviction, restart and deploy. Needs a binding to the class it returns, and sealing keys in `MCP_KEYS`.
 *
 * @example
 * ```ts
 * const app = edge(server, { sessions: durable() });
 * export default app;
 * export const { McpSession } = app;
 * ```
 *
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
export function durable<Env>(options: DurableOptions = {}): SessionsPart<Env, { McpSession: SessionClass<Env> }> {
  const { binding = "MCP_SESSION", trustMs = 14 * DAY_MS, resumeMs = 5 * MINUTE_MS } = options;
  return {
    attach: (runtime) => {
      const gate = new DurableGate<Env>({ binding, trustMs });
      const objects = { McpSession: createSessionClass(runtime, { resumeMs }) };
      return { gate, routes: createSessionRoutes(gate), objects };
    },
  };
}

function createSessionClass<Env>(runtime: EdgeRuntime<Env>, options: SessionObjectOptions): SessionClass<Env> {
  return class McpSession extends SessionObject<Env> {
    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, env, runtime, options);
    }
  };
}
