/** A browser and a client that sign in at an authorization server by hand, and correct nothing. */
import { createHash, randomBytes } from "node:crypto";
import type { Members } from "../http/messages.ts";

/** A browser: it keeps cookies, and follows no redirect by itself. */
export class Browser {
  readonly cookies = new Map<string, string>();

  async get(url: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#keep(await fetch(url, { redirect: "manual", headers: { ...this.#headers(), ...headers } }));
  }

  /** Sends a form as the page of the same origin does. */
  async post(url: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
    const all = { ...this.#headers(), Origin: new URL(url).origin, "Sec-Fetch-Site": "same-origin", ...headers };
    return this.#keep(
      await fetch(url, { method: "POST", redirect: "manual", body: new URLSearchParams(fields), headers: all }),
    );
  }

  #headers(): Record<string, string> {
    if (this.cookies.size === 0) return {};
    return { Cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
  }

  #keep(response: Response): Response {
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (/; Max-Age=0(;|$)/.test(cookie)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }
}

/** Returns the hidden fields of the first form of a page. */
export function fieldsOf(page: string): Record<string, string> {
  const fields = [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  return Object.fromEntries(fields.map(([, name = "", value = ""]) => [name, unescapeHtml(value)]));
}

/** Returns the URL to which a page leads on. */
export function leadsTo(page: string): string {
  return unescapeHtml(/<meta http-equiv="refresh" content="0;url=([^"]*)">/.exec(page)?.[1] ?? "");
}

function unescapeHtml(text: string): string {
  return text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}

export const newVerifier = (): string => randomBytes(32).toString("base64url");
export const challengeOf = (verifier: string): string => createHash("sha256").update(verifier).digest("base64url");

/** Sends a form to the token or revocation endpoint. Undefined members are left out. */
export async function postForm(
  url: string,
  fields: Readonly<Record<string, string | undefined>>,
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly body: Members; readonly headers: Headers }> {
  const given = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await fetch(url, { method: "POST", body: new URLSearchParams(given), headers });
  return { status: response.status, body: (await response.json()) as Members, headers: response.headers };
}

export interface Asked {
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly [parameter: string]: string | undefined;
}

/** The URL of an authorization request with PKCE. */
export function authorizeUrl(origin: string, verifier: string, asked: Asked): string {
  const all = {
    response_type: "code",
    state: "state",
    code_challenge: challengeOf(verifier),
    code_challenge_method: "S256",
    ...asked,
  };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `${origin}/authorize?${new URLSearchParams(given)}`;
}

/** Follows redirects until a page is shown, or the browser leaves for a client. Signs in as a user on the way. */
export async function visit(
  browser: Browser,
  url: string,
  user: string,
  provider = "people",
): Promise<{ readonly url: string; readonly page: string; readonly status: number }> {
  const { origin } = new URL(url);
  for (let at = url, step = 0; step < 10; step += 1) {
    const response = await browser.get(at);
    const page = await response.text();
    const location = response.headers.get("Location");
    if (location === null) {
      const choice = new RegExp(`href="([^"]*identity_provider=${provider}[^"]*)"`).exec(page)?.[1];
      if (choice === undefined) return { url: at, page, status: response.status };
      at = new URL(unescapeHtml(choice), origin).href;
      continue;
    }
    at = new URL(location, origin).href;
    if (new URL(at).origin !== origin) return { url: at, page: "", status: response.status };
    if (at.includes("/authorize/callback/")) at += `&user=${user}`;
  }
  throw new Error("Too many redirects.");
}

/** Signs in, allows the client, and returns the parameters with which the browser returns to it. */
export async function allow(browser: Browser, url: string, user: string, provider?: string): Promise<URLSearchParams> {
  const shown = await visit(browser, url, user, provider);
  const { origin } = new URL(url);
  if (new URL(shown.url).origin !== origin) return new URL(shown.url).searchParams;
  const answered = await browser.post(`${origin}/authorize`, { ...fieldsOf(shown.page), decision: "allow" });
  const page = await answered.text();
  const to = leadsTo(page);
  if (to === "") throw new Error(`${shown.status} ${shown.page}\n${answered.status} ${page}`);
  return new URL(to).searchParams;
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope: string;
}

/** Signs in as a client with a user, and returns the tokens. */
export async function signIn(
  origin: string,
  asked: Asked,
  {
    user = "ada",
    browser = new Browser(),
    headers = {},
    provider = "people",
  }: { user?: string; browser?: Browser; headers?: Record<string, string>; provider?: string } = {},
): Promise<Tokens> {
  const verifier = newVerifier();
  const returned = await allow(browser, authorizeUrl(origin, verifier, asked), user, provider);
  const { client_id, redirect_uri } = asked;
  const fields = {
    grant_type: "authorization_code",
    code: returned.get("code") ?? "",
    client_id,
    redirect_uri,
    code_verifier: verifier,
  };
  const { status, body } = await postForm(`${origin}/token`, fields, headers);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)} ${returned}`);
  return body as unknown as Tokens;
}

/** Registers a client. */
export async function register(origin: string, metadata: Members = {}): Promise<Members> {
  const body = JSON.stringify({
    redirect_uris: ["http://127.0.0.1/callback"],
    token_endpoint_auth_method: "none",
    client_name: "Test",
    ...metadata,
  });
  const response = await fetch(`${origin}/register`, {
    method: "POST",
    body,
    headers: { "Content-Type": "application/json" },
  });
  return (await response.json()) as Members;
}
