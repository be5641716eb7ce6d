/**
 * The interface between the client and the part that authorizes its requests, such as `oauth()` of
 * `mcp-edge/client/oauth`.
 *
 * @module
 */
import type { FetchFunction } from "./fetch-options.ts";

/** What the client hands to the part that authorizes its requests. */
export interface AuthContext {
  /** The name of the client, for users. */
  readonly name: string;
  /** Sends a request as it is. */
  readonly fetch: FetchFunction;
  /**
   * Stops the time limits of all open requests until the returned function is called, because a user who signs in is
   * slower than a server.
   */
  hold(): () => void;
}

/** Authorizes the HTTP requests of a client: adds credentials, and meets the challenges of the server. */
export interface ClientAuth {
  /**
   * Returns the function that sends every request of one client. A request with a body has a text as its body, so it can
   * be sent again. The client itself follows redirects, and only within the origin of the server.
   *
   * The function rejects with a `ClientError` if the request cannot be authorized; the client passes it on unchanged.
   * Other rejections count as failures of the network.
   *
   * @param server The URL of the server, as it was given to `connect()`.
   * @throws {ClientError} if requests to this server must not carry credentials.
   */
  authorize(server: string, context: AuthContext): FetchFunction;
}
