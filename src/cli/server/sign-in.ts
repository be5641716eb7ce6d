/**
 * Sign-in for servers with a URL that require a token. All commands and processes of a user share the tokens.
 *
 * @module
 */
import { join } from "node:path";
import {
  deviceCode,
  type Grant,
  type OAuth,
  OAuthError,
  oauth,
  type RedirectHandler,
  type RevocationOutcome,
  revokeTokens,
} from "../../client/oauth/index.ts";
import { readSettings } from "../../client/oauth/oauth.ts";
import { ServerSignIn } from "../../client/oauth/renewal.ts";
import { isStillValid } from "../../client/oauth/tokens.ts";
import { fileStore, loopbackRedirect, openBrowser, resolveHost } from "../../node/index.ts";
import { shellWord } from "../terminal/shell.ts";
import { clean, oneLine, type Terminal } from "../terminal/terminal.ts";
import { configFolder } from "./config-folder.ts";
import type { ConnectionOptions } from "./options.ts";

/** Whether, and for how long, the user can be asked to sign in. */
export interface SignInRules {
  /** If false, stored tokens are used and refreshed, but the user is not asked to sign in. */
  readonly mayAsk: boolean;
  /** Aborts when the sign-in is no longer needed. */
  readonly signal: AbortSignal;
}

/** Returns the client option `auth` for a server. */
export function signInFor(
  server: string,
  options: Pick<ConnectionOptions, "browser" | "device">,
  terminal: Terminal,
  { mayAsk, signal }: SignInRules,
): OAuth {
  const common = commonOptions();
  if (!mayAsk) return oauth({ ...common, redirect: refuseToAsk(server) });
  if (options.device) return oauth({ ...common, grant: endedBy(deviceGrant(terminal), signal) });
  const open = async (url: string) => {
    terminal.note(`Sign in at: ${clean(url)}`);
    if (options.browser !== false) await openBrowser(url);
  };
  return oauth({ ...common, redirect: redirectEndedBy(loopbackRedirect({ open }), signal) });
}

/**
 * Removes the tokens for a server from this machine, and revokes them if the authorization server supports it.
 *
 * @throws {OAuthError} if the tokens could not be revoked. They are removed in any case.
 */
export function signOut(server: string): Promise<RevocationOutcome> {
  return revokeTokens(server, { ...commonOptions(), redirect: refuseToAsk(server) });
}

/**
 * Returns the stored access token for a server; undefined if there is none, it has expired, or it is bound to a key. The token is not
 * refreshed.
 */
export async function findStoredToken(server: string): Promise<string | undefined> {
  const settings = readSettings({ ...commonOptions(), redirect: refuseToAsk(server) });
  const record = await new ServerSignIn(new URL(server).href, settings).load();
  if (!record || record.isBound) return undefined;
  return record.expiresAtMs === undefined || isStillValid(record) ? record.accessToken : undefined;
}

function commonOptions() {
  return {
    store: fileStore(join(configFolder(process.env), "tokens")),
    resolve: resolveHost,
    // A plain fetch, because --debug does not log token requests.
    fetch: (url: string | URL, init?: RequestInit) => fetch(url, init),
  };
}

function refuseToAsk(server: string): RedirectHandler {
  return {
    ...loopbackRedirect(),
    open: () => {
      const text = `${server} requires you to sign in. Run this in a terminal, then try again: mcp-edge ping ${shellWord(server)}`;
      throw new OAuthError("redirect-needed", text);
    },
  };
}

function deviceGrant(terminal: Terminal): Grant {
  return deviceCode(({ url, code, completeUrl }) => {
    terminal.note(`Sign in at: ${oneLine(url, 2_000)}\nCode: ${oneLine(code)}`);
    if (completeUrl !== undefined) terminal.note(`Or open: ${oneLine(completeUrl, 2_000)}`);
  });
}

function endedBy(grant: Grant, signal: AbortSignal): Grant {
  const run: Grant["run"] = (request) => grant.run({ ...request, signal: AbortSignal.any([request.signal, signal]) });
  return { ...grant, run };
}

/** Ends a redirect when the signal aborts. It listens on this machine, so it must not outlive the sign-in. */
function redirectEndedBy(handler: RedirectHandler, signal: AbortSignal): RedirectHandler {
  return {
    ...handler,
    async open(known) {
      const redirect = await handler.open(known);
      return {
        url: redirect.url,
        close: () => redirect.close(),
        authorize: async (page, own) => {
          try {
            return await redirect.authorize(page, AbortSignal.any([own, signal]));
          } catch (error) {
            if (own.aborted || !signal.aborted) throw error;
            throw new OAuthError("expired", "The program ended before the sign-in was complete.");
          }
        },
      };
    },
  };
}
