/**
 * A loopback proxy in front of a server under test. Every message in both directions is passed to an oracle while it
 * streams through. Nothing is buffered, so timing and disconnects do not change.
 */

import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createParser } from "eventsource-parser";
import { type Hint, namedVersion, versionsOfHeader } from "./hints.ts";
import { ASSUMED_VERSION } from "./methods.ts";
import { WireOracle } from "./oracle.ts";
import { isJson } from "./spec.ts";

/** A request header for the tap only: the message is intentionally invalid. Not forwarded. */
export const DELIBERATELY_BAD = "x-tap-deliberately-bad";

/** One request and its response. Filled while it streams. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  requestBody: string;
  /** 0 until the server responds. */
  status: number;
  responseHeaders: Readonly<Record<string, string>>;
  contentType: string;
  /** Each JSON value of the response: the body, or the data of every SSE event. */
  readonly responseMessages: unknown[];
  /** Text of the response as received. */
  responseBody: string;
  /** True when the server ended the response; false while it runs or if either side cut it. */
  complete: boolean;
}

export interface HttpTap {
  /** The target's address through the tap. */
  readonly url: string;
  readonly oracle: WireOracle;
  readonly exchanges: Exchange[];
  close(): Promise<void>;
}

export interface HttpTapOptions {
  /** False: client messages are tracked, not judged. */
  readonly judgeClient?: boolean;
  /** An existing oracle, if several taps observe one conversation. */
  readonly oracle?: WireOracle;
}

/** Headers of one connection, not of the message; Node writes its own. */
const HOP_BY_HOP = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]);

let scopes = 0;

/** Starts a tap on a free loopback port. Requests to other paths of the target are not judged. */
export async function startHttpTap(targetUrl: string, options: HttpTapOptions = {}): Promise<HttpTap> {
  const target = new URL(targetUrl);
  if (target.protocol !== "http:") throw new RangeError(`the tap speaks http only, not ${target.protocol}`);
  const oracle = options.oracle ?? new WireOracle({ judgeClient: options.judgeClient });
  const exchanges: Exchange[] = [];
  const server = createServer((request, response) => pass(request, response));
  // The tap itself must not cut a silent stream.
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const own = `127.0.0.1:${port}`;

  function pass(request: IncomingMessage, response: ServerResponse): void {
    const exchange = newExchange(request);
    exchanges.push(exchange);
    const judge = exchange.path.split("?")[0] === target.pathname ? new Judge(oracle, exchange) : undefined;
    const upstream = forward({
      hostname: target.hostname.replace(/^\[|\]$/g, ""),
      port: target.port === "" ? 80 : target.port,
      method: request.method,
      path: request.url,
      headers: passedOn(request.rawHeaders, target, own),
      // One socket per exchange, so that a cut stream does not affect later ones.
      agent: false,
    });
    upstream.on("response", (answer) => passBack(answer, response, exchange, judge));
    upstream.on("error", () => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    });
    response.on("close", () => {
      if (!response.writableFinished) upstream.destroy();
    });
    const body: Buffer[] = [];
    request.on("data", (chunk: Buffer) => {
      body.push(chunk);
      if (!upstream.write(chunk)) {
        request.pause();
        upstream.once("drain", () => request.resume());
      }
    });
    request.on("end", () => {
      exchange.requestBody = Buffer.concat(body).toString("utf8");
      // Before the server can see the end of the request, so the request is always observed before the response.
      judge?.request();
      upstream.end();
    });
    request.on("error", () => upstream.destroy());
  }

  return {
    url: `http://${own}${target.pathname}${target.search}`,
    oracle,
    exchanges,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function passBack(answer: IncomingMessage, response: ServerResponse, exchange: Exchange, judge?: Judge): void {
  exchange.status = answer.statusCode ?? 0;
  exchange.responseHeaders = flat(answer);
  exchange.contentType = (exchange.responseHeaders["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const decoder = new TextDecoder();
  const events = createParser({
    onEvent: ({ event, data }) => judge?.event(event, data),
    onError: (error) => judge?.report(`SSE: ${error.message}`),
  });
  const isSse = exchange.contentType === "text/event-stream";
  const see = (text: string): void => {
    exchange.responseBody += text;
    if (isSse) events.feed(text);
  };
  response.writeHead(exchange.status, answer.statusMessage, withoutHop(answer.rawHeaders));
  // The headers of a silent stream must not wait for its first event.
  response.flushHeaders();
  answer.on("data", (chunk: Buffer) => see(decoder.decode(chunk, { stream: true })));
  answer.on("end", () => {
    see(decoder.decode());
    exchange.complete = answer.complete;
    if (!isSse) judge?.body();
  });
  answer.on("error", () => response.destroy());
  answer.on("close", () => {
    if (!answer.complete) response.destroy();
  });
  answer.pipe(response);
}

/** Passes what a server of the test itself writes into a response to an oracle, for servers that need no tap. */
export function watchResponse(response: ServerResponse, exchange: Exchange, judge: Judge): void {
  const events = createParser({
    // The first event of HTTP+SSE is an address.
    onEvent: ({ event, data }) => event !== "endpoint" && judge.event(event, data),
    onError: (error) => judge.report(`SSE: ${error.message}`),
  });
  const { write, end, writeHead } = response;
  response.writeHead = (status: number, ...rest: unknown[]) => {
    exchange.status = status;
    const [headers = {}] = rest as [Record<string, string>?];
    const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
    exchange.responseHeaders = Object.fromEntries(lower);
    exchange.contentType = exchange.responseHeaders["content-type"] ?? "";
    return Reflect.apply(writeHead, response, [status, ...rest]);
  };
  const see = (text: unknown): void => {
    if (typeof text !== "string") return;
    exchange.responseBody += text;
    if (exchange.contentType === "text/event-stream") events.feed(text);
  };
  response.write = (...args: unknown[]) => {
    see(args[0]);
    return Reflect.apply(write, response, args);
  };
  response.end = (...args: unknown[]) => {
    see(args[0]);
    if (exchange.contentType !== "text/event-stream") judge.body();
    return Reflect.apply(end, response, args);
  };
}

/** Passes one exchange to the oracle. Ids are unique within a POST, so each has its own scope. */
export class Judge {
  private readonly oracle: WireOracle;
  private readonly exchange: Exchange;
  private readonly scope: string;

  constructor(oracle: WireOracle, exchange: Exchange) {
    this.oracle = oracle;
    this.exchange = exchange;
    scopes += 1;
    this.scope = `exchange ${scopes}`;
  }

  request(): void {
    const { method, requestBody } = this.exchange;
    if (method !== "POST") return;
    const parsed = parse(requestBody);
    if (parsed === undefined) this.oracle.observeUnreadable("client", requestBody, this.hint());
    else this.oracle.observe("client", parsed.value, this.hint());
  }

  body(): void {
    const { status, contentType, responseBody } = this.exchange;
    if (responseBody === "") return;
    const parsed = parse(responseBody);
    if (contentType !== "application/json") {
      if (parsed !== undefined && isMessage(parsed.value)) this.report(`a message of content type "${contentType}"`);
      return;
    }
    if (parsed === undefined) {
      this.oracle.observeUnreadable("server", responseBody, this.hint());
      return;
    }
    this.exchange.responseMessages.push(parsed.value);
    // Refusals by other layers (OAuth, a proxy) have their own JSON format.
    if (status >= 400 && !isMessage(parsed.value)) return;
    this.oracle.observe("server", parsed.value, this.hint());
  }

  event(name: string | undefined, data: string): void {
    // A priming event has an id and nothing else.
    if (data === "") return;
    if (name !== undefined && name !== "message") this.report(`an SSE event named ${name}`);
    const parsed = parse(data);
    if (parsed === undefined) {
      this.oracle.observeUnreadable("server", data, this.hint());
      return;
    }
    this.exchange.responseMessages.push(parsed.value);
    this.oracle.observe("server", parsed.value, this.hint());
  }

  report(problem: string): void {
    const { version } = this.hint();
    const [first = ASSUMED_VERSION] = typeof version === "string" ? [version] : (version ?? []);
    this.oracle.report(problem, "server", first, this.exchange.responseBody);
  }

  /** Recalculated for each message, because the session id of an `initialize` only arrives with its answer. */
  private hint(): Hint {
    const { method, requestHeaders, responseHeaders, requestBody } = this.exchange;
    const session = requestHeaders["mcp-session-id"] ?? responseHeaders["mcp-session-id"];
    const header = requestHeaders["mcp-protocol-version"];
    const agreed = session === undefined ? undefined : this.oracle.agreedVersion(session);
    const version = header === undefined ? (agreed ?? ASSUMED_VERSION) : versionsOfHeader(header, agreed);
    return {
      // A body in the modern form takes precedence over any header.
      version: namedVersion(parse(requestBody)?.value) ?? version,
      scope: this.scope,
      session,
      unreadableId: method !== "POST",
      deliberatelyBad: requestHeaders[DELIBERATELY_BAD] !== undefined,
      replay: requestHeaders["last-event-id"] !== undefined,
    };
  }
}

export function newExchange(request: IncomingMessage): Exchange {
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    requestHeaders: flat(request),
    requestBody: "",
    status: 0,
    responseHeaders: {},
    contentType: "",
    responseMessages: [],
    responseBody: "",
    complete: false,
  };
}

function flat(message: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(message.headersDistinct).map(([name, values]) => [name, values?.join(", ") ?? ""]),
  );
}

function pairs(raw: readonly string[]): [name: string, value: string][] {
  return raw.flatMap((name, index): [string, string][] => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""]] : []));
}

function withoutHop(raw: readonly string[]): string[] {
  return pairs(raw)
    .filter(([name]) => !HOP_BY_HOP.has(name.toLowerCase()))
    .flat();
}

/** The client's headers with unchanged spelling, and with the tap's own address replaced by the target's. */
function passedOn(raw: readonly string[], target: URL, own: string): string[] {
  const headers = pairs(withoutHop(raw)).flatMap(([name, value]): [string, string][] => {
    const key = name.toLowerCase();
    // The oracle reads the bytes, so they must not be compressed.
    if (key === DELIBERATELY_BAD || key === "accept-encoding") return [];
    // A foreign Host or Origin is part of a test and reaches the server unchanged.
    if (key === "host" && value === own) return [[name, target.host]];
    if (key === "origin" && value === `http://${own}`) return [[name, target.origin]];
    return [[name, value]];
  });
  return [...headers, ["Accept-Encoding", "identity"]].flat();
}

function isMessage(value: unknown): boolean {
  return Array.isArray(value) ? value.some(isMessage) : isJson(value) && Object.hasOwn(value, "jsonrpc");
}

/** Wrapped in an object, because null is JSON as well. */
function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
