/**
 * An object of the hub, which connects all isolates of a server. Each stream that wants notifications has a WebSocket
 * to one object of a shard, the root or a branch. Publishing calls the root, which calls the branches. The root stores
 * how many there are, and nothing else is stored. Objects hibernate between notifications. The filter of each socket is
 * attached to the socket and survives hibernation. See docs/decisions/005-notifications.md.
 *
 * Publications are numbered, and while the object is in memory it remembers the last number of each subject. So a
 * Worker that reconnects receives only the notifications that it missed. Hibernation or a reset begins a new epoch;
 * then a Worker that reconnects receives a notification for each list, resource and task in its filter. See
 * docs/decisions/005-notifications.md.
 *
 * @module
 */

import { pause } from "../../core/basics/pause.ts";
import { type ChangeFilter, type ChangeNotification, compileFilter } from "../../core/protocol/change-notifications.ts";
import type { RoleObject } from "../object.ts";
import { openSockets } from "../open-sockets.ts";
import {
  CLAIM_HEADER,
  type FromHub,
  type HubClaim,
  type HubPosition,
  OBJECTS_HEADER,
  type ToHub,
} from "./hub-messages.ts";
import { describeSubject } from "./shards.ts";

/**
 * Longest filter, in characters, that is attached to a socket. An attachment can hold 16,384 bytes.
 * @limit characters A filter of subscriptions that an object keeps in its socket. A longer one is sent again after
 * hibernation.
 */
const FILTER_MAX = 5_000;

/**
 * The maximum number of subjects that are remembered. A Worker that reconnects is also sent notifications for forgotten
 * subjects, even if it missed none.
 * @limit internal
 */
const SUBJECTS_MAX = 4_096;

/**
 * The filter of a socket. True if it is too large to attach: then everything is sent, since the Worker filters again
 * anyway.
 */
type Attachment = ChangeFilter | true;

/** The methods that are called by the Worker, and `publish` of branches by the root. */
export interface HubRpc {
  /**
   * Sends the notifications to every Worker whose filter admits one of them, through the branches too. They are sent
   * when it returns, not acknowledged.
   *
   * @param notifications Each as JSON, which is forwarded unchanged.
   * @returns The number of sockets that failed. Their Workers reconnect and receive the notifications then.
   */
  publish(notifications: readonly string[]): Promise<number>;

  /**
   * Doubles the number of objects of the shard, unless it is higher already. Only the root is asked.
   *
   * @param seen The number that the caller knows.
   * @param max The number is not raised beyond this.
   * @returns The number, which is stored before the caller receives it.
   */
  grow(shard: number, seen: number, max: number): number;
}

/** Publishes through a branch of the root's shard. */
type Forward = (shard: number, object: number, notifications: readonly string[]) => Promise<number>;

/** The start of the first tag of a socket. The size of the stream follows. */
const SIZE_TAG = "size ";

/** The key of the root's shard and of the number of its objects. */
const OBJECTS = "objects";

export class HubObject implements RoleObject, HubRpc {
  readonly #ctx: DurableObjectState;
  readonly #forward: Forward;
  /** The shard, and the number of its objects. Only the root knows them. */
  #size: readonly [shard: number, objects: number];
  /** At least the number of open streams and at least their characters. Counted when a limit seems to be exceeded. */
  #streams = Number.POSITIVE_INFINITY;
  #chars = 0;
  readonly #epoch = crypto.randomUUID();
  #number = 0;
  /** The number of the last publication about each subject, in ascending order. */
  readonly #lastNumbers = new Map<number, number>();
  /** No subject that is missing in `#lastNumbers` was published after this number. */
  #floor = 0;
  /** Compiled filters, while the object is in memory. */
  readonly #ready = new WeakMap<WebSocket, (notification: ChangeNotification) => boolean>();

  constructor(ctx: DurableObjectState, forward: Forward) {
    this.#ctx = ctx;
    this.#forward = forward;
    this.#size = ctx.storage.kv.get(OBJECTS) ?? [0, 1];
  }

  async publish(notifications: readonly string[]): Promise<number> {
    const [shard, objects] = this.#size;
    const branches = Array.from({ length: objects - 1 }, (_, at) => this.#forward(shard, at + 1, notifications));
    // The calls leave before the sockets of this object take their time.
    const own = branches.length ? pause(0).then(() => this.#send(notifications)) : this.#send(notifications);
    return (await Promise.all([own, ...branches])).reduce((sum, failed) => sum + failed);
  }

  grow(shard: number, seen: number, max: number): number {
    const objects = Math.min(seen * 2, max);
    if (objects > this.#size[1]) {
      this.#size = [shard, objects];
      this.#ctx.storage.kv.put(OBJECTS, this.#size);
    }
    return this.#size[1];
  }

  /** Sends the notifications on the sockets of this object, and returns how many of them failed. */
  #send(notifications: readonly string[]): number {
    this.#number += 1;
    const all = notifications.map((text) => ({
      text,
      notification: this.#remember(JSON.parse(text) as ChangeNotification),
    }));
    const position = JSON.stringify(this.#position);
    let failed = 0;
    // The Worker of any other socket has closed it, or will reconnect.
    for (const socket of openSockets(this.#ctx)) {
      try {
        const admits = this.#filterOf(socket);
        const wanted = all.filter(({ notification }) => admits(notification));
        if (wanted.length === 0) continue;
        socket.send(`{"place":${position},"notifications":[${wanted.map(({ text }) => text).join()}]}`);
      } catch {
        // Closing with an error makes the Worker reconnect and receive what it missed.
        failed += 1;
        socket.close(1011);
      }
    }
    return failed;
  }

  /** Accepts a WebSocket, or answers 429 with a text that names the exceeded limit. */
  async fetch(request: Request): Promise<Response> {
    const claim = JSON.parse(request.headers.get(CLAIM_HEADER) ?? "") as HubClaim;
    const { owner, ownerMax, size, charsMax } = claim;
    const own = owner ? openSockets(this.#ctx, owner).length : 0;
    const isOver = owner && own >= ownerMax;
    const excess = isOver
      ? `${own} of ${ownerMax} listen streams of this principal are open (limits.listensPerPrincipalMax)`
      : this.#findExcess(claim);
    // Without the number the refusal is final: no other object may take the stream.
    const headers: HeadersInit = isOver || size > charsMax ? {} : { [OBJECTS_HEADER]: String(this.#size[1]) };
    if (excess) return new Response(excess, { status: 429, headers });
    this.#streams += 1;
    this.#chars += size;
    const { 0: theirs, 1: ours } = new WebSocketPair();
    // Tags survive hibernation. The size is the first tag.
    this.#ctx.acceptWebSocket(ours, [SIZE_TAG + size, "hub", ...(owner ? [owner] : [])]);
    return new Response(null, { status: 101, webSocket: theirs, headers });
  }

  async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    const { asks, filter, since } = JSON.parse(String(message)) as ToHub;
    const attachment: Attachment = JSON.stringify(filter).length <= FILTER_MAX ? filter : true;
    socket.serializeAttachment(attachment);
    this.#ready.delete(socket);
    const answer: FromHub = {
      place: this.#position,
      heard: asks,
      notifications: since ? this.#missed(filter, since) : [],
    };
    socket.send(JSON.stringify(answer));
  }

  /** Synchronous, like the accept that follows, so that concurrent requests cannot all pass the check. */
  #findExcess({ size, streamsMax, charsMax }: HubClaim): string | undefined {
    if (this.#streams >= streamsMax || this.#chars + size > charsMax) {
      const sockets = openSockets(this.#ctx);
      this.#streams = sockets.length;
      this.#chars = sockets.reduce(
        (sum, socket) => sum + Number(this.#ctx.getTags(socket)[0]?.slice(SIZE_TAG.length)),
        0,
      );
    }
    if (this.#streams >= streamsMax) return `${this.#streams} of ${streamsMax} streams are open (hub(): streamsMax)`;
    const chars = this.#chars + size;
    if (chars <= charsMax) return undefined;
    return `the subscriptions of all streams would have ${chars} characters of ${charsMax} (hub(): charsMax)`;
  }

  get #position(): HubPosition {
    return { epoch: this.#epoch, number: this.#number };
  }

  #remember(notification: ChangeNotification): ChangeNotification {
    const subject = describeSubject(notification);
    this.#lastNumbers.delete(subject);
    this.#lastNumbers.set(subject, this.#number);
    if (this.#lastNumbers.size > SUBJECTS_MAX) {
      const [[oldest, number] = [0, 0]] = this.#lastNumbers;
      this.#lastNumbers.delete(oldest);
      this.#floor = number;
    }
    return notification;
  }

  /** Returns a notification for each subject in the filter that may have been published since the position. */
  #missed(
    { lists, uris, elicitations = [], tasks = [] }: ChangeFilter,
    { epoch, number }: HubPosition,
  ): readonly ChangeNotification[] {
    // A Worker that knows another epoch has received nothing of this one.
    const after = epoch === this.#epoch ? number : -1;
    const wanted: readonly ChangeNotification[] = [
      ...lists.map((kind) => ({ kind })),
      ...uris.map((uri) => ({ kind: "resource", uri }) as const),
      ...elicitations.map((id) => ({ kind: "elicitation", id }) as const),
      ...tasks.map((id) => ({ kind: "task", id }) as const),
    ];
    return wanted.filter((notification) => {
      // "elicitation" says that an elicitation is complete, and clients act on it: it is only sent if known to be true.
      const otherwise = notification.kind === "elicitation" ? -1 : this.#floor;
      return (this.#lastNumbers.get(describeSubject(notification)) ?? otherwise) > after;
    });
  }

  #filterOf(socket: WebSocket): (notification: ChangeNotification) => boolean {
    let admits = this.#ready.get(socket);
    if (!admits) {
      const attachment = socket.deserializeAttachment() as Attachment | null;
      admits = attachment && attachment !== true ? compileFilter(attachment) : () => attachment === true;
      this.#ready.set(socket, admits);
    }
    return admits;
  }
}
