/**
 * The services that the streams of a session get from its object.
 *
 * @module
 */
import type { EventLog, StreamRow } from "./event-log.ts";

/** The limits of the streams of one session. */
export interface StreamLimits {
  /**
   * The maximum number of GET streams that a session has open at once, 1 to 10,000. A further one replaces the oldest.
   *
   * @default 4
   */
  readonly ownStreamsMax: number;
  /**
   * The maximum number of bytes in the log of one stream. Beyond it the oldest progress and log messages are dropped;
   * answers are kept.
   *
   * @default 8 MiB
   */
  readonly streamBytesMax: number;
  /**
   * The maximum number of bytes in the logs of all streams of a session. Beyond it the oldest progress and log messages
   * are dropped, and then calls are refused until there is room.
   *
   * @default 32 MiB
   */
  readonly sessionBytesMax: number;
}

/** The services that the streams of a session get from its object. */
export interface StreamHost {
  readonly ctx: DurableObjectState;
  readonly log: EventLog;
  readonly session: number;
  readonly caps: StreamLimits;
  /** When the object was last started. Sockets that did not survive a restart were lost by then. */
  readonly bornAtMs: number;
  /** Called when something could not be stored. */
  readonly onError: (error: unknown) => void;
  /** Called when something is stored. */
  readonly onBegin: () => void;
  /** Returns whether an interrupted call continues. */
  readonly tryResume: (row: StreamRow) => boolean;
}
