/**
 * What a client needs of its connection.
 *
 * @module
 */
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import type { LoggingLevel } from "../core/protocol/logging.ts";
import type { Root } from "../core/protocol/root.ts";
import type { SpokenVersion } from "../core/protocol/spoken-versions.ts";
import type { ClientEvent } from "./events.ts";
import type { ListingLimits } from "./requests/listing.ts";
import type { OutgoingRequest } from "./requests/passing-on.ts";
import type { RequestOptions } from "./requests/request-options.ts";
import type { ServerFacts } from "./requests/results.ts";
import type { RequestParts } from "./requests/sending.ts";

/** The connection to one server. */
export interface ClientConnection {
  readonly facts: ServerFacts;
  readonly rules: SpokenVersion;
  readonly amounts: ListingLimits;
  /** The level from which on modern requests ask for log messages. */
  readonly sender: { logLevel: LoggingLevel | undefined };
  /** The roots that the client answers with; undefined if it has none. */
  readonly answers: { roots: readonly Root[] | undefined };
  readonly subscriptions: {
    /** Adds a URI to what the client listens to, or removes it. Modern servers only. */
    add(uri: string): Promise<void>;
    remove(uri: string): Promise<void>;
    /** Remembers a URI that a legacy server has agreed to report, or forgets it. */
    note(uri: string): void;
    forget(uri: string): void;
  };
  /**
   * Sends a request through the extensions. `partsOf` returns the parts of the request as the extensions have changed
   * it.
   */
  send(request: OutgoingRequest, partsOf: (last: OutgoingRequest) => RequestParts): Promise<JsonObject>;
  /** Waits for the answer to a request of another connection. */
  resume(token: string, options: RequestOptions): Promise<JsonObject>;
  notify(method: string, params?: JsonObject): Promise<void>;
  report(event: ClientEvent): void;
  close(): Promise<void>;
}
