/**
 * Sends the requests to one MCP server with a token. All of them share one token, and those that need another token share
 * one renewal.
 *
 * - A request without a token is sent first; the challenge of its refusal says where to sign in.
 * - A token that is due is renewed before it is used, and a refused token is renewed after the refusal. While the authorization server
 *   is down, a token that is due is used until it expires.
 * - Renewals take turns under the lock of the store. A client that gets the lock first reads the store again, and uses a
 *   token that another has put there meanwhile.
 * - A refused refresh writes nothing, so it cannot destroy the token of another client.
 *
 * @module
 */
import type { AuthContext } from "../auth.ts";
import { untilAborted } from "../requests/deadline.ts";
import { challengeOf } from "./challenge.ts";
import { OAuthError } from "./errors.ts";
import { type Renewal, renew, type Setup, type Wanted } from "./renewal.ts";
import { isDue, isStillValid, type TokenRecord } from "./tokens.ts";

/** The number of times that one request asks for further scopes. */
const STEP_UPS_MAX = 2;
/** The number of times that one request is repeated after a refusal: with a refreshed token, and after a new sign-in. */
const REFUSALS_MAX = 2;

/** A running renewal, and the number of requests that wait for it. */
interface Flight {
  readonly promise: Promise<Renewal | undefined>;
  readonly controller: AbortController;
  waiting: number;
}

/** A request to send, and the context of the client that sends it. */
interface Passage {
  readonly context: AuthContext;
  readonly url: string;
  readonly init: RequestInit;
}

/** Whether the authorization server could not be reached, or answered with a status of 500 or above. */
function isOutage(error: unknown): boolean {
  return error instanceof OAuthError && (error.reason === "unreachable" || (error.status ?? 0) >= 500);
}

/** The access of all clients of one `OAuth` object to one MCP server. */
export class ServerAccess {
  readonly #setup: Setup;
  #record: TokenRecord | undefined;
  #flight: Flight | undefined;

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  /** Forgets the token in memory. */
  forget(): void {
    this.#record = undefined;
  }

  /**
   * Sends a request with a token, and again after a refusal that a new token may remove.
   *
   * @throws {OAuthError} if no token can be obtained.
   */
  async send(passage: Passage): Promise<Response> {
    const { method, signal } = passage.init;
    // DELETE ends a session, for which no user should have to sign in.
    const mayRenew = method !== "DELETE";
    let used = await this.#current(passage, mayRenew);
    let refusals = 0;
    let stepUps = 0;
    let isGranted = false;
    for (;;) {
      signal?.throwIfAborted();
      const response = await this.#transmit(used, passage);
      const challenge = challengeOf(response);
      if (!challenge || !mayRenew) return response;
      const isStepUp = response.status === 403;
      if (isStepUp ? stepUps >= STEP_UPS_MAX : isGranted || refusals >= REFUSALS_MAX) return response;
      if (isStepUp) stepUps += 1;
      else refusals += 1;
      // If the server refuses a refreshed token as well, refreshing again would not help.
      const mayRefresh = !isStepUp && refusals === 1;
      const renewal = await this.#renew({ used, challenge, isStepUp, mayRefresh, mayAsk: method === "POST" }, passage);
      if (!renewal) return response;
      await response.body?.cancel();
      isGranted = renewal.isGranted;
      used = renewal.record;
    }
  }

  /** Returns the token in memory or in the store. If it is due, it is renewed, unless that needs the user. */
  async #current(passage: Passage, mayRenew: boolean): Promise<TokenRecord | undefined> {
    this.#record ??= await this.#setup.load();
    const record = this.#record;
    if (!record || !isDue(record) || !mayRenew) return record;
    const wanted = { used: record, challenge: undefined, isStepUp: false, mayRefresh: true, mayAsk: false };
    try {
      return (await this.#renew(wanted, passage))?.record;
    } catch (error) {
      if (isOutage(error) && isStillValid(record)) return record;
      throw error;
    }
  }

  #transmit(record: TokenRecord | undefined, { context, url, init }: Passage): Promise<Response> {
    const { fetch } = context;
    if (!record) return fetch(url, init);
    const headers = new Headers(init.headers);
    headers.delete("authorization");
    if (record.isBound) return this.#setup.sendBound(record, url, { ...init, headers }, fetch);
    headers.set("authorization", `Bearer ${record.accessToken}`);
    return fetch(url, { ...init, headers: Object.fromEntries(headers) });
  }

  /** Waits for the running renewal, or for a new one. Returns undefined if no other token can be obtained. */
  async #renew(wanted: Wanted, { context, init }: Passage): Promise<Renewal | undefined> {
    const before = wanted.used?.accessToken;
    const release = context.hold();
    try {
      if (this.#flight) {
        const renewal = await this.#wait(this.#flight, init.signal);
        if (renewal && renewal.record.accessToken !== before) return renewal;
      }
      // Another request has obtained a token since this one was sent.
      if (this.#record && this.#record.accessToken !== before && !isDue(this.#record)) {
        return { record: this.#record, isGranted: false };
      }
      return await this.#wait(this.#flight ?? this.#start(wanted, context), init.signal);
    } finally {
      release();
    }
  }

  #start(wanted: Wanted, context: AuthContext): Flight {
    const controller = new AbortController();
    const promise = renew(this.#setup, wanted, context, controller.signal)
      .then((renewal) => {
        if (renewal) this.#record = renewal.record;
        return renewal;
      })
      .finally(() => this.#end(flight));
    const flight: Flight = { promise, controller, waiting: 0 };
    this.#flight = flight;
    return flight;
  }

  #end(flight: Flight): void {
    if (this.#flight === flight) this.#flight = undefined;
  }

  /** Waits until the renewal ends or the request is aborted. The last request that stops waiting aborts the renewal. */
  async #wait(flight: Flight, signal: AbortSignal | null | undefined): Promise<Renewal | undefined> {
    flight.waiting += 1;
    try {
      return await (signal ? untilAborted(flight.promise, signal) : flight.promise);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        flight.controller.abort(new OAuthError("expired", "No request waits for the sign-in any more."));
        this.#end(flight);
      }
    }
  }
}
