/**
 * How often a network may use the authorization server, and how often passwords can be tried.
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
import { jsonAnswer } from "./routes/json-answers.ts";

/**
 * The rates of an authorization server, each for one IPv4 address, or for the first 64 bits of an IPv6 address. Many users can
 * share an address: those of a company, and all users of a client that runs on a server.
 */
export interface AuthorizationServerRates {
  /** Requests for the pages: `/authorize` and all paths below. @default not counted */
  readonly authorize?: Rate | BoundRate;
  /** Requests to `/token` and `/revoke`. @default not counted */
  readonly token?: Rate | BoundRate;
  /** Requests to `/register`. @default not counted */
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

/** Whether an object counts some of the rates. */
export function areExact(rates: AuthorizationServerRates): boolean {
  return Object.values(rates).some((rate) => rate !== undefined && !("binding" in rate));
}

/** Counts a request. Returns the response that refuses it if it is beyond a rate. */
export async function countVisit(
  rates: AuthorizationServerRates,
  kind: keyof AuthorizationServerRates | undefined,
  request: Request,
  env: unknown,
  objects: RoleObjects<RatesRpc>,
  pages: SignInPages,
): Promise<Response | undefined> {
  const rate = kind && rates[kind];
  if (!rate || request.method === "OPTIONS") return undefined;
  const counted: Counted = { name: `OAuth ${kind}`, what: "requests", rate, times: 1 };
  const beyond = await count({ counters: [counted] }, networkName(request), env, objects);
  if (!beyond) return undefined;
  if (kind === "authorize") return tooMany(beyond, pages);
  const seconds = toSeconds(beyond);
  const answer = {
    error: "temporarily_unavailable",
    error_description: `Too many requests from this address. Try again in ${seconds} s.`,
  };
  return jsonAnswer(answer, 429, { "Retry-After": String(seconds) });
}

/**
 * Counts an attempt to log in. Returns the page that refuses it if it is one too many.
 *
 * @param browser Identifies a browser in which this account has logged in before. It has attempts of its own, which no failure
 *   of others uses up.
 */
export type CountAttempt = (
  request: Request,
  account: string,
  rates: { readonly network: Rate; readonly account: Rate },
  browser: string | undefined,
) => Promise<Response | undefined>;

/** Returns the function that counts attempts to log in. */
export function attemptCounter(env: unknown, objects: () => RoleObjects<RatesRpc>, pages: SignInPages): CountAttempt {
  return async (request, account, rates, browser) => {
    const add = (who: string, rate: Rate) => {
      return count({ counters: [{ name: "login", what: "attempts", rate, times: 1 }] }, who, env, objects());
    };
    const countAll = async () =>
      browser === undefined
        ? // An address that is stopped cannot use up the attempts of an account.
          ((await add(networkName(request), rates.network)) ??
          add(`account ${normalizeAccount(account)}`, rates.account))
        : add(`browser ${browser}`, rates.account);
    const beyond = await countAll();
    return beyond && tooMany(beyond, pages);
  };
}

/** Returns what is equal for texts that an app may take for the same account: in any case and width, with any spaces. */
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

/** What an authorization server does for the identity providers that it uses. */
export interface ProviderHost {
  readonly countAttempt: CountAttempt;
  /** Returns the page for a sign-in that is too old. */
  showExpired(): Response;
}

const hosts = new WeakMap<object, ProviderHost>();

/** Makes an identity provider part of an authorization server. */
export function setHost(provider: object, host: ProviderHost): void {
  hosts.set(provider, host);
}

/** Returns the authorization server of an identity provider. Undefined before `edge()` was called. */
export function findHost(provider: object): ProviderHost | undefined {
  return hosts.get(provider);
}
