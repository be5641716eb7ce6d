/**
 * What goes over the WebSocket between a Worker and the hub, as JSON. Members unknown to the other side are ignored, so
 * that versions of both meet during a deploy.
 *
 * @module
 */
import type { Notice, NoticeFilter } from "../../core/notices.ts";

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
