/**
 * The object that joins all isolates of a server: whoever publishes calls it once, whoever holds a stream that wants
 * notices has a WebSocket to it. It stores nothing and sleeps between notices; what each socket wants is attached to
 * the socket, which outlives the sleep.
 *
 * What it publishes is numbered, and for as long as it is awake it remembers what was told last of each subject. So a
 * Worker whose socket was lost is told what it missed, and nothing else; after a sleep or a reset, which begin another
 * epoch, it is told everything it wants. See docs/decisions/006-hub-epochs.md.
 *
 * @module
 */
import { compileFilter, type Notice, type NoticeFilter } from "../../core/protocol/notices.ts";
import type { RoleObject } from "../object.ts";
import { CLAIM_HEADER, type FromHub, type HubClaim, type HubPlace, type ToHub } from "./hub-messages.ts";
import { subjectOf } from "./shards.ts";

/** Characters of a filter that are kept with a hibernating socket, which holds 16,384 bytes. */
const FILTER_MAX = 5_000;

/** Subjects remembered. Of one that was forgotten, a Worker that was away is told needlessly. */
const SUBJECTS_MAX = 4_096;

/** What a socket wants. True: everything, since its filter is too large to be kept; its Worker filters again anyway. */
type Attachment = NoticeFilter | true;

/** The method the Worker calls. */
export interface HubRpc {
  /**
   * Tells every Worker that wants one of these; they are sent, not acknowledged, when it returns.
   *
   * @param notices Each as JSON, which is passed on as it is.
   * @returns How many sockets failed. Their Workers dial again, and are told then.
   */
  publish(notices: readonly string[]): number;
}

export class HubObject implements RoleObject, HubRpc {
  readonly #ctx: DurableObjectState;
  readonly #epoch = crypto.randomUUID();
  #number = 0;
  /** When each subject was last told of, the latest last. */
  readonly #told = new Map<number, number>();
  /** Nothing that is not in `#told` was told of after this number. */
  #floor = 0;
  /** Filters ready to be asked, for as long as the object is awake. */
  readonly #ready = new WeakMap<WebSocket, (notice: Notice) => boolean>();

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  publish(notices: readonly string[]): number {
    this.#number += 1;
    const all = notices.map((text) => ({ text, notice: this.#remember(JSON.parse(text) as Notice) }));
    const place = JSON.stringify(this.#place);
    let failed = 0;
    for (const socket of this.#ctx.getWebSockets()) {
      // Who is leaving wants nothing any more, and who lost the link dials again.
      if (socket.readyState !== WebSocket.OPEN) continue;
      try {
        const admits = this.#filterOf(socket);
        const wanted = all.filter(({ notice }) => admits(notice));
        if (wanted.length === 0) continue;
        socket.send(`{"place":${place},"notices":[${wanted.map(({ text }) => text).join()}]}`);
      } catch {
        // A loss that shows is made good: the Worker dials again.
        failed += 1;
        socket.close(1011);
      }
    }
    return failed;
  }

  /** Takes a WebSocket, or answers 429 with what there is too much of. */
  async fetch(request: Request): Promise<Response> {
    const text = request.headers.get(CLAIM_HEADER);
    const claim = text === null ? undefined : (JSON.parse(text) as HubClaim);
    const excess = claim && this.#findExcess(claim);
    if (excess) return new Response(excess, { status: 429 });
    const { 0: theirs, 1: ours } = new WebSocketPair();
    // Tags outlive the sleep of the object. The size comes first.
    this.#ctx.acceptWebSocket(ours, [`size ${claim?.size ?? 0}`, "hub", ...(claim?.owner ? [claim.owner] : [])]);
    return new Response(null, { status: 101, webSocket: theirs });
  }

  async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    const { asks, filter, since } = JSON.parse(String(message)) as ToHub;
    const attachment: Attachment = JSON.stringify(filter).length <= FILTER_MAX ? filter : true;
    socket.serializeAttachment(attachment);
    this.#ready.delete(socket);
    const answer: FromHub = { place: this.#place, heard: asks, notices: since ? this.#missed(filter, since) : [] };
    socket.send(JSON.stringify(answer));
  }

  /** Counted and taken in one turn, so that streams dialled at the same time cannot all pass. */
  #findExcess({ owner, ownerMax, size, streamsMax, charsMax }: HubClaim): string | undefined {
    const open = (tag?: string) =>
      this.#ctx.getWebSockets(tag).filter(({ readyState }) => readyState === WebSocket.OPEN);
    const own = owner ? open(owner).length : 0;
    if (owner && own >= ownerMax) return `${own} listen streams are open, of ${ownerMax} for one principal`;
    const sockets = open();
    if (sockets.length >= streamsMax) return `${sockets.length} streams are open, of ${streamsMax}`;
    const chars = sockets.reduce((sum, socket) => sum + sizeTag(this.#ctx.getTags(socket)), size);
    return chars > charsMax ? `the subscriptions of all streams have ${chars} characters, of ${charsMax}` : undefined;
  }

  get #place(): HubPlace {
    return { epoch: this.#epoch, number: this.#number };
  }

  #remember(notice: Notice): Notice {
    const subject = subjectOf(notice);
    this.#told.delete(subject);
    this.#told.set(subject, this.#number);
    if (this.#told.size > SUBJECTS_MAX) {
      const [[oldest, number] = [0, 0]] = this.#told;
      this.#told.delete(oldest);
      this.#floor = number;
    }
    return notice;
  }

  /** What may have been told since then, one notice for each subject. */
  #missed(
    { lists, uris, elicitations = [], tasks = [] }: NoticeFilter,
    { epoch, number }: HubPlace,
  ): readonly Notice[] {
    // Whoever knows another life has heard nothing of this one.
    const after = epoch === this.#epoch ? number : -1;
    const wanted: readonly Notice[] = [
      ...lists.map((kind) => ({ kind })),
      ...uris.map((uri) => ({ kind: "resource", uri }) as const),
      ...elicitations.map((id) => ({ kind: "elicitation", id }) as const),
      ...tasks.map((id) => ({ kind: "task", id }) as const),
    ];
    return wanted.filter((notice) => {
      // That something is done must be known: a client acts on it.
      const otherwise = notice.kind === "elicitation" ? -1 : this.#floor;
      return (this.#told.get(subjectOf(notice)) ?? otherwise) > after;
    });
  }

  #filterOf(socket: WebSocket): (notice: Notice) => boolean {
    let admits = this.#ready.get(socket);
    if (!admits) {
      const attachment = socket.deserializeAttachment() as Attachment | null;
      admits = attachment && attachment !== true ? compileFilter(attachment) : () => attachment === true;
      this.#ready.set(socket, admits);
    }
    return admits;
  }
}

/** Sockets that an earlier release accepted have no tags. */
function sizeTag([tag = ""]: readonly string[]): number {
  return Number(tag.split(" ")[1] ?? 0);
}
