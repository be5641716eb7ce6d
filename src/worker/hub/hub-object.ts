/**
 * A Durable Object of the hub, which connects all isolates of a server. Each stream that receives notifications has a
 * WebSocket to one object of a shard, which is the root or a branch. Publishing calls the root, which calls the branches.
 * The only stored data is the number of objects, in the root. Objects hibernate between notifications. The filter of each
 * socket is attached to the socket and survives hibernation.
 *
 * Publications are numbered. While the object is in memory, it keeps the last number of each subject, so a Worker that
 * reconnects receives only the notifications that it missed. Hibernation or a reset begins a new epoch. A Worker that
 * reconnects then receives a notification for each list, resource and task in its filter. See
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
 * The maximum length, in characters, of a filter that is attached to a socket. An attachment can hold 16,384 bytes.
 * @limit characters A subscription filter that the hub attaches to a WebSocket. With a longer filter, the hub sends all
 * notifications and the Worker filters them.
 */
const FILTER_MAX = 5_000;

/**
 * The maximum number of subjects whose last number is kept. A Worker that reconnects also receives notifications for
 * removed subjects, even if it did not miss any.
 * @limit internal
 */
const SUBJECTS_MAX = 4_096;

/**
 * The filter of a socket. True if the filter is too large to attach. All notifications are then sent, because the Worker
 * filters them again anyway.
 */
type Attachment = ChangeFilter | true;

/** The RPC interface, which the Worker calls. The root also calls `publish` of its branches. */
export interface HubRpc {
  /**
   * Sends the notifications to each Worker whose filter matches, including the Workers of branches. When it returns, they
   * have been sent but not acknowledged.
   *
   * @param notifications Notifications encoded as JSON, which are forwarded unchanged.
   * @returns The number of sockets that failed. Their Workers receive the notifications when they have reconnected.
   */
  publish(notifications: readonly string[]): Promise<number>;

  /**
   * Doubles the number of objects of the shard, unless it is already higher. Called only on the root.
   *
   * @param seen The number of objects that the caller knows of.
   * @param max The maximum number of objects.
   * @returns The number of objects. It is stored before the caller receives it.
   */
  grow(shard: number, seen: number, max: number): number;
}

/** Publishes notifications through a branch of a shard. */
type Forward = (shard: number, object: number, notifications: readonly string[]) => Promise<number>;

/** The prefix of the first tag of a socket. The size of the stream follows. */
const SIZE_TAG = "size ";

/** The storage key of the shard's number and its number of objects. */
const OBJECTS = "objects";

export class HubObject implements RoleObject, HubRpc {
  readonly #ctx: DurableObjectState;
  readonly #forward: Forward;
  /** The number of the shard and its number of objects. Known only to the root. */
  #size: readonly [shard: number, objects: number];
  /** Upper bounds for the number and the characters of the open streams. Recounted when they exceed a limit. */
  #streams = Infinity;
  #chars = 0;
  readonly #epoch = crypto.randomUUID();
  #number = 0;
  /** The number of the last publication of each subject, in ascending order. */
  readonly #lastNumbers = new Map<number, number>();
  /** Subjects that are not in `#lastNumbers` were last published at this number or earlier. */
  #floor = 0;
  /** Compiled filters by socket. Lost on hibernation. */
  readonly #ready = new WeakMap<WebSocket, (notification: ChangeNotification) => boolean>();

  constructor(ctx: DurableObjectState, forward: Forward) {
    this.#ctx = ctx;
    this.#forward = forward;
    this.#size = ctx.storage.kv.get(OBJECTS) ?? [0, 1];
  }

  async publish(notifications: readonly string[]): Promise<number> {
    const [shard, objects] = this.#size;
    const branches = Array.from({ length: objects - 1 }, (_, at) => this.#forward(shard, at + 1, notifications));
    // The calls to the branches are sent first, because sending on the sockets of this object takes time.
    const own = branches.length ? pause(0).then(() => this.#send(notifications)) : this.#send(notifications);
    return (await Promise.all([own, ...branches])).reduce((sum, failed) => sum + failed);
  }

  grow(shard: number, seen: number, max: number): number {
    const objects = Math.min(seen * 2, max);
    if (objects > this.#size[1]) {
      // If the number cannot be stored, no stream may use the new objects: they would miss notifications later.
      this.#ctx.storage.kv.put(OBJECTS, [shard, objects]);
      this.#size = [shard, objects];
    }
    return this.#size[1];
  }

  /** Sends the notifications on the sockets of this object. Returns the number of sockets that failed. */
  #send(notifications: readonly string[]): number {
    this.#number += 1;
    const all = notifications.map((text) => ({
      text,
      notification: this.#remember(JSON.parse(text) as ChangeNotification),
    }));
    const position = JSON.stringify(this.#position);
    let failed = 0;
    // Sockets that are not open were closed by their Workers, or their Workers will reconnect.
    for (const socket of openSockets(this.#ctx)) {
      try {
        const admits = this.#filterOf(socket);
        const wanted = all.filter(({ notification }) => admits(notification));
        if (wanted.length === 0) continue;
        socket.send(`{"place":${position},"notifications":[${wanted.map(({ text }) => text).join()}]}`);
      } catch {
        // Closing with an error makes the Worker reconnect and receive the notifications that it missed.
        failed += 1;
        socket.close(1011);
      }
    }
    return failed;
  }

  /** Accepts a WebSocket, or returns 429 with a message that names the exceeded limit. */
  async fetch(request: Request): Promise<Response> {
    const claim = JSON.parse(request.headers.get(CLAIM_HEADER) ?? "") as HubClaim;
    const { owner, ownerMax, size, charsMax } = claim;
    const own = owner ? openSockets(this.#ctx, owner).length : 0;
    const isOver = owner && own >= ownerMax;
    const excess = isOver
      ? `${own} of ${ownerMax} listen streams of this principal are open (limits.listensPerPrincipalMax)`
      : this.#findExcess(claim);
    // A refusal without this header is final, because no other object may accept the stream.
    const headers: HeadersInit = isOver || size > charsMax ? {} : { [OBJECTS_HEADER]: String(this.#size[1]) };
    if (excess) return new Response(excess, { status: 429, headers });
    this.#streams += 1;
    this.#chars += size;
    const { 0: theirs, 1: ours } = new WebSocketPair();
    // The size is stored in the first tag, because tags survive hibernation.
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

  /** Returns a description of the limit that a stream would exceed. Synchronous, so that check and accept are atomic. */
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

  /** Returns a notification for each subject of the filter that may have been published after the position. */
  #missed(
    { lists, uris, elicitations = [], tasks = [] }: ChangeFilter,
    { epoch, number }: HubPosition,
  ): readonly ChangeNotification[] {
    // A Worker whose position is in another epoch has not received any notifications of this epoch.
    const after = epoch === this.#epoch ? number : -1;
    const wanted: readonly ChangeNotification[] = [
      ...lists.map((kind) => ({ kind })),
      ...uris.map((uri) => ({ kind: "resource", uri }) as const),
      ...elicitations.map((id) => ({ kind: "elicitation", id }) as const),
      ...tasks.map((id) => ({ kind: "task", id }) as const),
    ];
    return wanted.filter((notification) => {
      // "elicitation" reports that an elicitation is complete, which clients act on, so it is sent only if that is certain.
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
