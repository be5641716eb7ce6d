/**
 * The interface through which a client uses its connection.
 *
 * @module
 */
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { LoggingLevel } from "../../core/protocol/logging.ts";
import type { Root } from "../../core/protocol/root.ts";
import type { SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import type { ClientEvent } from "../basics/events.ts";
import type { ListingLimits } from "../requests/listing.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { RequestParts } from "../requests/request-parts.ts";
import type { ServerFacts } from "../requests/results.ts";
import type { OutgoingRequest } from "./wrapped-requests.ts";

/** The connection to one server. */
export interface ClientConnection {
  readonly facts: ServerFacts;
  readonly rules: SpokenVersion;
  readonly limits: ListingLimits;
  /** The minimum level of log messages that modern requests ask for. */
  readonly sender: { logLevel: LoggingLevel | undefined };
  /** The current roots; undefined if the client does not declare roots. */
  readonly answering: { roots: readonly Root[] | undefined };
  readonly subscriptions: {
    /** Subscribes to changes of a resource at a modern server. */
    add(uri: string): Promise<void>;
    /** Ends a subscription at a modern server. */
    remove(uri: string): Promise<void>;
    /** Stores a subscription to which a legacy server has agreed. */
    record(uri: string): void;
    /** Removes the stored subscription at a legacy server. */
    discard(uri: string): void;
  };
  /**
   * Sends a request through the extensions.
   *
   * @param toParts Returns the parts of the request that the extensions have passed on.
   */
  send(request: OutgoingRequest, toParts: (last: OutgoingRequest) => RequestParts): Promise<JsonObject>;
  /** Waits for the response to a request of another connection. */
  resume(token: string, options: RequestOptions): Promise<JsonObject>;
  notify(method: string, params?: JsonObject): Promise<void>;
  report(event: ClientEvent): void;
  close(): Promise<void>;
}
