/**
 * The interface between the client and a channel to a server. Streamable HTTP has a stream for each request, other
 * transports share one channel; a link hides this difference.
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

export type Answer = JSONRPCResultResponse | JSONRPCErrorResponse;

export interface SendOptions {
  /**
   * When it aborts, the link tells the server in the way of the transport. The caller has stopped waiting by then, so the
   * promise may settle in any way.
   */
  readonly signal: AbortSignal;
  /** `Mcp-Param-*` headers; ignored where there are no headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Receives the id of each event from which the stream of a legacy request can be resumed. */
  readonly onEventId?: ((eventId: string) => void) | undefined;
}

/** The receiver of everything that arrives on a link and does not answer a request. */
export interface LinkReceiver {
  /**
   * Returns a promise for a request. It resolves when the answer was sent; until then, a link that has streams may stop reading.
   *
   * @param during The request on whose stream the message arrived, if the transport has such streams.
   */
  message(message: JSONRPCRequest | JSONRPCNotification, during: RequestId | undefined): Promise<void> | undefined;
  /** The channel has closed. Pending requests have been rejected. Not called after `close()`. */
  closed(error: Error | undefined): void;
  report(event: ClientEvent): void;
}

export interface Link {
  /** The name of the transport. */
  readonly transport: "streamable-http" | "http-sse" | "pipe";
  /** The rules of the negotiated version; undefined before `initialize` is answered. */
  rules: SpokenVersion | undefined;
  /** The id of the session, if the transport has sessions and the server has opened one. */
  readonly sessionId?: string | undefined;
  /** Opens the channel; called once, before anything else. */
  start(receiver: LinkReceiver): Promise<void>;
  /**
   * Sends a request and resolves with its answer. Nothing is ever sent twice.
   *
   * @throws {ClientError} if there is no answer. `mayHaveRun` tells whether the server may have received the request.
   */
  request(request: JSONRPCRequest, options: SendOptions): Promise<Answer>;
  /**
   * Continues the stream of a request that another link has sent. Absent if streams cannot be resumed.
   *
   * @throws {ClientError} as above. The request was sent, so `mayHaveRun` is true.
   */
  resume?(request: JSONRPCRequest, lastEventId: string, options: SendOptions): Promise<Answer>;
  /**
   * Sends a notification, or the answer to a request of the server. Resolves when the channel has accepted it.
   *
   * @param signal Ends the attempt, if the transport can.
   */
  send(message: JSONRPCNotification | Answer, signal?: AbortSignal): Promise<void>;
  /** Opens the stream for messages outside requests, if the transport has one. It is kept open until `close()`. */
  listen(): void;
  /** Stops `listen()`, because another link replaces this one. Pending requests continue. */
  retire(): void;
  /** Ends the session and closes the channel; pending requests are rejected. */
  close(): Promise<void>;
}
