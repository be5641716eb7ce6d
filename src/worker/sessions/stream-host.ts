/**
 * The services that the streams of a session get from its object.
 *
 * @module
 */
import type { EventLog, StreamRow } from "./event-log.ts";

/** The limits of the streams of one session. */
export interface StreamCaps {
  /** GET streams that are open at once, 1 to 10,000; one more replaces the oldest. @default 4 */
  readonly ownStreamsMax: number;
  /**
   * Bytes of the log of one stream. Beyond it the oldest progress and logs are dropped; answers are kept. @default 8
   * MiB
   */
  readonly streamBytesMax: number;
  /**
   * Bytes of the logs of all streams. Beyond it the oldest progress and logs are dropped, then calls are refused until
   * there is room. @default 32 MiB
   */
  readonly sessionBytesMax: number;
}

/** The services that the streams of a session get from its object. */
export interface StreamHost {
  readonly ctx: DurableObjectState;
  readonly log: EventLog;
  readonly session: number;
  readonly caps: StreamCaps;
  /** When the object was last started. Sockets that did not survive a restart were lost by then. */
  readonly bornAtMs: number;
  /** Called when something could not be stored. */
  readonly onError: (error: unknown) => void;
  /** Called when something is stored. */
  readonly onBegin: () => void;
  /** Returns whether an interrupted call continues. */
  readonly tryResume: (row: StreamRow) => boolean;
}
