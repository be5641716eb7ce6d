/**
 * The Worker's side of the hub: for each stream that wants notices one WebSocket to each shard that may tell of them.
 *
 * @module
 */
import { BusyError } from "../../core/protocol/errors.ts";
import {
  type Claim,
  compileFilter,
  type NoticeFilter,
  type NoticeListener,
  type NoticeSource,
  type NoticeTap,
} from "../../core/protocol/notices.ts";
import { Link, type LinkOptions } from "../reconnecting-socket.ts";
import type { FromHub, HubPlace, ToHub } from "./hub-messages.ts";
import { partsOf } from "./shards.ts";

/** Asks a shard for a WebSocket. */
type Dial = (shard: number, claim: Claim) => Promise<Response>;

/** Notices of every isolate. */
export function hubSource(dial: Dial, shards: number): NoticeSource {
  return {
    open: async (filter, listener, claim) => {
      const tap = openTap((shard) => dial(shard, claim), shards, listener);
      await tap.update(filter);
      return tap;
    },
  };
}

function openTap(dial: (shard: number) => Promise<Response>, shards: number, listener: NoticeListener): NoticeTap {
  const taps = new Map<number, ShardTap>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const stop = () => {
    for (const tap of taps.values()) tap.stop();
    end();
  };
  const update = async (filter: NoticeFilter) => {
    const parts = partsOf(filter, shards);
    for (const [shard, tap] of taps) {
      if (parts.has(shard)) continue;
      tap.stop();
      taps.delete(shard);
    }
    const wanted = [...parts].map(([shard, part]) => {
      const tap = taps.get(shard) ?? new ShardTap({ dial: () => dial(shard), onEnd: stop }, listener);
      taps.set(shard, tap);
      return tap.want(part);
    });
    try {
      await Promise.all(wanted);
    } catch (error) {
      // Half of what was asked for is nothing to rely on.
      stop();
      throw error;
    }
  };
  return { update, stop, ended };
}

class ShardTap {
  readonly #options: Pick<LinkOptions, "dial" | "onEnd">;
  readonly #listener: NoticeListener;
  #filter: NoticeFilter = { lists: [], uris: [] };
  #admits = compileFilter(this.#filter);
  #link: Promise<Link> | undefined;
  #asks = 0;
  /** Who waits for a filter to hold, by its number. */
  readonly #waiting = new Map<number, () => void>();
  /** Up to here nothing was missed. */
  #place: HubPlace | undefined;

  constructor(options: Pick<LinkOptions, "dial" | "onEnd">, listener: NoticeListener) {
    this.#options = options;
    this.#listener = listener;
  }

  /** Resolves when the shard has heard what is wanted. @throws {Error} when it cannot be reached. */
  async want(filter: NoticeFilter): Promise<void> {
    this.#filter = filter;
    this.#admits = compileFilter(filter);
    this.#asks += 1;
    const held = new Promise<void>((resolve) => this.#waiting.set(this.#asks, resolve));
    this.#link ??= this.#open();
    await this.#say();
    await held;
  }

  stop(): void {
    // A link that could not be opened was told to whoever wanted it.
    this.#link?.then(
      (link) => link.close(),
      () => undefined,
    );
    this.#heard(this.#asks);
  }

  async #open(): Promise<Link> {
    const link = await Link.open({
      ...this.#options,
      onMessage: (text) => this.#receive(JSON.parse(text) as FromHub),
      onBack: () => void this.#say(this.#place),
    });
    if (!(link instanceof Response)) return link;
    if (link.status === 429) throw new BusyError(await link.text());
    throw new Error(`The hub answered ${link.status} instead of a WebSocket.`);
  }

  async #say(since?: HubPlace): Promise<void> {
    const link = await this.#link;
    const message: ToHub = { asks: this.#asks, filter: this.#filter, since };
    link?.send(JSON.stringify(message));
  }

  /** A message of another epoch on an unbroken socket is no gap: the hub only slept, and sockets keep what is sent. */
  #receive({ place, heard, notices }: FromHub): void {
    this.#place = place;
    notices.filter(this.#admits).forEach(this.#listener);
    this.#heard(heard);
  }

  /** A later filter stands for the earlier ones. */
  #heard(upTo = 0): void {
    for (const [number, resolve] of this.#waiting) {
      if (number > upTo) return;
      this.#waiting.delete(number);
      resolve();
    }
  }
}
