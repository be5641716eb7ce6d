/**
 * The object that joins all isolates of a server: whoever publishes calls it once, whoever holds a stream that wants
 * notices has a WebSocket to it. It stores nothing and sleeps between notices; what each socket wants is attached to
 * the socket, which outlives the sleep.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import { compileFilter, type Notice, type NoticeFilter } from "../../core/notices.ts";

/** Bytes the platform keeps with a hibernating socket. */
const ATTACHMENT_MAX = 16_000;

/** What the hub knows of a socket. A filter too large to be kept is no filter: its Worker filters again anyway. */
type Attachment = NoticeFilter | "everything";

/** The method the Worker calls. */
export interface HubRpc {
  publish(notices: readonly Notice[]): void;
}

export class HubObject extends DurableObject implements HubRpc {
  /** Filters ready to be asked, for as long as the object is awake. */
  readonly #ready = new WeakMap<WebSocket, (notice: Notice) => boolean>();

  publish(notices: readonly Notice[]): void {
    for (const socket of this.ctx.getWebSockets()) {
      const wanted = notices.filter(this.#filterOf(socket));
      if (wanted.length > 0) socket.send(`n${JSON.stringify(wanted)}`);
    }
  }

  override async fetch(): Promise<Response> {
    const { 0: theirs, 1: ours } = new WebSocketPair();
    this.ctx.acceptWebSocket(ours);
    return new Response(null, { status: 101, webSocket: theirs });
  }

  /** The one thing a Worker says: what it wants from now on, numbered so that it knows when that holds. */
  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    const [number = "", filter = ""] = String(message).split("\n", 2);
    const isSmall = filter.length <= ATTACHMENT_MAX / 3;
    const attachment: Attachment = isSmall ? (JSON.parse(filter) as NoticeFilter) : "everything";
    socket.serializeAttachment(attachment);
    this.#ready.delete(socket);
    socket.send(`a${number}`);
  }

  #filterOf(socket: WebSocket): (notice: Notice) => boolean {
    let admits = this.#ready.get(socket);
    if (!admits) {
      const attachment = socket.deserializeAttachment() as Attachment | null;
      if (attachment === null) admits = () => false;
      else admits = attachment === "everything" ? () => true : compileFilter(attachment);
      this.#ready.set(socket, admits);
    }
    return admits;
  }
}
