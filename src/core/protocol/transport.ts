/**
 * The one shape of a message channel, for servers and clients. A transport written for the official TypeScript SDK
 * fits, since the members marked "ours" are optional; and one of this shape fits the official clients.
 *
 * @module
 */
import type { JSONRPCMessage } from "./jsonrpc.ts";
import type { Limits } from "./limits.ts";

/**
 * Carries whole JSON-RPC messages between two peers, in order. Set the callbacks before `start`.
 *
 * There is no acknowledgement: `send` resolving means handed to the channel, not read by the peer.
 */
export interface Transport {
  /** Begins delivery. Rejects, after telling `onerror`, when the channel cannot be opened. Called once. */
  start(): Promise<void>;
  /** Hands one message to the channel. Rejects, after telling `onerror`, when it is closed or refuses the message. */
  send(message: JSONRPCMessage): Promise<void>;
  /** Closes both directions; `onclose` follows. A second call does nothing. */
  close(): Promise<void>;
  /** A message arrived. The value is what was parsed; it is not yet known to be legal JSON-RPC. */
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  /** The channel is gone, by whichever side. Called once; nothing follows. */
  onclose?: (() => void) | undefined;
  /** Something went wrong that need not be fatal. */
  onerror?: ((error: Error) => void) | undefined;
  /** Ours: the limits of the connection, which it sets before `start`. Received messages must fit them. */
  limits?: Limits | undefined;
  /** Ours: sends a message that is JSON text already. */
  sendText?(text: string): Promise<void>;
  /** Ours: something arrived that is no JSON text, or too large or too deep to be read. */
  onunreadable?: ((error: UnreadableMessage) => void) | undefined;
}

/** Why a message could not be read at all. */
export type UnreadableMessage = {
  readonly reason: "not-json" | "too-large" | "too-deep" | "too-many-values";
  readonly message: string;
};
