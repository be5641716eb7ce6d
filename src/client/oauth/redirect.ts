/**
 * How the user reaches the authorization server, and how the answer comes back.
 *
 * @module
 */

/** The redirect URL of one sign-in, and the function that waits for the user to return to it. */
export interface OpenRedirect {
  /** The redirect URL, which is part of the authorization request. */
  readonly url: string;
  /**
   * True if the user's return cannot be waited for, because it is a separate request to a Worker, for example. `connect()`
   * then rejects with the reason `redirect-needed`, and `finish()` of the `OAuth` object ends the sign-in.
   *
   * @default false
   */
  readonly isDeferred?: boolean | undefined;
  /**
   * Shows a page to the user, and returns the URL that the browser was sent back to, with its query. Not called if
   * `isDeferred` is true.
   *
   * @param url The URL of the page at the authorization server.
   * @param signal Aborts when no request waits for the sign-in any more, or when its time is up.
   */
  authorize(url: string, signal: AbortSignal): Promise<string>;
  /** Called once when the sign-in has ended, in success or failure. */
  close(): void | Promise<void>;
}

/**
 * Sends users to the authorization server, and receives the answers. One handler serves any number of sign-ins.
 *
 * @see RFC 6749, section 4.1
 */
export interface RedirectHandler {
  /** The redirect URL. If it is on this machine, each sign-in may use another port (RFC 8252, section 7.3). */
  readonly url: string;
  /** Begins a sign-in. @param known The redirect URL of an earlier registration. Using it again saves a registration. */
  open(known: string | undefined): OpenRedirect | Promise<OpenRedirect>;
}

/**
 * Returns a redirect handler for programs that cannot wait for the user, such as Workers and pages that navigate away.
 * `connect()` rejects with the reason `redirect-needed` and the `url` to open. Pass the later request for the redirect URL to
 * `finish()` of the `OAuth` object.
 *
 * @param url The redirect URL. Authorization servers demand `https://`, except for this machine.
 */
export function hostedRedirect(url: string): RedirectHandler {
  const authorize = () => Promise.reject(new Error("The answer of a hosted redirect arrives at finish()."));
  return { url, open: () => ({ url, isDeferred: true, authorize, close: () => undefined }) };
}
