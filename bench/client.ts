/** An HTTP/1.1 client with little overhead: one kept-alive socket, and requests whose bytes are prepared in advance. */
import { connect, type Socket } from "node:net";

export interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Called with the bytes of an answer as they arrive. */
export type OnBytes = (bytes: Buffer) => void;

/** Far longer than anything that is measured. */
const ANSWER_MS_MAX = 20_000;

/** A kept-alive connection. It carries one request at a time. */
export class Connection {
  readonly #socket: Socket;
  #take: OnBytes = () => undefined;
  #fail: (error: Error) => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (bytes) => this.#take(bytes));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("The connection was closed.")));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => resolve(new Connection(socket)));
      socket.once("error", reject);
    });
  }

  close(): void {
    this.#fail = () => undefined;
    this.#socket.destroy();
  }

  /**
   * Sends a request whose answer does not end; `onBytes` receives its bytes. Settles only when the connection breaks.
   */
  listen(request: Buffer, onBytes: OnBytes): Promise<never> {
    return new Promise((_, reject) => {
      this.#fail = reject;
      this.#take = onBytes;
      this.#socket.write(request);
    });
  }

  /** Sends a request and reads its answer to the end. `onBytes` receives the bytes as they arrive. */
  send(request: Buffer, onBytes?: OnBytes): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const reader = new AnswerReader();
      const timer = setTimeout(() => this.#fail(new Error("No answer within 20 s.")), ANSWER_MS_MAX);
      this.#fail = (error) => {
        clearTimeout(timer);
        this.#socket.destroy();
        reject(error);
      };
      this.#take = (bytes) => {
        onBytes?.(bytes);
        const answer = reader.take(bytes);
        if (!answer) return;
        clearTimeout(timer);
        resolve(answer);
      };
      this.#socket.write(request);
    });
  }
}

/** Assembles one answer from the bytes that arrive. */
class AnswerReader {
  #bytes: Buffer[] = [];
  #length = 0;
  #head: string | undefined;
  /**
   * Length of the whole answer in bytes if the head states it; undefined for chunked answers, which end with an empty
   * chunk.
   */
  #total: number | undefined;
  #bodyAt = 0;

  take(bytes: Buffer): Answer | undefined {
    this.#bytes.push(bytes);
    this.#length += bytes.length;
    if (this.#head === undefined && !this.#readHead()) return undefined;
    if (!this.#isComplete(bytes)) return undefined;
    const all = this.#bytes.length === 1 ? bytes : Buffer.concat(this.#bytes);
    const head = this.#head ?? "";
    const isChunked = this.#total === undefined;
    return {
      status: Number(head.slice(9, 12)),
      head,
      get body() {
        const body = all.subarray(head.length + 4);
        return (isChunked ? withoutChunks(body) : body).toString("utf8");
      },
    };
  }

  #readHead(): boolean {
    const all = this.#bytes.length === 1 ? (this.#bytes[0] as Buffer) : Buffer.concat(this.#bytes);
    this.#bytes = [all];
    const end = all.indexOf("\r\n\r\n");
    if (end === -1) return false;
    const head = all.toString("latin1", 0, end);
    this.#head = head;
    this.#bodyAt = end + 4;
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    if (length !== undefined) this.#total = this.#bodyAt + Number(length);
    else if (!/\r\ntransfer-encoding: chunked/i.test(head)) this.#total = this.#bodyAt;
    return true;
  }

  #isComplete(last: Buffer): boolean {
    if (this.#total !== undefined) return this.#length >= this.#total;
    if (last.length >= 7) return last.subarray(-7).equals(LAST_CHUNK);
    const tail = Buffer.concat(this.#bytes).subarray(-7);
    // A body without data starts with the empty chunk.
    return tail.equals(LAST_CHUNK) || (this.#length === this.#bodyAt + 5 && tail.subarray(-5).equals(EMPTY_CHUNK));
  }
}

const EMPTY_CHUNK = Buffer.from("0\r\n\r\n");
const LAST_CHUNK = Buffer.from("\r\n0\r\n\r\n");

function withoutChunks(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf("\r\n", at);
    const length = Number.parseInt(body.toString("latin1", at, lineEnd), 16);
    if (!(length > 0)) return Buffer.concat(chunks);
    chunks.push(body.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
}
