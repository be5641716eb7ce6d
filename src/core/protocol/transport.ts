/**
 * The interface of a message channel, for servers and clients. It is compatible with the transports of the official
 * TypeScript SDK in both directions, because the members that the SDK lacks are optional.
 *
 * @module
 */
import type { JSONRPCMessage, RequestId } from "./jsonrpc.ts";
import type { Limits } from "./limits.ts";

/**
 * Carries whole JSON-RPC messages between two peers, in order. Set the callbacks before `start`.
 *
 * There is no acknowledgement: when `send` resolves, the channel has the message, but the peer might not have read it.
 */
export interface Transport {
  /** Begins delivery; called once. If the channel cannot be opened, calls `onerror` and rejects. */
  start(): Promise<void>;
  /** Passes one message to the channel. If it is closed or refuses the message, calls `onerror` and rejects. */
  send(message: JSONRPCMessage): Promise<void>;
  /** Closes both directions; `onclose` follows. A second call has no effect. */
  close(): Promise<void>;
  /** Called with each message: parsed JSON that need not be valid JSON-RPC. */
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  /** Called once, when either side has closed the channel. No callback follows. */
  onclose?: (() => void) | undefined;
  /** Called with an error, which need not be fatal. */
  onerror?: ((error: Error) => void) | undefined;
  /** The limits of received messages. The connection sets them before `start`. The SDK lacks this member. */
  limits?: Limits | undefined;
  /** Sends a message that is already JSON text. The SDK lacks this member. */
  sendText?(text: string): Promise<void>;
  /** Called with input that is not JSON, or too large or too deep to read. The SDK lacks this member. */
  onunreadable?: ((error: UnreadableMessage) => void) | undefined;
}

/** Why a message could not be read. */
export type UnreadableMessage = {
  /** The check that the message did not pass. */
  readonly reason: "not-json" | "too-large" | "too-deep" | "too-many-values";
  /** A human-readable message, which names the limit. */
  readonly message: string;
  /** The id of a request or response, if it could be read. */
  readonly id?: RequestId | undefined;
  /** The method, if it could be read. A response has no method. */
  readonly method?: string | undefined;
};
