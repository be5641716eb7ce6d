/**
 * Legacy sessions on Durable Objects.
 *
 * `initialize` seals an id and calls no object. The first use of the id creates the object. DELETE stores a tombstone,
 * which is deleted when the id would have expired anyway.
 *
 * @module
 */

import { checkOptions, type OptionTable, PERIOD, SIZE, TIMER } from "../../core/protocol/check-options.ts";
import { KitError } from "../../core/protocol/errors.ts";
import { createSessionRoutes } from "../../http/session-routes.ts";
import { findKeyProblems } from "../key-problems.ts";
import { OBJECTS, type WithMcpObject } from "../object.ts";
import type { Part, SessionsPart } from "../parts.ts";
import { DurableSessionGateway, type SessionKey } from "./session-gateway.ts";
import type { SessionLimits } from "./session-host.ts";
import { SessionObject } from "./session-object.ts";
import type { Period } from "./session-state.ts";

export type { SessionKey } from "./session-gateway.ts";
export type { SessionLimits } from "./session-host.ts";
export type { StreamLimits } from "./stream-host.ts";

/** Options of {@link sessions}. */
export interface SessionsOptions<Env> extends Partial<SessionLimits> {
  /**
   * The time, in milliseconds, for which a session id is valid, from 1 second to 1 year. Use in the last third renews
   * it, which costs a row, so a session lasts at least a third of this time after its last use. Afterwards its id is
   * answered with 404.
   *
   * @default 14 days
   */
  readonly ttlMs?: number;
  /**
   * The time without use, in milliseconds, after which a session ends, instead of `ttlMs`, from 1 second to 1 year.
   * Every request with the id and every open stream count as use. The session may last up to a quarter longer, so that
   * not every request costs a row. Most clients do not recover from the 404 that follows.
   *
   * @default none
   */
  readonly idleTimeoutMs?: number;
  /** The time, in milliseconds, for which a stream can be resumed after its last event. @default 5 minutes */
  readonly resumeMs?: number;
  /**
   * The time, in milliseconds, for which progress and log messages are stored on a stream that is still open.
   *
   * @default 1 hour
   */
  readonly progressRetentionMs?: number;
  /**
   * Returns a key of the principal, such as its user or team. Sessions with the same key share one object, and so its
   * memory and its location. Without the option, or if it returns undefined, each session has its own object.
   */
  readonly key?: SessionKey<Env>;
}

const OPTIONS: OptionTable<SessionsOptions<never>> = {
  ttlMs: PERIOD,
  idleTimeoutMs: PERIOD,
  resumeMs: TIMER,
  progressRetentionMs: TIMER,
  inFlightMax: [1, 10_000],
  ownStreamsMax: [1, 10_000],
  streamBytesMax: SIZE,
  sessionBytesMax: SIZE,
  key: null,
};

const MIB = 1024 * 1024;
const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * Keeps the sessions of legacy clients (2024-11-05 to 2025-11-25) in Durable Objects, one each. Sessions survive
 * eviction, restart and deploy. Needs the exported class `McpObject`, and sealing keys: those of `keys()`, or the secret
 * `MCP_KEYS`.
 *
 * @example
 * ```ts
 * const app = edge(server, { use: [sessions(), keys()] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @throws {KitError} `options-invalid` naming the option, its value and its range.
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
export function sessions<Env>(options: SessionsOptions<Env> = {}): Part<Env, WithMcpObject<Env>> {
  checkOptions("sessions(): ", options, OPTIONS);
  const { resumeMs = 5 * MINUTE_MS, progressRetentionMs = 60 * MINUTE_MS, key } = options;
  const period = getPeriod(options);
  const caps: SessionLimits = {
    inFlightMax: options.inFlightMax ?? 64,
    ownStreamsMax: options.ownStreamsMax ?? 4,
    streamBytesMax: options.streamBytesMax ?? 8 * MIB,
    sessionBytesMax: options.sessionBytesMax ?? 32 * MIB,
  };
  const part: SessionsPart<Env> = {
    slot: "sessions",
    objects: OBJECTS,
    findProblems: findKeyProblems,
    attach: (services) => {
      const durable = new DurableSessionGateway(
        { reference: services.reference, period, key: key as SessionKey<unknown> | undefined },
        services.keys,
      );
      const gateway = services.watchSessions?.(durable) ?? durable;
      const create = (ctx: DurableObjectState, env: Env) =>
        new SessionObject(ctx, env, services, { period, caps, resumeMs, progressRetentionMs });
      return { gateway, routes: createSessionRoutes(gateway), role: { name: "session", create } };
    },
  };
  return part;
}

function getPeriod({ ttlMs, idleTimeoutMs }: SessionsOptions<never>): Period {
  if (idleTimeoutMs === undefined) {
    const lengthMs = ttlMs ?? 14 * DAY_MS;
    return { lengthMs, renewBelowMs: lengthMs / 3, countsStreams: false };
  }
  if (ttlMs === undefined) {
    return { lengthMs: idleTimeoutMs * 1.25, renewBelowMs: idleTimeoutMs, countsStreams: true };
  }
  throw new KitError(
    "options-invalid",
    "sessions(): ttlMs and idleTimeoutMs exclude each other; leave one of them out.",
  );
}
