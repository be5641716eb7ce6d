/**
 * The JSON messages on the WebSocket between a Worker and the hub. Each side ignores unknown members, so that different
 * releases work together during a deploy.
 *
 * @module
 */
import type { ChangeFilter, ChangeNotification } from "../../core/protocol/change-notifications.ts";

/** The request header that contains the {@link HubClaim} of a stream. */
export const CLAIM_HEADER = "Mcp-Edge-Claim";

/**
 * The response header that contains the number of objects of the shard, as known to the responding object. A refusal with
 * this header means that the object is full and another object may have room. A refusal without it is final.
 */
export const OBJECTS_HEADER = "Mcp-Edge-Objects";

/**
 * A stream and the limits that apply to it. The Worker sends it as JSON when it connects.
 */
export interface HubClaim {
  /** Hash of the principal. Absent for an anonymous client. */
  readonly owner?: string | undefined;
  readonly ownerMax: number;
  /** Size of the stream's subscriptions in the Worker's memory, in characters. */
  readonly size: number;
  readonly streamsMax: number;
  readonly charsMax: number;
}

/** A position in the hub's publications: the epoch, which a restart changes, and the number of the last publication. */
export interface HubPosition {
  readonly epoch: string;
  readonly number: number;
}

/** The only message that a Worker sends: the notifications that it subscribes to from now on. */
export interface ToHub {
  /** Number of the filter. The hub returns it when the filter is in effect. */
  readonly asks: number;
  readonly filter: ChangeFilter;
  /** After a reconnect, the last position that the Worker received. The hub sends the notifications missed since then. */
  readonly since?: HubPosition | undefined;
}

export interface FromHub {
  /** The position after these notifications. The name `place` is part of the wire format. */
  readonly place: HubPosition;
  /** The `asks` of the filter now in effect, which supersedes lower numbers. The name `heard` is part of the wire format. */
  readonly heard?: number;
  readonly notifications: readonly ChangeNotification[];
}
