/**
 * The Worker's side of the hub. A stream that receives notifications has one WebSocket to each shard that may publish them.
 * The WebSocket leads to one object of the shard.
 *
 * @module
 */

import {
  type ChangeFilter,
  type ChangeListener,
  type ChangeSource,
  type ChangeSubscription,
  type Claim,
  compileFilter,
} from "../../core/protocol/change-notifications.ts";
import { BusyError } from "../../core/protocol/errors.ts";
import { ReconnectingSocket, type ReconnectingSocketOptions } from "../reconnecting-socket.ts";
import type { FromHub, HubPosition, ToHub } from "./hub-messages.ts";
import { splitFilter } from "./shards.ts";

/** Returns a function that requests a WebSocket from a shard each time a stream connects or reconnects. */
type Connect = (shard: number) => () => Promise<Response>;

/** Returns a source of the notifications that all isolates publish. */
export function hubSource(connectOf: (claim: Claim) => Promise<Connect>, shards: number): ChangeSource {
  return {
    open: async (filter, listener, claim) => {
      const tap = openSubscription(await connectOf(claim), shards, listener);
      await tap.update(filter);
      return tap;
    },
  };
}

function openSubscription(connect: Connect, shards: number, listener: ChangeListener): ChangeSubscription {
  const taps = new Map<number, ShardSubscription>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const stop = () => {
    for (const tap of taps.values()) tap.stop();
    end();
  };
  const update = async (filter: ChangeFilter) => {
    const parts = splitFilter(filter, shards);
    for (const [shard, tap] of taps) {
      if (parts.has(shard)) continue;
      tap.stop();
      taps.delete(shard);
    }
    const wanted = [...parts].map(([shard, part]) => {
      const tap = taps.get(shard) ?? new ShardSubscription({ dial: connect(shard), onEnd: stop }, listener);
      taps.set(shard, tap);
      return tap.want(part);
    });
    try {
      await Promise.all(wanted);
    } catch (error) {
      // A filter that only some of the shards have received must not stay in effect.
      stop();
      throw error;
    }
  };
  return { update, stop, ended };
}

class ShardSubscription {
  readonly #options: Pick<ReconnectingSocketOptions, "dial" | "onEnd">;
  readonly #listener: ChangeListener;
  /** Set by the first call of `want`, before anything is received. */
  #filter!: ChangeFilter;
  #admits!: ReturnType<typeof compileFilter>;
  #socket: Promise<ReconnectingSocket> | undefined;
  #asks = 0;
  /** Callers that wait until a filter is in effect, by the number of the filter. */
  readonly #waiting = new Map<number, () => void>();
  /** The last position that was received. All earlier notifications have been received too. */
  #position: HubPosition | undefined;

  constructor(options: Pick<ReconnectingSocketOptions, "dial" | "onEnd">, listener: ChangeListener) {
    this.#options = options;
    this.#listener = listener;
  }

  /** Sends a filter. Resolves when the shard has applied it. @throws {Error} when the shard cannot be reached. */
  async want(filter: ChangeFilter): Promise<void> {
    this.#filter = filter;
    this.#admits = compileFilter(filter);
    this.#asks += 1;
    const held = new Promise<void>((resolve) => this.#waiting.set(this.#asks, resolve));
    this.#socket ??= this.#open();
    await this.#send();
    await held;
  }

  stop(): void {
    // If the socket could not be opened, `want` has already rejected, so the error is ignored here.
    this.#socket?.then(
      (socket) => socket.close(),
      () => undefined,
    );
    this.#resolveUpTo(this.#asks);
  }

  async #open(): Promise<ReconnectingSocket> {
    const socket = await ReconnectingSocket.open({
      ...this.#options,
      onMessage: (text) => this.#receive(JSON.parse(text) as FromHub),
      onReconnect: () => void this.#send(this.#position),
    });
    if (!(socket instanceof Response)) return socket;
    if (socket.status === 429) throw new BusyError(await socket.text());
    throw new Error(`The hub answered ${socket.status}.`);
  }

  async #send(since?: HubPosition): Promise<void> {
    const socket = await this.#socket;
    const message: ToHub = { asks: this.#asks, filter: this.#filter, since };
    socket?.send(JSON.stringify(message));
  }

  /**
   * Handles a message of the hub. A new epoch on a connected socket means that the hub hibernated. It does not mean that
   * notifications were missed, because a socket delivers everything that is sent on it.
   */
  #receive({ place: position, heard, notifications }: FromHub): void {
    this.#position = position;
    notifications.filter(this.#admits).forEach(this.#listener);
    this.#resolveUpTo(heard);
  }

  /** Resolves the callers whose filters are in effect or were superseded by later filters. */
  #resolveUpTo(upTo = 0): void {
    for (const [number, resolve] of this.#waiting) {
      if (number > upTo) return;
      this.#waiting.delete(number);
      resolve();
    }
  }
}
