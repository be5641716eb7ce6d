/**
 * The server's end of stdio: one JSON text a line, both ways.
 *
 * @module
 * @see MCP 2026-07-28, basic/transports/stdio
 */
import type { Readable, Writable } from "node:stream";
import { checkOptions, type OptionTable, SIZE } from "../core/protocol/check-options.ts";
import { DepthGauge } from "../core/protocol/depth-gauge.ts";
import { KitError } from "../core/protocol/errors.ts";
import { type JSONRPCMessage, parseMessage } from "../core/protocol/jsonrpc.ts";
import { DEFAULT_LIMITS } from "../core/protocol/limits.ts";
import type { Transport, UnreadableMessage } from "../core/protocol/transport.ts";

/** Options of {@link StdioServerTransport}. */
export interface StdioTransportOptions {
  /** The stream that messages are read from. @default process.stdin */
  readonly input?: Readable;
  /** The stream that messages are written to. @default process.stdout */
  readonly output?: Writable;
  /** Bytes of one line. A longer one is answered with an error and skipped. @default limits.bodyBytesMax */
  readonly lineBytesMax?: number;
  /** Nesting of arrays and objects in one line. A deeper one is answered with an error and skipped. @default limits.bodyDepthMax */
  readonly lineDepthMax?: number;
  /** Values in one line. A line of more is answered with an error and skipped. @default limits.bodyValuesMax */
  readonly lineValuesMax?: number;
}

const OPTIONS: OptionTable<StdioTransportOptions> = {
  input: null,
  output: null,
  lineBytesMax: SIZE,
  lineDepthMax: SIZE,
  lineValuesMax: SIZE,
};

const NEWLINE = 0x0a;

/**
 * Newline-framed JSON over a pair of streams. The output stays open at `close`: it may be the process's own. Errors it
 * has later are heard and dropped, since an unheard one would end the process.
 */
export class StdioServerTransport implements Transport {
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #lineBytesMax: number;
  readonly #lineDepthMax: number;
  readonly #lineValuesMax: number;
  #depth = new DepthGauge();
  #parts: Buffer[] = [];
  #partBytes = 0;
  #isSkipping = false;
  #isClosed = false;
  #settleEnded: () => void = () => undefined;
  /** Receives each valid message. */
  onmessage: ((message: JSONRPCMessage) => void) | undefined;
  /** Called once, when the transport is closed. */
  onclose: (() => void) | undefined;
  /** Receives the errors of the streams. */
  onerror: ((error: Error) => void) | undefined;
  /** Receives what is no valid message. */
  onunreadable: ((error: UnreadableMessage) => void) | undefined;
  /** Resolves when the input has ended, or the transport was closed: nothing more will arrive. */
  readonly ended: Promise<void>;

  /**
   * Makes a transport that does not read yet.
   *
   * @throws {KitError} `options-invalid` for an option that does not exist
   * or a number out of its range.
   */
  constructor(options: StdioTransportOptions = {}) {
    checkOptions("new StdioServerTransport(): ", options, OPTIONS);
    this.#input = options.input ?? process.stdin;
    this.#output = options.output ?? process.stdout;
    this.#lineBytesMax = options.lineBytesMax ?? DEFAULT_LIMITS.bodyBytesMax;
    this.#lineDepthMax = options.lineDepthMax ?? DEFAULT_LIMITS.bodyDepthMax;
    this.#lineValuesMax = options.lineValuesMax ?? DEFAULT_LIMITS.bodyValuesMax;
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
  }

  /** Begins to read. */
  async start(): Promise<void> {
    this.#input.on("data", this.#onData);
    this.#input.on("end", this.#onEnd);
    this.#input.on("error", this.#onError);
    // The reader of our output went away (EPIPE): there is nobody left to serve.
    this.#output.on("error", this.#onError);
  }

  /** Refuses what is no message before anything is written. */
  send(message: JSONRPCMessage): Promise<void> {
    const parsed = parseMessage(message);
    if (parsed.kind !== "invalid") return this.sendText(JSON.stringify(message));
    return this.#refuse(new KitError("message-invalid", `Not a JSON-RPC message: ${parsed.problem}.`));
  }

  /** Resolves when the line was handed to the operating system. JSON text has no raw line break to break the framing. */
  sendText(text: string): Promise<void> {
    if (this.#isClosed) return this.#refuse(new KitError("transport-closed", "The stdio transport is closed."));
    return new Promise((resolve, reject) => {
      this.#output.write(`${text}\n`, (error) => {
        if (!error) return resolve();
        this.#onError(error);
        reject(error);
      });
    });
  }

  /** Stops reading. The output stays open. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.off("data", this.#onData);
    this.#input.off("end", this.#onEnd);
    this.#input.off("error", this.#onError);
    this.#input.pause();
    this.#settleEnded();
    this.onclose?.();
  }

  #refuse(error: KitError): Promise<never> {
    this.onerror?.(error);
    return Promise.reject(error);
  }

  readonly #onData = (data: Buffer | string): void => {
    // Framing works on bytes, so that a character split over two reads is put together before it is decoded.
    let rest = typeof data === "string" ? Buffer.from(data) : data;
    for (let at = rest.indexOf(NEWLINE); at >= 0 && !this.#isClosed; at = rest.indexOf(NEWLINE)) {
      this.#take(rest.subarray(0, at));
      this.#endLine();
      rest = rest.subarray(at + 1);
    }
    if (rest.length > 0) this.#take(rest);
  };

  readonly #onEnd = (): void => {
    // A last line without a line break is still a message: people pipe requests in by hand.
    this.#endLine();
    this.#settleEnded();
  };

  readonly #onError = (error: NodeJS.ErrnoException): void => {
    // A reader that is gone is an end, not a failure.
    if (error.code !== "EPIPE" && !this.#isClosed) this.onerror?.(error);
    void this.close();
  };

  #take(part: Buffer): void {
    if (this.#isSkipping) return;
    this.#partBytes += part.length;
    if (this.#partBytes > this.#lineBytesMax) {
      this.#skip({ reason: "too-large", message: `A line is larger than ${this.#lineBytesMax} bytes.` });
    } else if (this.#depth.feed(part) > this.#lineDepthMax) {
      this.#skip({ reason: "too-deep", message: `A line is nested deeper than ${this.#lineDepthMax} levels.` });
    } else if (this.#depth.values > this.#lineValuesMax) {
      this.#skip({ reason: "too-many-values", message: `A line has more than ${this.#lineValuesMax} values.` });
    } else {
      this.#parts.push(part);
    }
  }

  /** Gives up the rest of this line. */
  #skip(problem: UnreadableMessage): void {
    this.#isSkipping = true;
    this.#parts = [];
    this.onunreadable?.(problem);
  }

  #endLine(): void {
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#depth = new DepthGauge();
    this.#partBytes = 0;
    this.#isSkipping = false;
    let message: JSONRPCMessage;
    try {
      // fatal: what is not UTF-8 is not JSON (RFC 8259, 8.1); replacement characters would hide that.
      const line = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes).trim();
      if (line === "") return;
      message = JSON.parse(line) as JSONRPCMessage;
    } catch {
      this.onunreadable?.({ reason: "not-json", message: "A line is not JSON." });
      return;
    }
    this.onmessage?.(message);
  }
}
