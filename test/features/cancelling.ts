/** Handlers that run until they are cancelled, and the client's view of a cancelled request. */
import { expect } from "vitest";
import type { McpServer } from "../../src/core/index.ts";
import type { Json, Peer, RequestHow } from "./peer.ts";

/** Waits until an expectation holds. Polls often, because there are many tests and each takes only a moment. */
export const soon = <Value>(look: () => Value) => expect.poll(look, { interval: 1 });

export const REASON = "the user left";

/** Handlers that run until their signal aborts, and the reasons of their signals. */
export class Held {
  readonly reasons: unknown[] = [];
  running = 0;
  readonly #leave: ((signal: AbortSignal) => unknown) | undefined;

  /** @param leave How a handler ends once its signal has aborted. @default returns "done" */
  constructor(leave?: (signal: AbortSignal) => unknown) {
    this.#leave = leave;
  }

  async wait(signal: AbortSignal): Promise<string> {
    this.running += 1;
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    this.reasons.push(signal.reason);
    await this.#leave?.(signal);
    return "done";
  }
}

export const WATCHED = "test://watched";
export const addWatched = (server: McpServer) => void server.resource(WATCHED, {}, () => "text");

/** Returns the response, or "no answer" if the connection closed first. */
export function ask(peer: Peer, method: string, params: Json, how?: RequestHow): Promise<unknown> {
  return peer.request(method, params, undefined, how).catch(() => "no answer");
}

export function answersTo(peer: Peer, id: unknown): readonly unknown[] {
  return peer.received.filter((message) => (message as Json).id === id && !("method" in (message as Json)));
}
