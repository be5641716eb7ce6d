/**
 * Sends the requests to one MCP server with a token. All requests share one token and, when they need a new token, one renewal.
 *
 * - Without a stored token, the first request is sent without a token. The challenge in its refusal says where to sign in.
 * - A token that is due is renewed before it is used, and a refused token is renewed after the refusal. While the authorization server
 *   is unavailable, a token that is due is used until it expires.
 * - Renewals take turns under the lock of the store. A client that gets the lock reads the store again, and uses a token that another
 *   client has stored meanwhile.
 * - A refused refresh does not change the store, so it cannot remove the token of another client.
 *
 * @module
 */

import { untilAborted } from "../basics/deadline.ts";
import type { AuthContext } from "../transports/auth.ts";
import { readChallenge } from "./challenge.ts";
import { OAuthError } from "./errors.ts";
import { type Renewal, type RenewalReason, renew, type ServerSignIn } from "./renewal.ts";
import { isDue, isStillValid, type TokenRecord } from "./tokens.ts";

/** The maximum number of times that one request asks for additional scopes. */
const STEP_UPS_MAX = 2;
/** The maximum number of times that one request is repeated after a refusal: with a refreshed token, and after a new sign-in. */
const REFUSALS_MAX = 2;

/** A running renewal, and the number of requests that wait for it. */
interface RunningRenewal {
  readonly promise: Promise<Renewal | undefined>;
  readonly controller: AbortController;
  waiting: number;
}

/** An HTTP request to send, and the context of the client that sends it. */
interface HttpRequest {
  readonly context: AuthContext;
  readonly url: string;
  readonly init: RequestInit;
}

/** Whether the authorization server was unreachable, or responded with a status of 500 or above. */
function isOutage(error: unknown): boolean {
  return error instanceof OAuthError && (error.reason === "unreachable" || (error.status ?? 0) >= 500);
}

/** The access of all clients of one `OAuth` object to one MCP server. */
export class ServerAccess {
  readonly #serverSignIn: ServerSignIn;
  #record: TokenRecord | undefined;
  #running: RunningRenewal | undefined;

  constructor(serverSignIn: ServerSignIn) {
    this.#serverSignIn = serverSignIn;
  }

  /** Removes the token from memory. */
  clear(): void {
    this.#record = undefined;
  }

  /**
   * Sends a request with a token, and sends it again with a new token if the server refuses the first one.
   *
   * @throws {OAuthError} if no token can be obtained.
   */
  async send(outgoing: HttpRequest): Promise<Response> {
    const { method, signal } = outgoing.init;
    // DELETE ends a session. The user should not have to sign in for that.
    const mayRenew = method !== "DELETE";
    let used = await this.#current(outgoing, mayRenew);
    let refusals = 0;
    let stepUps = 0;
    let isGranted = false;
    for (;;) {
      signal?.throwIfAborted();
      const response = await this.#transmit(used, outgoing);
      const challenge = readChallenge(response);
      if (!challenge || !mayRenew) return response;
      const isStepUp = response.status === 403;
      if (isStepUp ? stepUps >= STEP_UPS_MAX : isGranted || refusals >= REFUSALS_MAX) return response;
      if (isStepUp) stepUps += 1;
      else refusals += 1;
      // If the server refuses a refreshed token as well, refreshing again would not help.
      const mayRefresh = !isStepUp && refusals === 1;
      const renewal = await this.#renew({ used, challenge, isStepUp, mayRefresh, mayAsk: method === "POST" }, outgoing);
      if (!renewal) return response;
      await response.body?.cancel();
      isGranted = renewal.isGranted;
      used = renewal.record;
    }
  }

  /** Returns the token from memory or from the store. A token that is due is renewed, unless the user would have to sign in. */
  async #current(outgoing: HttpRequest, mayRenew: boolean): Promise<TokenRecord | undefined> {
    this.#record ??= await this.#serverSignIn.load();
    const record = this.#record;
    if (!record || !isDue(record) || !mayRenew) return record;
    const need = { used: record, challenge: undefined, isStepUp: false, mayRefresh: true, mayAsk: false };
    try {
      return (await this.#renew(need, outgoing))?.record;
    } catch (error) {
      if (isOutage(error) && isStillValid(record)) return record;
      throw error;
    }
  }

  #transmit(record: TokenRecord | undefined, { context, url, init }: HttpRequest): Promise<Response> {
    const { fetch } = context;
    if (!record) return fetch(url, init);
    const headers = new Headers(init.headers);
    headers.delete("authorization");
    if (record.isBound) return this.#serverSignIn.sendBound(record, url, { ...init, headers }, fetch);
    headers.set("authorization", `Bearer ${record.accessToken}`);
    return fetch(url, { ...init, headers: Object.fromEntries(headers) });
  }

  /** Waits for the running renewal, or starts one. Returns undefined if no other token can be obtained. */
  async #renew(need: RenewalReason, { context, init }: HttpRequest): Promise<Renewal | undefined> {
    const before = need.used?.accessToken;
    const release = context.hold();
    try {
      if (this.#running) {
        const renewal = await this.#wait(this.#running, init.signal);
        if (renewal && renewal.record.accessToken !== before) return renewal;
      }
      // Another request has obtained a token since this one was sent.
      if (this.#record && this.#record.accessToken !== before && !isDue(this.#record)) {
        return { record: this.#record, isGranted: false };
      }
      return await this.#wait(this.#running ?? this.#start(need, context), init.signal);
    } finally {
      release();
    }
  }

  #start(need: RenewalReason, context: AuthContext): RunningRenewal {
    const controller = new AbortController();
    const promise = renew(this.#serverSignIn, need, context, controller.signal)
      .then((renewal) => {
        if (renewal) this.#record = renewal.record;
        return renewal;
      })
      .finally(() => this.#end(running));
    const running: RunningRenewal = { promise, controller, waiting: 0 };
    this.#running = running;
    return running;
  }

  #end(running: RunningRenewal): void {
    if (this.#running === running) this.#running = undefined;
  }

  /** Waits until the renewal ends or the request is aborted. The last request that stops waiting aborts the renewal. */
  async #wait(running: RunningRenewal, signal: AbortSignal | null | undefined): Promise<Renewal | undefined> {
    running.waiting += 1;
    try {
      return await (signal ? untilAborted(running.promise, signal) : running.promise);
    } finally {
      running.waiting -= 1;
      if (running.waiting === 0) {
        running.controller.abort(new OAuthError("expired", "No request waits for the sign-in."));
        this.#end(running);
      }
    }
  }
}
