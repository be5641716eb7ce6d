/**
 * The server side of the stdio transport: one JSON text per line in both directions.
 *
 * @module
 * @see MCP 2026-07-28, basic/transports/stdio
 */
import type { Readable, Writable } from "node:stream";
import { DepthGauge } from "../core/basics/depth-gauge.ts";
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import { KitError } from "../core/protocol/errors.ts";
import { type JSONRPCMessage, parseMessage } from "../core/protocol/jsonrpc.ts";
import { DEFAULT_LIMITS, type Limits } from "../core/protocol/limits.ts";
import type { Transport, UnreadableMessage } from "../core/protocol/transport.ts";
import { HeadReader } from "./message-head.ts";

/** Options of {@link StdioServerTransport}. */
export interface StdioTransportOptions {
  /** The stream that messages are read from. @default process.stdin */
  readonly input?: Readable;
  /** The stream that messages are written to. @default process.stdout */
  readonly output?: Writable;
}

const OPTIONS: OptionTable<StdioTransportOptions> = { input: null, output: null };

const NEWLINE = 0x0a;

/**
 * A transport of newline-delimited JSON over a pair of streams. `close` does not close the output, because it may be the standard
 * output of the process. Errors of the output after `close` are ignored, because an unhandled one would end the process.
 */
export class StdioServerTransport implements Transport {
  readonly #input: Readable;
  readonly #output: Writable;
  #depth = new DepthGauge();
  #parts: Buffer[] = [];
  #partBytes = 0;
  /** The line that is being skipped. */
  #skipped: { readonly problem: UnreadableMessage; readonly head: HeadReader } | undefined;
  #isClosed = false;
  #settleEnded: () => void = () => undefined;
  /** The limits of the connection. A line that exceeds `bodyBytesMax`, `bodyDepthMax` or `bodyValuesMax` is skipped. */
  limits: Limits = DEFAULT_LIMITS;
  /** Receives the parsed value of each line that is valid JSON. */
  onmessage: ((message: JSONRPCMessage) => void) | undefined;
  /** Called once, when the transport closes. */
  onclose: (() => void) | undefined;
  /** Receives the errors of the streams. */
  onerror: ((error: Error) => void) | undefined;
  /** Receives a description of each line that cannot be read, when the line ends. */
  onunreadable: ((error: UnreadableMessage) => void) | undefined;
  /** Resolves when the input has ended or the transport is closed. After that, no more messages arrive. */
  readonly ended: Promise<void>;

  /**
   * Creates a transport. Call `start` to begin reading.
   *
   * @throws {KitError} `options-invalid` for an unknown option.
   */
  constructor(options: StdioTransportOptions = {}) {
    checkOptions("new StdioServerTransport(): ", options, OPTIONS);
    this.#input = options.input ?? process.stdin;
    this.#output = options.output ?? process.stdout;
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
  }

  /** Starts reading. */
  async start(): Promise<void> {
    this.#input.on("data", this.#onData);
    this.#input.on("end", this.#onEnd);
    this.#input.on("error", this.#onError);
    // If the client has closed our output (EPIPE), the transport closes.
    this.#output.on("error", this.#onError);
  }

  /** Sends a message. Rejects without writing anything if the message is invalid or cannot be encoded as JSON. */
  send(message: JSONRPCMessage): Promise<void> {
    const parsed = parseMessage(message);
    if (parsed.kind === "invalid")
      return this.#refuse(new KitError("message-invalid", `Not a JSON-RPC message: ${parsed.problem}.`));
    let text: string;
    try {
      text = JSON.stringify(message);
    } catch (cause) {
      return this.#refuse(
        new KitError("message-invalid", `The message cannot be encoded as JSON: ${cause}.`, { cause }),
      );
    }
    return this.sendText(text);
  }

  /** Sends JSON text, which must not contain raw line breaks. Resolves when the operating system has accepted the line. */
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

  /** Stops reading until `resume` is called, so that the peer has to wait. Data that was already read is still delivered. */
  pause(): void {
    this.#input.pause();
  }

  /** Continues reading after `pause`. */
  resume(): void {
    if (!this.#isClosed) this.#input.resume();
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
    // Lines are split as bytes, so that a character that arrives in two chunks is decoded correctly.
    let rest = typeof data === "string" ? Buffer.from(data) : data;
    for (let at = rest.indexOf(NEWLINE); at >= 0 && !this.#isClosed; at = rest.indexOf(NEWLINE)) {
      this.#take(rest.subarray(0, at));
      this.#endLine();
      rest = rest.subarray(at + 1);
    }
    if (rest.length > 0) this.#take(rest);
  };

  readonly #onEnd = (): void => {
    // The last line may have no line break, for example if a request is piped in by hand.
    this.#endLine();
    this.#settleEnded();
  };

  readonly #onError = (error: NodeJS.ErrnoException): void => {
    // A client ends the connection by closing our output. This is not an error.
    if (error.code !== "EPIPE" && !this.#isClosed) this.onerror?.(error);
    void this.close();
  };

  #take(part: Buffer): void {
    if (this.#skipped) {
      this.#skipped.head.feed(part);
      return;
    }
    this.#parts.push(part);
    this.#partBytes += part.length;
    const problem = this.#findProblem(part);
    if (!problem) return;
    const head = new HeadReader();
    for (const each of this.#parts) head.feed(each);
    this.#parts = [];
    this.#skipped = { problem, head };
  }

  /** Returns why the rest of the line cannot be read; undefined if it can. */
  #findProblem(part: Buffer): UnreadableMessage | undefined {
    const { bodyBytesMax, bodyDepthMax, bodyValuesMax } = this.limits;
    if (this.#partBytes > bodyBytesMax)
      return { reason: "too-large", message: `A line is larger than ${bodyBytesMax} bytes.` };
    if (this.#depth.feed(part) > bodyDepthMax)
      return { reason: "too-deep", message: `A line is nested deeper than ${bodyDepthMax} levels.` };
    if (this.#depth.values > bodyValuesMax)
      return { reason: "too-many-values", message: `A line has more than ${bodyValuesMax} values.` };
    return undefined;
  }

  #endLine(): void {
    const bytes = Buffer.concat(this.#parts);
    const skipped = this.#skipped;
    this.#parts = [];
    this.#depth = new DepthGauge();
    this.#partBytes = 0;
    this.#skipped = undefined;
    if (skipped) {
      this.onunreadable?.({ ...skipped.problem, ...skipped.head.head() });
      return;
    }
    let message: JSONRPCMessage;
    try {
      // JSON must be UTF-8 (RFC 8259, 8.1). Without `fatal`, invalid bytes would be decoded as replacement characters.
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
