/**
 * Access tokens of development users, for tests and scripts.
 *
 * @module
 */

import { quote } from "../core/basics/quote.ts";
import { KitError } from "../core/protocol/errors.ts";
import { isLoopback } from "../http/origin.ts";

/** Options of {@link developmentToken}. */
export interface DevelopmentTokenOptions {
  /** The scopes to request, separated by spaces. @default the `requiredScopes` of the server */
  readonly scope?: string;
}

/** The redirect URI. Nothing listens there, because the code is read from the redirect. */
const CALLBACK = "http://127.0.0.1/callback";

/**
 * Signs in a user of `developmentUsers()` without a browser, and returns an access token. It registers a client, chooses the user, and
 * gives consent on the same pages that a browser would show. The server must run on this machine, and its `authorizationServer()`
 * needs `registration: true`.
 *
 * ```ts
 * const token = await developmentToken(worker.url("/mcp"), "ada", { scope: "notes:read notes:write" });
 * const headers = { Authorization: `Bearer ${token}` };
 * ```
 *
 * @param server The URL of the endpoint.
 * @param user The `subject` of the user, such as "ada".
 * @throws {KitError} `options-invalid` if the server is not on this machine, or if a step fails; the message contains the response.
 */
export async function developmentToken(
  server: string | URL,
  user: string,
  { scope }: DevelopmentTokenOptions = {},
): Promise<string> {
  const { origin, hostname, href } = new URL(server);
  if (!isLoopback(hostname)) throw failed(`${href} is not on this machine`);
  const { client_id } = await register(origin);
  const verifier = randomText();
  const hash = await crypto.subtle.digest("SHA-256", Buffer.from(verifier));
  const asked = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: CALLBACK,
    resource: href,
    code_challenge: Buffer.from(hash).toString("base64url"),
    code_challenge_method: "S256",
    identity_provider: "development",
    ...(scope !== undefined && { scope }),
  });
  const code = await allow(new Visitor(origin), `/authorize?${asked}`, user);
  const form = { grant_type: "authorization_code", code, client_id, redirect_uri: CALLBACK, code_verifier: verifier };
  const response = await fetch(`${origin}/token`, { method: "POST", body: new URLSearchParams(form) });
  const text = await response.text();
  if (!response.ok) throw failed(`the token request was refused: ${text}`);
  return (JSON.parse(text) as { readonly access_token: string }).access_token;
}

async function register(origin: string): Promise<{ readonly client_id: string }> {
  const body = JSON.stringify({ client_name: "Test", redirect_uris: [CALLBACK], token_endpoint_auth_method: "none" });
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${origin}/register`, { method: "POST", body, headers });
  if (response.status === 404)
    throw failed("the server has no /register; pass registration: true to authorizationServer()");
  if (!response.ok) throw failed(`the client was not registered: ${await response.text()}`);
  return (await response.json()) as { readonly client_id: string };
}

/** Chooses the user, gives consent to the client, and returns the authorization code. */
async function allow(visitor: Visitor, path: string, user: string): Promise<string> {
  const begun = await visitor.get(path);
  const choice = begun.headers.get("Location") ?? "";
  const state = URL.canParse(choice) ? new URL(choice).searchParams.get("choose") : null;
  if (state === null) throw failed(`the server did not offer its development users: ${await toText(begun)}`);
  const chosen = new URLSearchParams({ state, user });
  const signedIn = await visitor.get(`/authorize/callback/development?${chosen}`);
  const back = signedIn.headers.get("Location");
  if (back === null) throw failed(`the user ${quote(user)} was not signed in: ${await toText(signedIn)}`);
  const question = await visitor.get(back);
  const page = await question.clone().text();
  const hidden = [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  if (hidden.length === 0) throw failed(`the user was not asked for consent: ${await toText(question)}`);
  const fields = new URLSearchParams(hidden.map(([, name = "", value = ""]) => [name, value]));
  fields.set("decision", "allow");
  const answered = await (await visitor.post("/authorize", fields)).text();
  const [, to = ""] = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(answered) ?? [];
  const returned = to.replace(/&#(\d+);/g, (_, character: string) => String.fromCharCode(Number(character)));
  const code = URL.canParse(returned) ? new URL(returned).searchParams.get("code") : null;
  if (code === null) throw failed(`the client did not receive a code: ${returned || plain(answered)}`);
  return code;
}

/** A minimal browser for one host. It stores cookies, does not run scripts, and does not follow redirects. */
class Visitor {
  readonly #origin: string;
  readonly #cookies = new Map<string, string>();

  constructor(origin: string) {
    this.#origin = origin;
  }

  get(path: string): Promise<Response> {
    return this.#send(path, {});
  }

  post(path: string, body: URLSearchParams): Promise<Response> {
    return this.#send(path, { method: "POST", body });
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    const Cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { Cookie, Origin: this.#origin };
    const response = await fetch(new URL(path, this.#origin), { ...init, headers, redirect: "manual" });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      this.#cookies.set(name, value);
    }
    return response;
  }
}

/** Returns the status of a response with its Location or its text. */
async function toText(response: Response): Promise<string> {
  return `${response.status} ${response.headers.get("Location") ?? plain(await response.text())}`;
}

/** Returns the visible text of a page. */
function plain(page: string): string {
  const text = page.replace(/<(style|title)>.*?<\/\1>/gs, "").replace(/<[^>]*>/g, " ");
  return text.replace(/\s+/g, " ").trim();
}

function randomText(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
}

function failed(why: string): KitError {
  return new KitError("options-invalid", `developmentToken(): ${why}.`);
}
