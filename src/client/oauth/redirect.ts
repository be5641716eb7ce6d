/**
 * The interface of redirect handlers, which show the sign-in page to the user and receive the authorization response.
 *
 * @module
 */

/** The redirect URL of one sign-in, and the function that waits until the browser returns to it. */
export interface OpenRedirect {
  /** The redirect URL, which is part of the authorization request. */
  readonly url: string;
  /**
   * Whether the handler cannot wait for the browser, for example because the browser returns with a separate request to a Worker. If
   * true, `connect()` rejects with the reason `redirect-needed`, and `finish()` of the `OAuth` object completes the sign-in.
   *
   * @default false
   */
  readonly isDeferred?: boolean | undefined;
  /**
   * Shows a page to the user, and returns the redirect URL to which the browser has returned, with its query. Not called if
   * `isDeferred` is true.
   *
   * @param url The URL of the page at the authorization server.
   * @param signal Aborts when no request waits for the sign-in, or when it has taken too long.
   */
  authorize(url: string, signal: AbortSignal): Promise<string>;
  /** Called once when the sign-in has succeeded or failed. */
  close(): void | Promise<void>;
}

/**
 * Sends users to the authorization server, and receives the authorization responses. One handler serves any number of sign-ins.
 *
 * @see RFC 6749, section 4.1
 */
export interface RedirectHandler {
  /** The redirect URL. On this machine, each sign-in may use another port (RFC 8252, section 7.3). */
  readonly url: string;
  /** Begins a sign-in. @param known The redirect URL of an earlier registration. If it is used, the client need not register again. */
  open(known: string | undefined): OpenRedirect | Promise<OpenRedirect>;
}

/**
 * Returns a redirect handler for programs that cannot wait for the user, such as Workers and pages that navigate away. `connect()`
 * rejects with the reason `redirect-needed` and the `url` to open. Pass the later request for the redirect URL to `finish()` of the
 * `OAuth` object.
 *
 * @param url The redirect URL. Authorization servers require `https://`, except for this machine.
 */
export function hostedRedirect(url: string): RedirectHandler {
  const authorize = () => Promise.reject(new Error("Pass the redirect of hostedRedirect() to finish()."));
  return { url, open: () => ({ url, isDeferred: true, authorize, close: () => undefined }) };
}
