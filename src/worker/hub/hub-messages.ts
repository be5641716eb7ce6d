/**
 * What goes over the WebSocket between a Worker and the hub, as JSON. Members unknown to the other side are ignored, so
 * that versions of both meet during a deploy.
 *
 * @module
 */
import type { Notice, NoticeFilter } from "../../core/protocol/notices.ts";

/** The header that says who dials, with a {@link HubClaim}. */
export const CLAIM_HEADER = "Mcp-Edge-Claim";

/** What a Worker says of a stream when it dials, and what is allowed. JSON; a Worker of an earlier release says nothing. */
export interface HubClaim {
  /** Hash of the principal; absent: nobody in particular. */
  readonly owner?: string;
  readonly ownerMax: number;
  /** Characters that the Worker keeps for it. */
  readonly size: number;
  readonly streamsMax: number;
  readonly charsMax: number;
}

/** How far the hub has come: one of its lives, and the number of what it published last in it. */
export interface HubPlace {
  readonly epoch: string;
  readonly number: number;
}

/** The one thing a Worker says: what it wants from now on. */
export interface ToHub {
  /** Counts what the Worker says on any of its sockets, so that it knows when a filter holds. */
  readonly asks: number;
  readonly filter: NoticeFilter;
  /** On a socket dialled again: how far the last one had come. What was missed since is told again. */
  readonly since?: HubPlace | undefined;
}

export interface FromHub {
  readonly place: HubPlace;
  /** The filter of this number, and so of each before it, holds. */
  readonly heard?: number;
  readonly notices: readonly Notice[];
}
