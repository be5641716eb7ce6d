/**
 * mcp-edge/worker/sessions: legacy sessions on Durable Objects.
 *
 * What makes what: `initialize` seals an id and wakes no object; the first use of the id makes the object; DELETE
 * leaves a tombstone, which goes when the id would have expired anyway.
 *
 * @module
 */

import { checkOptions, type OptionTable, PERIOD, SIZE, TIMER } from "../../core/protocol/check-options.ts";
import { KitError } from "../../core/protocol/errors.ts";
import { createSessionRoutes } from "../../http/session-routes.ts";
import { claimFor } from "../bindings.ts";
import type { EdgeRuntime, SessionsPart } from "../edge.ts";
import type { SessionCaps } from "./session.ts";
import { DurableGate, type SessionKey } from "./session-gateway.ts";
import { SessionObject, type SessionObjectOptions } from "./session-object.ts";
import type { Period } from "./session-state.ts";

export interface DurableOptions<Env> extends Partial<SessionCaps> {
  /** Name of the Durable Object binding. @default "MCP_SESSION" */
  readonly binding?: string;
  /**
   * Milliseconds a session is good for, a third of them at least after its last use: late use renews it, at the price
   * of a row. Afterwards its id is answered 404. From 1 second to 1 year. @default 14 days
   */
  readonly trustMs?: number;
  /**
   * Milliseconds without use after which a session ends, in place of `trustMs`. Every request with the id and every open
   * stream is use. It lasts up to a quarter longer, so that not each request costs a row. Mind that most clients do not
   * recover from the 404 that follows. From 1 second to 1 year; not together with `trustMs`.
   */
  readonly idleTimeoutMs?: number;
  /** Milliseconds a stream can be resumed after the last word on it. @default 5 minutes */
  readonly resumeMs?: number;
  /** Milliseconds that progress and the like are kept for on a stream that goes on. @default 1 hour */
  readonly newsMs?: number;
  /** Where objects are made, for data that must stay there. */
  readonly jurisdiction?: DurableObjectJurisdiction;
  /** Near what objects are made, as a wish. @default near the client that opens the session */
  readonly locationHint?: DurableObjectLocationHint;
  /**
   * Names what the sessions of one object have in common, such as the user or the team: they share its memory and its
   * place. Without it, or where it returns undefined, each session has an object of its own.
   */
  readonly key?: SessionKey<Env>;
}

const OPTIONS: OptionTable<DurableOptions<never>> = {
  binding: null,
  trustMs: PERIOD,
  idleTimeoutMs: PERIOD,
  resumeMs: TIMER,
  newsMs: TIMER,
  inFlightMax: [1, 10_000],
  ownStreamsMax: [1, 10_000],
  streamBytesMax: SIZE,
  sessionBytesMax: SIZE,
  jurisdiction: null,
  locationHint: null,
  key: null,
};

/** A Durable Object class as the Worker exports it. */
export type SessionClass<Env> = new (ctx: DurableObjectState, env: Env) => SessionObject<Env>;

const MIB = 1024 * 1024;
const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * Keeps the sessions of legacy clients (2024-11-05 to 2025-11-25) in Durable Objects, one each. Sessions survive
 * eviction, restart and deploy. Needs a binding to the class it returns, and sealing keys: the option `keys`,
 * or the secret `MCP_KEYS`. Endpoints do
 * not share bindings: the second one that names the same is refused with {@link KitError} `options-invalid` by `edge()`.
 *
 * @example
 * ```ts
 * const app = edge(server, { sessions: durable(), keys: keys() });
 * export default app;
 * export const { McpSession, McpKeys } = app;
 * ```
 *
 * @throws {KitError} `options-invalid` naming the option, its value and its range.
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
export function durable<Env>(options: DurableOptions<Env> = {}): SessionsPart<Env, { McpSession: SessionClass<Env> }> {
  checkOptions("durable(): ", options, OPTIONS);
  const { binding = "MCP_SESSION", resumeMs = 5 * MINUTE_MS, newsMs = 60 * MINUTE_MS } = options;
  const { jurisdiction, locationHint, key } = options;
  const period = periodOf(options);
  const caps: SessionCaps = {
    inFlightMax: options.inFlightMax ?? 64,
    ownStreamsMax: options.ownStreamsMax ?? 4,
    streamBytesMax: options.streamBytesMax ?? 8 * MIB,
    sessionBytesMax: options.sessionBytesMax ?? 32 * MIB,
  };
  return {
    attach: (runtime) => {
      claimFor("durable", binding);
      const gate = new DurableGate<Env>(
        { binding, lengthMs: period.lengthMs, jurisdiction, locationHint, key },
        runtime.keys,
      );
      const objects = { McpSession: createSessionClass(runtime, { binding, period, caps, resumeMs, newsMs }) };
      return { gate, routes: createSessionRoutes(gate), objects };
    },
  };
}

function periodOf({ trustMs, idleTimeoutMs }: DurableOptions<never>): Period {
  if (trustMs !== undefined && idleTimeoutMs !== undefined) {
    throw new KitError(
      "options-invalid",
      "durable(): trustMs and idleTimeoutMs exclude each other; leave one of them out.",
    );
  }
  return periodOfOne(trustMs, idleTimeoutMs);
}

function periodOfOne(trustMs = 14 * DAY_MS, idleTimeoutMs?: number): Period {
  if (idleTimeoutMs === undefined) return { lengthMs: trustMs, renewBelowMs: trustMs / 3, countsStreams: false };
  return { lengthMs: idleTimeoutMs * 1.25, renewBelowMs: idleTimeoutMs, countsStreams: true };
}

function createSessionClass<Env>(runtime: EdgeRuntime<Env>, options: SessionObjectOptions): SessionClass<Env> {
  return class McpSession extends SessionObject<Env> {
    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, env, runtime, options);
    }
  };
}
