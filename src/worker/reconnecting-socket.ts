/**
 * A WebSocket from the Worker to a Durable Object, which reconnects when the connection is lost. Deploys, migrations to
 * other machines and crashes reset objects while the Worker's response to its client continues.
 *
 * @module
 */

import { pause } from "../core/basics/pause.ts";
import { sendIfOpen } from "./open-sockets.ts";

/** Close code: the other side has finished. Do not reconnect. */
export const OVER = 4000;

/** Close code: a later socket has replaced this socket. Do not reconnect. */
export const SUPERSEDED = 4001;

/** Close code: the client of the stream has left and cannot return to it. */
export const GONE = 4002;

/** The maximum number of attempts to reconnect. Each follows a random pause, whose upper limit doubles each time. */
const TRIES = 24;
/** The upper limit of the first pause, in milliseconds. */
const PAUSE_MS = 100;
/** The upper limit of all pauses, in milliseconds. @limit internal */
const PAUSE_MAX_MS = 250;

/**
 * The maximum time, in milliseconds, in which a lost connection is restored once its object is reachable again: the longest
 * pause, plus time for the network.
 */
export const RECONNECT_MS = 700;

export interface ReconnectingSocketOptions {
  /** Requests a WebSocket from the object. A response without a WebSocket is a refusal. */
  dial(): Promise<Response>;
  onMessage(text: string): void;
  /** Called after each reconnection. */
  onReconnect?(): void;
  /** Called when the other side has finished or can no longer be reached. It is the last callback. */
  onEnd(): void;
}

export class ReconnectingSocket {
  readonly #options: ReconnectingSocketOptions;
  #socket: WebSocket | undefined;
  #isOver = false;

  private constructor(options: ReconnectingSocketOptions) {
    this.#options = options;
  }

  /** Returns a connected socket, or the response that refused it. @throws {Error} if the object cannot be reached. */
  static async open(options: ReconnectingSocketOptions): Promise<ReconnectingSocket | Response> {
    const socket = new ReconnectingSocket(options);
    const refusal = await socket.#dial();
    return refusal ?? socket;
  }

  /** Sends a message, or drops it while disconnected. Callers send required messages again in `onReconnect`. */
  send(text: string): void {
    sendIfOpen(this.#socket, text);
  }

  /** Closes the socket from this side. `onEnd` is not called. */
  close(code = 1000): void {
    this.#isOver = true;
    this.#socket?.close(code);
  }

  async #dial(): Promise<Response | undefined> {
    const response = await this.#options.dial();
    const socket = response.webSocket;
    if (!socket) return response;
    if (this.#isOver) {
      socket.accept();
      socket.close(1000);
      return undefined;
    }
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      if (socket === this.#socket && typeof data === "string") this.#options.onMessage(data);
    });
    socket.addEventListener("close", ({ code }) => this.#lost(socket, code));
    socket.addEventListener("error", () => this.#lost(socket, 1006));
    socket.accept();
    return undefined;
  }

  #lost(socket: WebSocket, code: number): void {
    if (socket !== this.#socket || this.#isOver) return;
    this.#socket = undefined;
    if (code === 1000 || code === OVER || code === SUPERSEDED) this.#end();
    else void this.#redial();
  }

  async #redial(): Promise<void> {
    for (let attempt = 0; attempt < TRIES && !this.#isOver; attempt++) {
      await pause(Math.min(PAUSE_MS * 2 ** attempt, PAUSE_MAX_MS) * Math.random());
      const refusal = await this.#dial().catch(() => "unreachable" as const);
      if (refusal === "unreachable") continue;
      if (refusal) {
        // An object does not hibernate until its response has been read or cancelled.
        await refusal.body?.cancel();
        break;
      }
      this.#options.onReconnect?.();
      return;
    }
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onEnd();
  }
}
