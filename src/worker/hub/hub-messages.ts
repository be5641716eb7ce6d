/**
 * The JSON messages on the WebSocket between a Worker and the hub. Each side ignores members it does not know, so that
 * different releases work together during a deploy.
 *
 * @module
 */
import type { ChangeFilter, ChangeNotification } from "../../core/protocol/change-notifications.ts";

/** The request header with the {@link HubClaim} of a stream. */
export const CLAIM_HEADER = "Mcp-Edge-Claim";

/**
 * The response header with the number of objects of the shard, as far as the object knows it. A refusal without it is
 * final; with it, the object is full and another object may have room.
 */
export const OBJECTS_HEADER = "Mcp-Edge-Objects";

/**
 * Describes a stream and the limits it must respect, as JSON. The Worker sends it when it connects.
 */
export interface HubClaim {
  /** Hash of the principal. Absent for an anonymous client. */
  readonly owner?: string | undefined;
  readonly ownerMax: number;
  /** Characters that the Worker holds in memory for the stream. */
  readonly size: number;
  readonly streamsMax: number;
  readonly charsMax: number;
}

/** A position in what the hub has published: its epoch, which a restart changes, and the number of its last publication. */
export interface HubPosition {
  readonly epoch: string;
  readonly number: number;
}

/** The only message of a Worker: the notifications that it wants from now on. */
export interface ToHub {
  /** Counts the filters that the Worker has sent to this shard, so that it knows when one is in effect. */
  readonly asks: number;
  readonly filter: ChangeFilter;
  /** After a reconnect: the last position the Worker has received. The hub sends the notifications missed since then. */
  readonly since?: HubPosition | undefined;
}

export interface FromHub {
  /** The position after these notifications. The name is on the wire. */
  readonly place: HubPosition;
  /** The `asks` of the filter that is now in effect. Filters with lower numbers are superseded. The name is on the wire. */
  readonly heard?: number;
  readonly notifications: readonly ChangeNotification[];
}
