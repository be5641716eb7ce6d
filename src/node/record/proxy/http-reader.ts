/**
 * Reads HTTP/1.1 messages from a stream of bytes without changing them. It reports where each head ends, so that the proxy can
 * add a header, and which bytes belong to bodies.
 *
 * @module
 * @see RFC 9112
 */

/** The head of a message. */
export interface MessageHead {
  /** The request line or status line. */
  readonly startLine: string;
  /** The headers. Names are spelled as they were sent. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** A part of the bytes. The concatenated parts are equal to the bytes that were read. */
export type Part =
  | { readonly kind: "head"; readonly bytes: Buffer; readonly head: MessageHead }
  /** `data` is the part of the body in the bytes, without the framing of chunks. */
  | { readonly kind: "body"; readonly bytes: Buffer; readonly data: readonly Buffer[] }
  | { readonly kind: "end"; readonly bytes: Buffer }
  /** From here on, the bytes are not HTTP/1.1, because the connection was upgraded or uses another protocol. */
  | { readonly kind: "raw"; readonly bytes: Buffer };

/** How the body of a message is delimited. */
export type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  | { readonly kind: "until-close" }
  | { readonly kind: "raw" };

/** The maximum size of a head, and of the line before a chunk, in bytes. A Worker would not accept larger ones. */
const [HEAD_BYTES_MAX, CHUNK_LINE_MAX] = [128 * 1024, 4_096];

const EMPTY = Buffer.alloc(0);

type State =
  | { readonly at: "head"; readonly kept: readonly Buffer[]; readonly length: number }
  | { readonly at: "length"; readonly left: number }
  | { readonly at: "chunk-line"; readonly line: string }
  | { readonly at: "chunk"; readonly left: number }
  | { readonly at: "trailers"; readonly line: string }
  | { readonly at: "until-close" }
  | { readonly at: "raw" };

const HEAD: State = { at: "head", kept: [], length: 0 };

/** Reads the messages of one direction of a connection. */
export class HttpReader {
  readonly #framing: (head: MessageHead) => Framing;
  #state: State = HEAD;

  /** @param framing Decides how the body of a message is delimited. */
  constructor(framing: (head: MessageHead) => Framing) {
    this.#framing = framing;
  }

  /** Whether the reader is in a body that ends with the connection. */
  get isUntilClose(): boolean {
    return this.#state.at === "until-close";
  }

  /** Reads the next bytes. */
  read(chunk: Buffer): Part[] {
    const parts: Part[] = [];
    let rest = chunk;
    while (rest.length > 0) {
      const taken = this.#step(rest, parts);
      rest = rest.subarray(taken);
    }
    return parts;
  }

  /** Stops parsing: all following bytes are raw. */
  becomeRaw(): void {
    this.#state = { at: "raw" };
  }

  /** Reads at least one byte, adds a part or changes the state, and returns the number of read bytes. */
  #step(bytes: Buffer, parts: Part[]): number {
    const state = this.#state;
    switch (state.at) {
      case "head":
        return this.#readHead(bytes, state, parts);
      case "length": {
        const body = bytes.subarray(0, state.left);
        parts.push({ kind: "body", bytes: body, data: [body] });
        this.#continue({ at: "length", left: state.left - body.length }, state.left === body.length, parts);
        return body.length;
      }
      case "chunk-line":
        return this.#readChunkLine(bytes, state.line, parts);
      case "chunk":
        return this.#readChunk(bytes, state.left, parts);
      case "trailers":
        return this.#readTrailers(bytes, state.line, parts);
      case "until-close":
        parts.push({ kind: "body", bytes, data: [bytes] });
        return bytes.length;
      default:
        parts.push({ kind: "raw", bytes });
        return bytes.length;
    }
  }

  #continue(next: State, isEnd: boolean, parts: Part[]): void {
    if (isEnd) parts.push({ kind: "end", bytes: EMPTY });
    this.#state = isEnd ? HEAD : next;
  }

  #readHead(bytes: Buffer, state: State & { at: "head" }, parts: Part[]): number {
    // Empty lines before a request line are ignored but forwarded (RFC 9112, 2.2).
    const all = state.length === 0 ? bytes : Buffer.concat([...state.kept, bytes]);
    const end = findHeadEnd(all);
    if (end === -1) {
      if (all.length > HEAD_BYTES_MAX) this.#giveUp(all, parts);
      else this.#state = { at: "head", kept: [all], length: all.length };
      return bytes.length;
    }
    const whole = all.subarray(0, end);
    const head = parseHead(whole.toString("latin1"));
    if (!head) {
      this.#giveUp(all, parts);
      return bytes.length;
    }
    parts.push({ kind: "head", bytes: whole, head });
    this.#beginBody(this.#framing(head), parts);
    return bytes.length - (all.length - end);
  }

  #giveUp(bytes: Buffer, parts: Part[]): void {
    this.#state = { at: "raw" };
    parts.push({ kind: "raw", bytes });
  }

  #beginBody(framing: Framing, parts: Part[]): void {
    if (framing.kind === "length") this.#continue({ at: "length", left: framing.bytes }, framing.bytes === 0, parts);
    else if (framing.kind === "chunked") this.#state = { at: "chunk-line", line: "" };
    else if (framing.kind === "none") this.#continue(HEAD, true, parts);
    else this.#state = { at: framing.kind };
  }

  #readChunkLine(bytes: Buffer, before: string, parts: Part[]): number {
    const end = bytes.indexOf(LINE_FEED);
    const taken = end === -1 ? bytes : bytes.subarray(0, end + 1);
    const line = before + taken.toString("latin1");
    if (line.length > CHUNK_LINE_MAX) {
      this.#giveUp(taken, parts);
      return taken.length;
    }
    if (end === -1) this.#state = { at: "chunk-line", line };
    else {
      const size = /^\s*([\da-f]{1,12})\s*(?:;.*)?\r?\n$/i.exec(line)?.[1];
      // The line break after a chunk precedes the line of the next chunk.
      if (line.trim() === "") this.#state = { at: "chunk-line", line: "" };
      else if (size === undefined) {
        this.#giveUp(taken, parts);
        return taken.length;
      } else {
        const left = Number.parseInt(size, 16);
        this.#state = left === 0 ? { at: "trailers", line: "" } : { at: "chunk", left };
      }
    }
    parts.push({ kind: "body", bytes: taken, data: [] });
    return taken.length;
  }

  #readChunk(bytes: Buffer, left: number, parts: Part[]): number {
    const data = bytes.subarray(0, left);
    parts.push({ kind: "body", bytes: data, data: [data] });
    this.#state = left > data.length ? { at: "chunk", left: left - data.length } : { at: "chunk-line", line: "" };
    return data.length;
  }

  #readTrailers(bytes: Buffer, before: string, parts: Part[]): number {
    const end = bytes.indexOf(LINE_FEED);
    const taken = end === -1 ? bytes : bytes.subarray(0, end + 1);
    const line = before + taken.toString("latin1");
    if (end !== -1 && line.trim() === "") {
      parts.push({ kind: "end", bytes: taken });
      this.#state = HEAD;
      return taken.length;
    }
    parts.push({ kind: "body", bytes: taken, data: [] });
    this.#state = { at: "trailers", line: end === -1 ? line.slice(-CHUNK_LINE_MAX) : "" };
    return taken.length;
  }
}

const LINE_FEED = 0x0a;

/** Returns the position after the empty line that ends a head, or -1. Lines may end without a carriage return (RFC 9112, 2.2). */
function findHeadEnd(bytes: Buffer): number {
  const [plain, bare] = [bytes.indexOf("\n\r\n"), bytes.indexOf("\n\n")];
  if (plain === -1) return bare === -1 ? -1 : bare + 2;
  return bare !== -1 && bare < plain ? bare + 2 : plain + 3;
}

const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;

function parseHead(text: string): MessageHead | undefined {
  const [startLine = "", ...lines] = text.trim().split(/\r?\n/);
  const headers: [string, string][] = [];
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0));
    if (!TOKEN.test(name)) return undefined;
    headers.push([name, line.slice(colon + 1).trim()]);
  }
  return { startLine, headers };
}

/** Returns the values of a header, joined. */
export function headerOf({ headers }: MessageHead, name: string): string | undefined {
  const values = headers.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);
  return values.length === 0 ? undefined : values.join(", ");
}

/** A request line. */
export interface RequestLine {
  readonly method: string;
  readonly target: string;
}

/** Parses a request line of HTTP/1.0 or 1.1. */
export function parseRequestLine(line: string): RequestLine | undefined {
  const [, method, target] = /^([!#$%&'*+.^_`|~\w-]+) (\S+) HTTP\/1\.[01]$/.exec(line) ?? [];
  return method === undefined || target === undefined ? undefined : { method, target };
}

/** Parses the status in a status line. */
export function parseStatus(line: string): number | undefined {
  const [, status] = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(line) ?? [];
  return status === undefined ? undefined : Number(status);
}

/** Returns how the body of a request is delimited. */
export function framingOfRequest(head: MessageHead): Framing {
  const line = parseRequestLine(head.startLine);
  if (!line || line.method === "CONNECT") return { kind: "raw" };
  return framingByHeaders(head) ?? { kind: "none" };
}

/** Returns how the body of a response is delimited. @param method The method of the request. */
export function framingOfResponse(head: MessageHead, method: string): Framing {
  const status = parseStatus(head.startLine);
  if (status === undefined || status === 101) return { kind: "raw" };
  if (status < 200 || status === 204 || status === 304 || method === "HEAD") return { kind: "none" };
  return framingByHeaders(head) ?? { kind: "until-close" };
}

function framingByHeaders(head: MessageHead): Framing | undefined {
  const encoding = headerOf(head, "transfer-encoding");
  if (encoding !== undefined) {
    return /(?:^|,)\s*chunked\s*$/i.test(encoding) ? { kind: "chunked" } : { kind: "until-close" };
  }
  const length = headerOf(head, "content-length");
  if (length === undefined) return undefined;
  return /^\d{1,15}$/.test(length) ? { kind: "length", bytes: Number(length) } : { kind: "raw" };
}
