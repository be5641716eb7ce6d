/**
 * Legacy sessions on Durable Objects.
 *
 * `initialize` seals a session id without calling an object. The first use of the id creates the object. DELETE stores a
 * tombstone, which is deleted once the id has expired anyway.
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
   * How long a session id is valid, in milliseconds, from 1 second to 1 year. Using the id in the last third of this
   * time renews it and writes a row, so a session lasts at least a third of this time after its last use. An expired id
   * is answered with 404.
   *
   * @default 14 days
   */
  readonly ttlMs?: number;
  /**
   * How long a session lasts without being used, in milliseconds, from 1 second to 1 year. Replaces `ttlMs`. Each request
   * with the id and each open stream count as use. The session may last up to a quarter longer, so that not every
   * request writes a row. Most clients do not recover from the 404 that follows.
   *
   * @default none
   */
  readonly idleTimeoutMs?: number;
  /** How long a stream can be resumed after its last event, in milliseconds. @default 5 minutes */
  readonly resumeMs?: number;
  /**
   * How long progress and log messages are stored on a stream that is still open, in milliseconds.
   *
   * @default 1 hour
   */
  readonly progressRetentionMs?: number;
  /**
   * Returns a key for the principal, such as a user or team id. Sessions with the same key share one Durable Object, with
   * its memory and location. Without this option, or if it returns undefined, each session has its own object.
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
 * Keeps each session of a legacy client (2024-11-05 to 2025-11-25) in its own Durable Object. Sessions survive evictions,
 * restarts and deploys. Requires the exported class `McpObject`, and sealing keys from `keys()` or the secret `MCP_KEYS`.
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
