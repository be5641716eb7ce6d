/**
 * The services that the streams of a session receive from its Durable Object.
 *
 * @module
 */
import type { EventLog, StreamRow } from "./event-log.ts";

/** The limits of the streams of one session. */
export interface StreamLimits {
  /**
   * The maximum number of GET streams that a session has open at once, 1 to 10,000. An additional stream replaces the oldest.
   *
   * @default 4
   */
  readonly ownStreamsMax: number;
  /**
   * The maximum number of bytes in the log of one stream. Above it, the oldest progress and log messages are deleted.
   * Results are kept.
   *
   * @default 8 MiB
   */
  readonly streamBytesMax: number;
  /**
   * The maximum number of bytes in the logs of all streams of a session. Above it, the oldest progress and log messages
   * are deleted. If that is not enough, calls are refused with 429 until the logs are smaller.
   *
   * @default 32 MiB
   */
  readonly sessionBytesMax: number;
}

/** The services that the streams of a session receive from its Durable Object. */
export interface StreamHost {
  readonly ctx: DurableObjectState;
  readonly log: EventLog;
  readonly session: number;
  readonly caps: StreamLimits;
  /** When the object was last started, in epoch milliseconds. Sockets that did not survive a restart were lost by then. */
  readonly bornAtMs: number;
  /** Called when messages could not be stored. */
  readonly onError: (error: unknown) => void;
  /** Called when a stream or a call is stored. */
  readonly onBegin: () => void;
  /** Continues an interrupted call if possible. Returns whether it continues. */
  readonly tryResume: (row: StreamRow) => boolean;
}
