/**
 * The interface of the object that authorizes the requests of a client, such as `oauth()` of `mcp-edge/client/oauth`.
 *
 * @module
 */
import type { FetchFunction } from "./fetch-options.ts";

/** The context that a client passes to {@link ClientAuth.authorize}. */
export interface AuthContext {
  /** The human-readable name of the client. */
  readonly name: string;
  /** Sends a request unchanged. */
  readonly fetch: FetchFunction;
  /**
   * Pauses `timeoutMs` of all open requests until the returned function is called, because a user who signs in takes longer than a
   * server.
   */
  hold(): () => void;
}

/** Authorizes the HTTP requests of a client: adds credentials, and responds to the challenges of the server. */
export interface ClientAuth {
  /**
   * Returns the function that sends every request of one client. The body of a request, if there is one, is a string, so the
   * request can be sent again. The client itself follows redirects, and only within the origin of the server.
   *
   * The function rejects with a `ClientError` if the request cannot be authorized; the client rethrows it unchanged.
   * All other rejections are treated as network failures.
   *
   * @param server The URL that was passed to `connect()`.
   * @throws {ClientError} if requests to this server must not carry credentials.
   */
  authorize(server: string, context: AuthContext): FetchFunction;
}
