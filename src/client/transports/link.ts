/**
 * The interface of links, through which a client exchanges messages with a server. Over Streamable HTTP each request has its own
 * stream, and over other transports all messages share one channel. A link hides this difference.
 *
 * @module
 */
import type {
  JSONRPCErrorResponse,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  RequestId,
} from "../../core/protocol/jsonrpc.ts";
import type { SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import type { ClientEvent } from "../basics/events.ts";

/** A response to a request: its result, or an error. */
export type JSONRPCResponse = JSONRPCResultResponse | JSONRPCErrorResponse;

export interface SendOptions {
  /**
   * When it aborts, the link cancels the request at the server as the transport defines. The caller no longer waits by then, so
   * the promise may settle in any way.
   */
  readonly signal: AbortSignal;
  /** `Mcp-Param-*` headers. Transports without headers ignore them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Receives the id of each event from which the stream of a legacy request can be resumed. */
  readonly onEventId?: ((eventId: string) => void) | undefined;
}

/** Receives everything that arrives on a link except responses. */
export interface LinkReceiver {
  /**
   * Receives a request or a notification. For a request, the returned promise resolves when the response was sent; until then, a
   * link with streams may stop reading.
   *
   * @param during The id of the request on whose stream the message arrived, if the transport has such streams.
   */
  message(message: JSONRPCRequest | JSONRPCNotification, during: RequestId | undefined): Promise<void> | undefined;
  /** Called when the channel has closed by itself, after the pending requests were rejected. Not called after `close()`. */
  closed(error: Error | undefined): void;
  report(event: ClientEvent): void;
}

export interface Link {
  /** The name of the transport. */
  readonly transport: "streamable-http" | "http-sse" | "pipe";
  /** The rules of the negotiated version; undefined before the response to `initialize`. */
  rules: SpokenVersion | undefined;
  /** The id of the session, if the transport has sessions and the server has opened one. */
  readonly sessionId?: string | undefined;
  /** Opens the channel. Called once, before all other methods. */
  start(receiver: LinkReceiver): Promise<void>;
  /**
   * Sends a request, and resolves with its response. A request is never sent twice.
   *
   * @throws {ClientError} if there is no response. `mayHaveRun` says whether the server may have received the request.
   */
  request(request: JSONRPCRequest, options: SendOptions): Promise<JSONRPCResponse>;
  /**
   * Resumes the stream of a request that another link has sent. Absent if streams cannot be resumed.
   *
   * @throws {ClientError} if there is no response. `mayHaveRun` is true, because the request was sent.
   */
  resume?(request: JSONRPCRequest, lastEventId: string, options: SendOptions): Promise<JSONRPCResponse>;
  /**
   * Sends a notification, or the response to a request of the server. Resolves when the channel has accepted it.
   *
   * @param signal Aborts the attempt, if the transport supports that.
   */
  send(message: JSONRPCNotification | JSONRPCResponse, signal?: AbortSignal): Promise<void>;
  /** Opens the stream of messages that belong to no request, if the transport has one. It stays open until `close()`. */
  listen(): void;
  /** Stops `listen()`, because another link replaces this one. Pending requests continue. */
  retire(): void;
  /** Ends the session and closes the channel. Pending requests are rejected. */
  close(): Promise<void>;
}
