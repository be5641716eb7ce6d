/**
 * A hand-written client on one in-memory connection to a server. It sends exactly what a test tells it to, keeps every
 * message it receives, and passes both directions to an oracle.
 */
import {
  type ClientCapabilities,
  type Connection,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type JSONRPCResultResponse,
  type McpServer,
  type ServeTransportOptions,
  serveTransport,
} from "../../src/core/index.ts";
import { createPair } from "../harness/pair.ts";
import { WireOracle } from "../oracle/oracle.ts";

export const LEGACY_VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
export const MODERN_VERSION = "2026-07-28";
export const ALL_VERSIONS = [...LEGACY_VERSIONS, MODERN_VERSION] as const;

export type Json = { [key: string]: unknown };
export type Response = JSONRPCResultResponse | JSONRPCErrorResponse;

export interface PeerOptions<Env = unknown> extends Partial<ServeTransportOptions<Env>> {
  /** Capabilities that the client declares. @default {} */
  readonly capabilities?: ClientCapabilities;
  /** @default peer 1.0.0 */
  readonly clientInfo?: { readonly name: string; readonly version: string };
  /**
   * Answers requests of the server (legacy): returns a result or throws. Without it questions stay open; answer with
   * `send`.
   */
  readonly onRequest?: (request: JSONRPCRequest) => Json | Promise<Json>;
  /** False: the oracle tracks the client's messages without judging them. @default true */
  readonly judgeClient?: boolean;
  /** False: no handshake, for tests that do it themselves. @default true */
  readonly handshake?: boolean;
}

export interface RequestHow {
  /** The id to send. @default 1, 2, 3 and so on */
  readonly id?: string | number;
  /** The message is intentionally invalid, so the oracle does not judge it. */
  readonly bad?: boolean;
  /** How long to wait for the response, in milliseconds. @default 5000 */
  readonly timeoutMs?: number;
}

export interface Peer {
  readonly version: string;
  readonly oracle: WireOracle;
  readonly connection: Connection;
  /** The response to `initialize`; undefined in the modern version or without a handshake. */
  readonly initialized: Response | undefined;
  /** Notifications received so far, in order. */
  readonly notifications: readonly JSONRPCMessageWithMethod[];
  /** Questions received so far, in order. */
  readonly questions: readonly JSONRPCRequest[];
  /** Every message received so far, in order, including responses. */
  readonly received: readonly unknown[];
  /** Errors that the kit reported if the server has no `onError`. */
  readonly reports: readonly unknown[];
  /** Sends a request and waits for its response, a result or an error. `meta` is merged into `params._meta`. */
  request(method: string, params?: Json, meta?: Json, how?: RequestHow): Promise<Response>;
  notify(method: string, params?: Json): void;
  /** Sends anything unchanged. The oracle tracks it without judging. */
  send(raw: unknown): void;
  /** Closes the connection. Requests without a response reject. */
  close(): Promise<void>;
}

export type JSONRPCMessageWithMethod = Extract<JSONRPCMessage, { method: string }>;

const opened = new Set<Peer>();

/** Connects to a server as a client of the given version. */
export async function openPeer<Env>(
  server: McpServer<Env>,
  version: string,
  options: PeerOptions<Env> = {},
): Promise<Peer> {
  const { capabilities = {}, clientInfo = { name: "peer", version: "1.0.0" }, onRequest, judgeClient } = options;
  const [serverEnd, clientEnd] = createPair();
  const oracle = new WireOracle({ judgeClient });
  const reports: unknown[] = [];
  const notifications: JSONRPCMessageWithMethod[] = [];
  const questions: JSONRPCRequest[] = [];
  const received: unknown[] = [];
  const waiting = new Map<string | number, { settle: (answer: Response) => void; fail: (error: Error) => void }>();
  let lastId = 0;

  const say = (message: unknown, bad: boolean) => {
    oracle.observe("client", message, { deliberatelyBad: bad });
    clientEnd.send(message as JSONRPCMessage).catch(() => {});
  };
  const answer = async (question: JSONRPCRequest) => {
    try {
      const result = await onRequest?.(question);
      if (result) say({ jsonrpc: "2.0", id: question.id, result }, false);
    } catch (error) {
      say({ jsonrpc: "2.0", id: question.id, error: { code: -32603, message: String(error) } }, false);
    }
  };
  const take = (message: JSONRPCMessage) => {
    if ("method" in message && "id" in message) {
      questions.push(message);
      void answer(message);
    } else if ("method" in message) {
      notifications.push(message);
    } else if (message.id !== undefined) {
      waiting.get(message.id)?.settle(message);
    }
  };
  clientEnd.onmessage = (message: unknown) => {
    oracle.observe("server", message);
    received.push(message);
    for (const each of Array.isArray(message) ? message : [message]) take(each);
  };
  clientEnd.onclose = () => {
    for (const { fail } of waiting.values()) fail(new Error("The connection closed before the answer."));
  };
  const connection = await serveTransport(server, serverEnd, {
    onError: (error) => {
      reports.push(error);
    },
    ...options,
  });
  await clientEnd.start();

  /** The `_meta` that a modern client adds to every request. */
  const envelope: Json =
    version === MODERN_VERSION
      ? {
          "io.modelcontextprotocol/protocolVersion": version,
          "io.modelcontextprotocol/clientInfo": clientInfo,
          "io.modelcontextprotocol/clientCapabilities": capabilities,
        }
      : {};

  const request = (method: string, params?: Json, meta?: Json, how: RequestHow = {}): Promise<Response> => {
    lastId += 1;
    const { id = lastId, bad = false, timeoutMs = 5_000 } = how;
    const _meta = { ...envelope, ...(params?._meta as Json | undefined), ...meta };
    const whole = Object.keys(_meta).length > 0 ? { ...params, _meta } : params;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => fail(new Error(`No answer to ${method} in ${timeoutMs} ms.`)), timeoutMs);
      const done = () => {
        clearTimeout(timer);
        waiting.delete(id);
      };
      const fail = (error: Error) => {
        done();
        reject(error);
      };
      const settle = (message: Response) => {
        done();
        resolve(message);
      };
      waiting.set(id, { settle, fail });
      say({ jsonrpc: "2.0", id, method, ...(whole ? { params: whole } : {}) }, bad);
    });
  };
  const notify = (method: string, params?: Json) => {
    say({ jsonrpc: "2.0", method, ...(params ? { params } : {}) }, false);
  };

  let initialized: Response | undefined;
  if (version !== MODERN_VERSION && options.handshake !== false) {
    initialized = await request("initialize", { protocolVersion: version, capabilities, clientInfo });
    notify("notifications/initialized");
  }
  const peer: Peer = {
    version,
    oracle,
    connection,
    initialized,
    notifications,
    questions,
    received,
    reports,
    request,
    notify,
    send: (raw) => say(raw, true),
    close: async () => {
      opened.delete(peer);
      await connection.close();
    },
  };
  opened.add(peer);
  return peer;
}

/**
 * For `afterEach`: closes what a test opened. @throws {Error} when an oracle saw a message that the version does not
 * allow.
 */
export async function closePeers(): Promise<void> {
  const peers = [...opened];
  for (const peer of peers) await peer.close();
  for (const peer of peers) peer.oracle.expectClean();
}

/** Returns the result of a response. @throws {Error} with the error if the response is an error. */
export function resultOf(response: Response): Json {
  if ("result" in response) return response.result;
  throw new Error(`Not a result: ${JSON.stringify(response.error)}`);
}

/** Returns the error of a response. @throws {Error} with the result if the response is not an error. */
export function errorOf(response: Response): { code: number; message: string; data?: unknown } {
  if ("error" in response) return response.error;
  throw new Error(`Not an error: ${JSON.stringify(response.result)}`);
}

/** Waits until everything already sent has been served and delivered. */
export async function settle(peer: Peer): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
  await peer.connection.idle();
  await new Promise((resolve) => setTimeout(resolve, 0));
}
