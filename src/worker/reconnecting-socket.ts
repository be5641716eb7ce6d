/**
 * A WebSocket from the Worker to an object, dialled again when it is lost: objects are reset by deploys, moves and
 * crashes, while the response the Worker holds for its client goes on.
 *
 * @module
 */
import { pause } from "../core/protocol/pause.ts";
/** Says that the other side is done, so that nobody dials again. */
export const OVER = 4000;
/** Says that a later link has taken this one's place. */
export const SUPERSEDED = 4001;

/** Says that the client of a stream is gone, and cannot come back to it. */
export const GONE = 4002;

/** How often a lost link is dialled again. The longest pause in milliseconds doubles each time, up to a maximum. */
const TRIES = 24;
const PAUSE_MS = 100;
const PAUSE_MAX_MS = 250;

/**
 * Milliseconds within which a link that still exists has been dialled again, counted from the moment at which its object
 * can be reached: the longest pause, and time for the network.
 */
export const BACK_MS = 700;

export interface LinkOptions {
  /** Asks the object for a WebSocket. Any other response is a refusal. */
  dial(): Promise<Response>;
  onMessage(text: string): void;
  /** The link was lost and is back. */
  onBack?(): void;
  /** The other side is done or cannot be reached any more. Nothing follows. */
  onEnd(): void;
}

export class Link {
  readonly #options: LinkOptions;
  #socket: WebSocket | undefined;
  #isOver = false;

  private constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** A link, or the response that refuses it. @throws {Error} when the object cannot be reached. */
  static async open(options: LinkOptions): Promise<Link | Response> {
    const link = new Link(options);
    const refusal = await link.#dial();
    return refusal ?? link;
  }

  /** What cannot be sent because the link is lost is said again after `onBack`, by whoever needs it said. */
  send(text: string): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  /** Ends the link from this side; `onEnd` is not called. */
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
      if (refusal) break;
      this.#options.onBack?.();
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
