/**
 * One connection of a client, and the connections on which its requests are forwarded.
 *
 * Bytes are forwarded unchanged, apart from one header that is added to each request. FIN, RST and backpressure are forwarded
 * in both directions.
 *
 * @module
 */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import {
  framingOfRequest,
  framingOfResponse,
  HttpReader,
  type MessageHead,
  type Part,
  parseRequestLine,
  parseStatus,
} from "./http-reader.ts";
import type { ObservedExchange } from "./observed-exchange.ts";

export interface ProxiedConnectionOptions {
  /** Connects to the server. */
  readonly connect: () => Socket;
  /** Connects to the routes of the recorder itself. @param client The socket of the client, whose address is checked. */
  readonly connectInside: (client: Socket) => Duplex;
  /** Returns whether a request is for the recorder itself. */
  readonly isInside: (target: string) => boolean;
  /** Begins to record a request. Returns the head to forward. */
  readonly observe: (request: ProxiedRequest) => { readonly exchange: ObservedExchange; readonly bytes: Buffer };
  /** Returns whether the body of a request is buffered until it is complete, because the request may be delayed. */
  readonly mayHold?: (method: string) => boolean;
  /** Returns a delay before the rest of a request is forwarded. Undefined if it is not delayed. */
  readonly hold?: (exchange: ObservedExchange) => Promise<void> | undefined;
}

/** A request whose head has been read. */
export interface ProxiedRequest {
  readonly head: MessageHead;
  readonly bytes: Buffer;
  readonly method: string;
  readonly target: string;
}

/** A connection to the server or to the recorder itself. */
interface Leg {
  readonly stream: Duplex;
  readonly responses: HttpReader;
  readonly isInside: boolean;
}

/** A request without a complete response. */
interface InFlight {
  readonly leg: Leg;
  readonly method: string;
  readonly exchange: ObservedExchange | undefined;
  /** Whether the request has arrived completely. */
  isWhole: boolean;
  /** Whether the last response head was final, unlike `100 Continue`. */
  isFinal: boolean;
}

/** The maximum size of buffered requests, in bytes. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;

/** How long to wait for an RST after writing to a client that may have closed the connection completely, in milliseconds. */
const RESET_WITHIN_MS = 100;

export class ProxiedConnection {
  readonly #client: Socket;
  readonly #options: ProxiedConnectionOptions;
  readonly #requests = new HttpReader(framingOfRequest);
  readonly #inFlight: InFlight[] = [];
  readonly #streams = new Set<Duplex>();
  #server: Leg | undefined;
  #inside: Leg | undefined;
  /** The request that is being read. */
  #current: InFlight | undefined;
  /** Parts that are queued until a response is complete, or until a delay ends. */
  readonly #waiting: Part[] = [];
  /** The buffered body of a request that may be delayed. */
  #held: Buffer[] | undefined;
  #isHolding = false;
  #waitingBytes = 0;
  #hasClientEnded = false;
  #isClientLost = false;

  constructor(client: Socket, options: ProxiedConnectionOptions) {
    this.#client = client;
    this.#options = options;
    client.setNoDelay(true);
    client.on("data", (chunk: Buffer) => this.#take(this.#requests.read(chunk)));
    client.on("drain", () => this.#eachStream((stream) => stream.resume()));
    client.on("end", () => {
      this.#hasClientEnded = true;
      this.#cutAll("cut-by-client");
      this.#passEnd();
    });
    client.on("error", () => {
      this.#isClientLost = true;
      this.#cutAll("cut-by-client");
      this.#eachStream(reset);
    });
    client.on("close", () => {
      this.#cutAll("cut-by-client");
      this.#eachStream((stream) => stream.destroy());
    });
  }

  /** The exchanges without a complete response. */
  get exchanges(): readonly ObservedExchange[] {
    return this.#inFlight.flatMap(({ exchange }) => exchange ?? []);
  }

  /** Resets the connection on both sides, like a network failure. */
  cut(): void {
    this.#cutAll("cut-on-purpose");
    this.#eachStream(reset);
    reset(this.#client);
  }

  /** Closes the connection when the proxy is closed. */
  close(): void {
    this.#client.destroy();
  }

  #eachStream(apply: (stream: Duplex) => void): void {
    for (const stream of [...this.#streams]) apply(stream);
  }

  #take(parts: readonly Part[]): void {
    for (const part of parts) {
      if (this.#waiting.length > 0 || this.#isHolding || !this.#canPass(part)) this.#wait(part);
      else this.#pass(part);
    }
  }

  /**
   * Returns whether a part can be forwarded now. A request on another leg waits for earlier responses, so that they stay in
   * order.
   */
  #canPass(part: Part): boolean {
    if (part.kind !== "head") return true;
    const isInside = this.#isInside(part.head);
    return this.#inFlight.every(({ leg }) => leg.isInside === isInside);
  }

  #isInside({ startLine }: MessageHead): boolean {
    const line = parseRequestLine(startLine);
    return line !== undefined && this.#options.isInside(line.target);
  }

  #wait(part: Part): void {
    this.#waiting.push(part);
    this.#waitingBytes += part.bytes.length;
    if (this.#waitingBytes > WAITING_BYTES_MAX) this.#client.pause();
  }

  #passWaiting(): void {
    for (let part = this.#waiting[0]; part && !this.#isHolding && this.#canPass(part); part = this.#waiting[0]) {
      this.#waiting.shift();
      this.#pass(part);
    }
    if (this.#waiting.length > 0 || this.#isHolding) return;
    if (this.#waitingBytes > WAITING_BYTES_MAX) this.#client.resume();
    this.#waitingBytes = 0;
    if (this.#hasClientEnded) this.#passEnd();
  }

  #pass(part: Part): void {
    const current = this.#current;
    if (part.kind === "head") this.#passHead(part.bytes, part.head);
    else if (part.kind === "body") {
      current?.exchange?.requestData(part.data);
      this.#passBody(part.bytes);
    } else if (part.kind === "end") this.#passEndOfRequest(part.bytes);
    else this.#write(current && !current.leg.isInside ? current.leg : this.#openServer(), part.bytes);
  }

  #passHead(bytes: Buffer, head: MessageHead): void {
    const { method = "", target = "" } = parseRequestLine(head.startLine) ?? {};
    if (this.#isInside(head)) {
      this.#begin({ leg: this.#openInside(), method, exchange: undefined, isWhole: false, isFinal: false }, bytes);
      return;
    }
    const observed = method === "" ? undefined : this.#options.observe({ head, bytes, method, target });
    const leg = this.#openServer();
    this.#begin(
      { leg, method, exchange: observed?.exchange, isWhole: false, isFinal: false },
      observed?.bytes ?? bytes,
    );
    this.#held = observed && this.#options.mayHold?.(method) ? [] : undefined;
  }

  #begin(inFlight: InFlight, bytes: Buffer): void {
    this.#inFlight.push(inFlight);
    this.#current = inFlight;
    this.#write(inFlight.leg, bytes);
  }

  #passBody(bytes: Buffer): void {
    if (!this.#held) {
      this.#write(this.#current?.leg, bytes);
      return;
    }
    this.#held.push(bytes);
    const size = this.#held.reduce((sum, each) => sum + each.length, 0);
    if (size > WAITING_BYTES_MAX) this.#passHeld();
  }

  #passHeld(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const bytes of held) this.#write(this.#current?.leg, bytes);
  }

  #passEndOfRequest(bytes: Buffer): void {
    const exchange = this.#current?.exchange;
    if (this.#current) this.#current.isWhole = true;
    exchange?.requestEnd();
    const pass = () => {
      this.#passHeld();
      this.#write(this.#current?.leg, bytes);
    };
    const delay = this.#held && exchange && this.#options.hold?.(exchange);
    if (!delay) {
      pass();
      return;
    }
    this.#isHolding = true;
    void delay.then(() => {
      this.#isHolding = false;
      pass();
      this.#passWaiting();
    });
  }

  /** Forwards the client's FIN once all its requests have been forwarded. */
  #passEnd(): void {
    if (this.#waiting.length > 0 || this.#isHolding) return;
    this.#eachStream((stream) => stream.end());
  }

  #write(leg: Leg | undefined, bytes: Buffer): void {
    if (!leg || leg.stream.destroyed || leg.stream.writableEnded || bytes.length === 0) return;
    if (!leg.stream.write(bytes)) this.#client.pause();
  }

  #openServer(): Leg {
    if (this.#server) return this.#server;
    const socket = this.#options.connect();
    socket.setNoDelay(true);
    this.#server = this.#openLeg(socket, false);
    return this.#server;
  }

  #openInside(): Leg {
    this.#inside ??= this.#openLeg(this.#options.connectInside(this.#client), true);
    return this.#inside;
  }

  #openLeg(stream: Duplex, isInside: boolean): Leg {
    const framing = (head: MessageHead) => framingOfResponse(head, this.#inFlight[0]?.method ?? "GET");
    const leg: Leg = { stream, isInside, responses: new HttpReader(framing) };
    this.#streams.add(stream);
    stream.on("data", (chunk: Buffer) => {
      if (!this.#client.destroyed && !this.#client.write(chunk)) stream.pause();
      for (const part of leg.responses.read(chunk)) this.#observe(leg, part);
    });
    stream.on("drain", () => this.#client.resume());
    stream.on("end", () => this.#endLeg(leg, false));
    stream.on("error", () => this.#endLeg(leg, true));
    stream.on("close", () => {
      this.#streams.delete(stream);
      this.#endLeg(leg, true);
    });
    return leg;
  }

  #observe(leg: Leg, part: Part): void {
    const inFlight = this.#inFlight[0];
    if (!inFlight || inFlight.leg !== leg) return;
    if (part.kind === "body") inFlight.exchange?.responseData(part.data);
    else if (part.kind === "head") {
      const status = parseStatus(part.head.startLine) ?? 0;
      inFlight.isFinal = status >= 200 || status === 101;
      if (inFlight.isFinal && !this.#isAbandoned(inFlight)) inFlight.exchange?.response(part.head);
      if (status !== 101) return;
      // From here on, both directions use another protocol.
      this.#requests.becomeRaw();
      this.#finish(inFlight);
    } else if (part.kind === "end" && inFlight.isFinal) this.#finish(inFlight);
  }

  /** Whether the client has left before the end of its request. Nobody waits for its response, which says that a part is missing. */
  #isAbandoned({ isWhole }: InFlight): boolean {
    return this.#hasClientEnded && !isWhole && this.#waiting.length === 0;
  }

  #finish(inFlight: InFlight): void {
    this.#inFlight.shift();
    const exchange = this.#isAbandoned(inFlight) ? undefined : inFlight.exchange;
    if (!this.#hasClientEnded) exchange?.responseEnd();
    else {
      // The client has closed its own direction or the whole connection. In the second case, it responds to a write with RST.
      setTimeout(() => !this.#isClientLost && exchange?.responseEnd(), RESET_WITHIN_MS).unref();
    }
    this.#passWaiting();
  }

  /** Handles the end of a connection to a server. @param isLost Whether it was lost instead of closed. */
  #endLeg(leg: Leg, isLost: boolean): void {
    if (leg !== this.#server && leg !== this.#inside) return;
    if (leg === this.#server) this.#server = undefined;
    else this.#inside = undefined;
    const [first] = this.#inFlight;
    // A body without a length ends with the connection.
    const isComplete = !isLost && first?.leg === leg && first.isFinal && leg.responses.isUntilClose;
    if (isComplete) this.#finish(first);
    const lost = this.#inFlight.filter((each) => each.leg === leg);
    for (const { exchange } of lost) exchange?.cut("cut-by-server");
    const left = this.#inFlight.filter((each) => each.leg !== leg);
    this.#inFlight.splice(0, this.#inFlight.length, ...left);
    // The end of an idle connection to the recorder's routes does not affect the connection of the client.
    const isOver = this.#hasClientEnded && this.#waiting.length === 0;
    if (leg.isInside && lost.length === 0 && !isComplete && !isOver) return;
    // If the server closes its idle connection, a pending response of the recorder's routes must not be lost.
    if (lost.length === 0 && left.length > 0) {
      leg.stream.end();
      return;
    }
    if (isLost && lost.length > 0) reset(this.#client);
    else this.#client.end();
  }

  #cutAll(how: "cut-by-client" | "cut-on-purpose"): void {
    for (const { exchange } of this.#inFlight) exchange?.cut(how);
  }
}

/** Ends a connection with RST if that is possible. */
function reset(stream: Duplex): void {
  stream.on("error", () => undefined);
  if (stream.destroyed) return;
  // A TLS connection or an in-memory stream cannot be reset.
  if ("resetAndDestroy" in stream && !("encrypted" in stream)) (stream as Socket).resetAndDestroy();
  else stream.destroy();
}
