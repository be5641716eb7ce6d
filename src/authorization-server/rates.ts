/**
 * Rate limits of the authorization server: requests from one network, and attempts to log in.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import {
  type Beyond,
  type BoundRate,
  type Counted,
  checkRate,
  count,
  networkName,
  type Rate,
  toSeconds,
} from "../worker/access/rates/count.ts";
import type { RatesRpc } from "../worker/access/rates/rates-object.ts";
import type { RoleObjects } from "../worker/bindings.ts";
import type { SignInPages } from "./pages/index.ts";
import { jsonResponse } from "./routes/json-responses.ts";

/**
 * The rates of an authorization server, each for one IPv4 address, or for the first 64 bits of an IPv6 address. Many users can
 * share an address, such as the users of a company, or all users of a client that runs on a server.
 */
export interface AuthorizationServerRates {
  /** Requests for the pages: `/authorize` and all paths under it. @default unlimited */
  readonly authorize?: Rate | BoundRate;
  /** Requests to `/token` and `/revoke`. @default unlimited */
  readonly token?: Rate | BoundRate;
  /** Requests to `/register`. @default unlimited */
  readonly register?: Rate | BoundRate;
}

const OPTIONS: OptionTable<AuthorizationServerRates> = { authorize: null, token: null, register: null };

/** @throws {KitError} `options-invalid` naming the rate. */
export function checkServerRates(rates: AuthorizationServerRates): void {
  checkOptions("authorizationServer(): rates.", rates, OPTIONS);
  for (const [name, rate] of Object.entries(rates)) {
    if (rate !== undefined) checkRate(`authorizationServer(): rates.${name}.`, rate);
  }
}

/** Returns whether any of the rates is counted in an object. */
export function areExact(rates: AuthorizationServerRates): boolean {
  return Object.values(rates).some((rate) => rate !== undefined && !("binding" in rate));
}

/**
 * Counts a request for the rate `kind`. Returns the response that refuses the request if it exceeds the rate, or undefined if the
 * request may be served.
 */
export type CountRequest = (
  kind: keyof AuthorizationServerRates | undefined,
  request: Request,
  env: unknown,
) => Promise<Response | undefined>;

/** Creates the function that counts requests. */
export function createRequestCounter(
  rates: AuthorizationServerRates,
  objects: () => RoleObjects<RatesRpc>,
  pages: SignInPages,
): CountRequest {
  return async (kind, request, env) => {
    const rate = kind && rates[kind];
    if (!rate || request.method === "OPTIONS") return undefined;
    const counted: Counted = { name: `OAuth ${kind}`, what: "requests", rate, times: 1 };
    const beyond = await count({ counters: [counted] }, networkName(request), env, objects());
    if (!beyond) return undefined;
    if (kind === "authorize") return tooMany(beyond, pages);
    const seconds = toSeconds(beyond);
    const body = {
      error: "temporarily_unavailable",
      error_description: `Too many requests from this address. Try again in ${seconds} s.`,
    };
    return jsonResponse(body, 429, { "Retry-After": String(seconds) });
  };
}

/**
 * Counts an attempt to log in. Returns the page that refuses it if there were too many, or undefined if it is allowed.
 *
 * @param browser The id of a browser in which this account has logged in before. Its attempts are counted separately, so
 *   failures in other browsers do not use them up.
 */
export type CountAttempt = (
  request: Request,
  account: string,
  rates: { readonly network: Rate; readonly account: Rate },
  browser: string | undefined,
) => Promise<Response | undefined>;

/** Creates the function that counts attempts to log in. */
export function createAttemptCounter(
  env: unknown,
  objects: () => RoleObjects<RatesRpc>,
  pages: SignInPages,
): CountAttempt {
  return async (request, account, rates, browser) => {
    const add = (who: string, rate: Rate) => {
      return count({ counters: [{ name: "login", what: "attempts", rate, times: 1 }] }, who, env, objects());
    };
    const countAll = async () =>
      browser === undefined
        ? // The network is counted first, so a network that is over its rate cannot use up the attempts of an account.
          ((await add(networkName(request), rates.network)) ??
          add(`account ${normalizeAccount(account)}`, rates.account))
        : add(`browser ${browser}`, rates.account);
    const beyond = await countAll();
    return beyond && tooMany(beyond, pages);
  };
}

/** Returns an account name without differences in case, width and spaces, which an app may ignore when it compares names. */
export function normalizeAccount(account: string): string {
  return account
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\s\p{Cf}]/gu, "");
}

function tooMany(beyond: Beyond, pages: SignInPages): Response {
  const response = pages.error("tooMany");
  response.headers.set("Retry-After", String(toSeconds(beyond)));
  return response;
}

/** The functions of an authorization server that its identity providers call. */
export interface ProviderHost {
  readonly countAttempt: CountAttempt;
  /** Returns the page for a sign-in that has expired. */
  showExpired(): Response;
}

const hosts = new WeakMap<object, ProviderHost>();

/** Registers the authorization server of an identity provider. */
export function setHost(provider: object, host: ProviderHost): void {
  hosts.set(provider, host);
}

/** Returns the authorization server of an identity provider. Undefined before `edge()` was called. */
export function findHost(provider: object): ProviderHost | undefined {
  return hosts.get(provider);
}
