/**
 * The services that a session gets from its object.
 *
 * @module
 */
import type { ObjectServices } from "../services.ts";
import type { EventLog } from "./event-log.ts";
import type { Period } from "./session-state.ts";
import type { StreamLimits } from "./stream-host.ts";

/** The limits of one session. */
export interface SessionLimits extends StreamLimits {
  /**
   * The maximum number of requests that a session serves at once, 1 to 10,000. A further one is refused with 429.
   * @default 64
   */
  readonly inFlightMax: number;
}

/** The object of a session. */
export interface SessionHost {
  readonly ctx: DurableObjectState;
  readonly env: unknown;
  readonly services: ObjectServices;
  readonly log: EventLog;
  readonly period: Period;
  readonly caps: SessionLimits;
  /** Milliseconds a stream can be resumed after its last event. */
  readonly resumeMs: number;
  /** When the object was started last (epoch). */
  readonly bornAtMs: number;
  /** Requests an alarm at this time or earlier. */
  wakeAt(atMs: number): Promise<void>;
}
