/**
 * Sign-in with the login page of your own app.
 *
 * The browser carries two sealed values: the request, from the authorization server to the login page, and the ticket, on the way
 * back. Both contain the state of the sign-in, so a ticket completes only the sign-in for which it was created, and only in the
 * browser in which that sign-in was started.
 *
 * @module
 */
import { encodeText } from "../../core/basics/bytes.ts";
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { KitError } from "../../core/protocol/errors.ts";
import { KeyRing } from "../../core/seal/key-ring.ts";
import { checkRate, type Rate } from "../../worker/access/rates/count.ts";
import { readCookie, setCookie } from "../pages/cookies.ts";
import { findHost, normalizeAccount } from "../rates.ts";
import { newId } from "../sealing.ts";
import { IdentityError, type IdentityProvider, type SignedInUser } from "./provider.ts";
import { checkProvider } from "./provider-requests.ts";

/** Options of {@link ownLogin}. */
export interface OwnLoginOptions {
  /** The path of your login page, such as "/login". It is requested with the parameter `request`. */
  readonly path: string;
  /** The key that seals requests and tickets, from a secret of the Worker. Create one with `npx mcp-edge keys`. */
  readonly key: string;
  /** The last segment of the redirect URI. It is part of the issuer of the users, so do not change it. @default "login" */
  readonly id?: string;
  /** The name that is shown to users. @default "your account" */
  readonly label?: string;
  /**
   * The maximum rates of attempts to log in, which `attempt()` counts.
   *
   * @default 60 in 15 minutes from one network, and 20 in an hour for one account
   */
  readonly attempts?: LoginAttempts;
}

/** The maximum rates of attempts to log in. */
export interface LoginAttempts {
  /** Attempts from one IPv4 address, or from the first 64 bits of an IPv6 address. @default `{ max: 60, perMs: 900_000 }` */
  readonly network?: Rate;
  /** Attempts for one account, from all addresses together. @default `{ max: 20, perMs: 3_600_000 }` */
  readonly account?: Rate;
}

/** An identity provider that is part of your own app. */
export interface OwnLogin extends IdentityProvider {
  /**
   * Completes a login. Returns the redirect that takes the browser back to the authorization server. Call it after you have
   * verified the user. Protect your login form against cross-site request forgery, like any other form.
   *
   * Returns a page with the status 400 if `request` was not created by this server, or is older than 10 minutes. The page asks the
   * user to start again in the app. Rejects with an {@link IdentityError} with the reason `invalid` if the user has no subject.
   *
   * @param request The parameter `request` of your login page.
   * @param user The user whom you have verified. `subject` is an id that never changes.
   * @param account The name of the account as the user entered it, as for `attempt()`. If it is given, a cookie is set in the
   *   browser. Attempts for this account in this browser are then counted separately, so that attackers who try passwords
   *   elsewhere cannot lock the user out.
   */
  answer(request: string, user: Omit<SignedInUser, "issuer">, account?: string): Promise<Response>;
  /**
   * Counts an attempt to log in. Call it before you verify a password, because otherwise any number of passwords can be tried.
   * Returns undefined if the attempt is allowed, and a page with the status 429 and `Retry-After` if there were too many. Each
   * attempt costs two object requests, or one in a browser in which the account has logged in before. If the object that counts
   * cannot be reached, the attempt is allowed.
   *
   * Rejects with a KitError if the provider is not part of an authorization server.
   *
   * @param request The request with the form.
   * @param account The name of the account as the user entered it, even if no such account exists. Differences in case and spaces
   *   are ignored.
   */
  attempt(request: Request, account: string): Promise<Response | undefined>;
}

const OPTIONS: OptionTable<OwnLoginOptions> = { path: null, key: null, id: null, label: null, attempts: null };
const ATTEMPTS: OptionTable<LoginAttempts> = { network: null, account: null };
const DEFAULT_ID = "login";
const NETWORK: Rate = { max: 60, perMs: 15 * 60_000 };
const ACCOUNT: Rate = { max: 20, perMs: 60 * 60_000 };

/**
 * The time limit for a login, in milliseconds.
 * @limit ms A login on the page of the app. After it, the user must start again.
 */
const REQUEST_MS = 10 * 60_000;
/** The lifetime of the cookie that identifies a known browser, in milliseconds. */
const KNOWN_MS = 90 * 24 * 60 * 60_000;
/** The name of the cookie of a known browser. */
const KNOWN = "mcp-edge-known";

/** A known browser, in which an account has logged in before. */
interface KnownBrowser {
  readonly account: string;
  readonly browser: string;
  readonly untilMs: number;
}

/**
 * The lifetime of a ticket, in milliseconds.
 * @limit ms The redirect from the login page of the app to the authorization server. After it, the user must start again.
 */
const TICKET_MS = 60_000;

interface LoginRequest {
  readonly state: string;
  readonly redirectUri: string;
  readonly untilMs: number;
}

interface Ticket {
  readonly state: string;
  readonly user: Omit<SignedInUser, "issuer">;
  readonly untilMs: number;
}

/**
 * Lets users sign in with the login page of your app, which verifies them in its own way and then calls `answer()`. The issuer of
 * the users is `urn:mcp-edge:` followed by the id of the provider.
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function ownLogin(options: OwnLoginOptions): OwnLogin {
  checkOwnLoginOptions(options);
  const { path, key, id = DEFAULT_ID, label = "your account", attempts = {} } = options;
  const { network = NETWORK, account: accountRate = ACCOUNT } = attempts;
  const [requests, tickets, browsers] = ["own login request", "own login ticket", "own login browser"].map((purpose) =>
    createSealer(key, purpose, id),
  );
  const invalid = (text: string) => new IdentityError("invalid", text);
  const issuer = `urn:mcp-edge:${id}`;
  const login: OwnLogin = {
    id,
    label,
    issuer,
    attempt: async (request, account) => {
      const host = findHost(login);
      const known = await browsers?.open<KnownBrowser>(readCookie(request, KNOWN) ?? "");
      const browser = known?.account === normalizeAccount(account) ? known.browser : undefined;
      if (host) return host.countAttempt(request, `${id} ${account}`, { network, account: accountRate }, browser);
      throw new KitError(
        "options-invalid",
        "ownLogin(): attempt() works only if the provider is in the option identity of authorizationServer().",
      );
    },
    begin: async ({ state, redirectUri }) => {
      const url = new URL(path, redirectUri);
      const request: LoginRequest = { state, redirectUri, untilMs: Date.now() + REQUEST_MS };
      url.searchParams.set("request", (await requests?.seal(request)) ?? "");
      return { url: url.href, kept: { state, redirectUri } };
    },
    answer: async (text, user, account) => {
      if (typeof user.subject !== "string" || user.subject === "") throw invalid("The user has no subject.");
      const request = await requests?.open<LoginRequest>(text);
      if (!request) {
        const host = findHost(login);
        if (host) return host.showExpired();
        throw invalid("The login request was not created by this server, or has expired.");
      }
      const { state, redirectUri } = request;
      const ticket = await tickets?.seal({ state, user, untilMs: Date.now() + TICKET_MS } satisfies Ticket);
      const location = `${redirectUri}?${new URLSearchParams({ state, ticket: ticket ?? "" })}`;
      if (account === undefined) return createRedirect(location);
      const known = { account: normalizeAccount(account), browser: newId(), untilMs: Date.now() + KNOWN_MS };
      const cookie = setCookie(redirectUri, KNOWN, (await browsers?.seal(known)) ?? "", KNOWN_MS / 1000);
      return createRedirect(location, { "Set-Cookie": cookie });
    },
    finish: async (callbackUrl, { state, redirectUri }) => {
      const { origin, pathname, searchParams } = new URL(callbackUrl);
      const ticket = await tickets?.open<Ticket>(searchParams.get("ticket") ?? "");
      if (!ticket) throw invalid("The login ticket was not created by this server, or has expired.");
      if (origin + pathname !== redirectUri || ticket.state !== state || searchParams.get("state") !== state) {
        throw invalid("The login ticket belongs to another sign-in.");
      }
      return { user: { ...ticket.user, issuer } };
    },
  };
  return login;
}

/** Returns a redirect that must not be cached, and that does not send the URL of the login page to the next page. */
function createRedirect(location: string, cookies: Record<string, string> = {}): Response {
  const headers = { Location: location, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", ...cookies };
  return new Response(null, { status: 303, headers });
}

function checkOwnLoginOptions(options: OwnLoginOptions): void {
  checkOptions("ownLogin(): ", options, OPTIONS);
  const { path, key, id = DEFAULT_ID, attempts = {} } = options;
  checkProvider("ownLogin(): ", { id, clientId: id });
  if (typeof path !== "string" || !/^\/(?![/\\])/.test(path)) {
    throw new KitError("options-invalid", 'ownLogin(): path is not a path of this host; begin it with a single "/".');
  }
  if (typeof key !== "string" || key === "") {
    throw new KitError("options-invalid", "ownLogin(): key is not set. Create one with: npx mcp-edge keys");
  }
  checkOptions("ownLogin(): attempts.", attempts, ATTEMPTS);
  for (const [name, rate] of Object.entries(attempts))
    if (rate !== undefined) checkRate(`ownLogin(): attempts.${name}.`, rate);
}

/** Creates functions that seal and open values with an expiry. */
function createSealer(key: string, purpose: string, bound: string) {
  const ring = () => KeyRing.parse(key, purpose);
  return {
    seal: async (value: LoginRequest | Ticket | KnownBrowser) =>
      (await ring()).seal(encodeText(JSON.stringify(value)), bound),
    open: async <T extends LoginRequest | Ticket | KnownBrowser>(text: string): Promise<T | undefined> => {
      const bytes = await (await ring()).open(text, bound);
      const value = bytes && (JSON.parse(new TextDecoder().decode(bytes)) as T);
      return value && Date.now() < value.untilMs ? value : undefined;
    },
  };
}
