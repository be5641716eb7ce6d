/**
 * Sign-in with GitHub, which supports OAuth but not OpenID Connect, so the user's data is read from its REST API.
 *
 * @module
 * @see GitHub Docs, "Authorizing OAuth apps", "Generating a user access token for a GitHub App" and "Refreshing user access
 *   tokens"
 */
import { type AuthorizationServer, calculatePKCECodeChallenge, generateRandomCodeVerifier } from "oauth4webapi";
import { requestToken } from "../../client/oauth/token-request.ts";
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { isObject } from "../../core/protocol/jsonrpc.ts";
import { checkUrl } from "../../worker/access/auth/fetch-json.ts";
import { IdentityError, type IdentityProvider, type SignedInUser, type UpstreamTokens } from "./provider.ts";
import {
  checkProvider,
  createProviderClient,
  getEndpoint,
  type ProviderClient,
  readCallback,
  refreshTokens,
  send,
  toFailure,
  toTokens,
} from "./provider-requests.ts";

/** Options of {@link github}. */
export interface GithubOptions {
  /** The client id of your OAuth app or GitHub App. */
  readonly clientId: string;
  /** The client secret, from a secret of the Worker. */
  readonly clientSecret: string;
  /**
   * The scopes that an OAuth app requests. They are ignored for a GitHub App, which has permissions instead.
   *
   * @default ["user:email"], and with `organisations` also "read:org"
   */
  readonly scopes?: readonly string[];
  /**
   * Whether to read the organisations in which the user is an active member. A GitHub App needs the permission "Members: read"
   * for this.
   *
   * @default false
   */
  readonly organisations?: boolean;
  /** The last segment of the redirect URI. @default "github" */
  readonly id?: string;
  /** The name that is shown to users. @default "GitHub" */
  readonly label?: string;
  /** The URL of your own GitHub Enterprise Server. @default "https://github.com" */
  readonly url?: string;
  /** The URL of the API. @default "https://api.github.com", or `/api/v3` under `url` */
  readonly apiUrl?: string;
}

const OPTIONS: OptionTable<GithubOptions> = {
  clientId: null,
  clientSecret: null,
  scopes: null,
  organisations: null,
  id: null,
  label: null,
  url: null,
  apiUrl: null,
};

const PUBLIC = "https://github.com";
/**
 * The maximum number of pages of 100 organisations that are read.
 * @limit count Pages of 100 organisations that are read for a GitHub user. The remaining organisations are ignored.
 */
const PAGES_MAX = 10;
const PAGE_SIZE = 100;

/**
 * Lets users sign in with GitHub, using the authorization code flow with state and PKCE (S256). The subject is the numeric id of
 * the account, because another account can claim a login that became available. The e-mail address is the primary address of
 * the account, and is used only if GitHub has verified it.
 *
 * The user's organisations are listed as `login` in lower case, and as `id:` with the numeric id, which stays the same when
 * the organisation is renamed.
 *
 * Tokens of a GitHub App expire and are refreshed. Tokens of an OAuth app do not expire, and `check()` shows whether they still
 * work.
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function github(options: GithubOptions): IdentityProvider {
  checkOptions("github(): ", options, OPTIONS);
  const { clientId, clientSecret, organisations = false, id = "github", label = "GitHub", url = PUBLIC } = options;
  const site = url.replace(/\/$/, "");
  const api = (options.apiUrl ?? (site === PUBLIC ? "https://api.github.com" : `${site}/api/v3`)).replace(/\/$/, "");
  checkUrl("github(): url", site);
  checkUrl("github(): apiUrl", api);
  const scopes = options.scopes ?? ["user:email", ...(organisations ? ["read:org"] : [])];
  checkProvider("github(): ", { id, clientId, clientSecret, scopes });

  const client = createProviderClient(site, label, clientId, clientSecret);
  const server: AuthorizationServer = {
    issuer: `${site}/login/oauth`,
    authorization_endpoint: `${site}/login/oauth/authorize`,
    token_endpoint: `${site}/login/oauth/access_token`,
    token_endpoint_auth_methods_supported: ["client_secret_post"],
  };
  const read = (accessToken: string) => readUser({ client, api, accessToken }, site, organisations);
  return {
    id,
    label,
    issuer: site,
    begin: async ({ redirectUri, state }) => {
      const kept = { state, redirectUri, issuer: server.issuer, verifier: generateRandomCodeVerifier() };
      const parameters = new URLSearchParams({
        client_id: clientId,
        redirect_uri: redirectUri,
        scope: scopes.join(" "),
        state,
        code_challenge: await calculatePKCECodeChallenge(kept.verifier),
        code_challenge_method: "S256",
      });
      return { url: `${server.authorization_endpoint}?${parameters}`, kept };
    },
    finish: async (callbackUrl, kept) => {
      const code = readCallback(client, server, callbackUrl, kept).get("code") ?? "";
      const parameters = { code, redirect_uri: kept.redirectUri, code_verifier: kept.verifier };
      const endpoint = getEndpoint(client, server);
      const response = await requestToken(endpoint, "authorization_code", parameters).catch((error: unknown) => {
        throw toFailure(label, error);
      });
      const tokens: UpstreamTokens = toTokens(response);
      return { user: await read(tokens.accessToken), tokens };
    },
    refresh: (tokens) => refreshTokens(client, server, tokens),
    check: async ({ accessToken }, { subject }) => {
      const user = await read(accessToken);
      if (user.subject === subject) return user;
      throw new IdentityError("revoked", `The token of ${label} belongs to another user.`);
    },
  };
}

/** Access to the API with the token of a user. */
interface ApiAccess {
  readonly client: ProviderClient;
  readonly api: string;
  readonly accessToken: string;
}

/**
 * Requests a JSON value from the API. Returns undefined if the token does not permit it.
 *
 * @throws {IdentityError} `revoked` if the token no longer works; `unavailable`, including when the rate limit is exceeded.
 */
async function get({ client, api, accessToken }: ApiAccess, path: string): Promise<unknown> {
  const { label } = client;
  const headers = {
    Accept: "application/vnd.github+json",
    Authorization: `Bearer ${accessToken}`,
    // GitHub refuses requests without this header.
    "User-Agent": "mcp-edge",
    "X-GitHub-Api-Version": "2022-11-28",
  };
  const response = await send(client, api + path, { headers });
  const { status } = response;
  if (status === 401) throw new IdentityError("revoked", `${label} no longer accepts the user's token.`);
  const value: unknown = await response.json().catch(() => undefined);
  if (response.ok) return value;
  // An exceeded rate limit has the same status as a missing permission.
  const text = isObject(value) ? String(value.message) : "";
  if (status === 404 || (status === 403 && !/rate limit/i.test(text))) return undefined;
  throw new IdentityError("unavailable", `${label} did not return a result for ${path}: status ${status}.`);
}

async function readUser(access: ApiAccess, issuer: string, hasOrganisations: boolean): Promise<SignedInUser> {
  const { label } = access.client;
  const user = await get(access, "/user");
  if (!isObject(user) || typeof user.id !== "number" || !Number.isSafeInteger(user.id) || user.id <= 0) {
    throw new IdentityError("unavailable", `${label} did not return a valid user.`);
  }
  const { login, name } = user;
  const email = await readEmail(access);
  return {
    issuer,
    subject: String(user.id),
    email,
    emailVerified: email !== undefined,
    name: typeof name === "string" && name !== "" ? name : String(login),
    organisations: hasOrganisations ? await readOrganisations(access) : undefined,
    claims: { login: String(login) },
  };
}

/** Returns the primary address if it is verified. The address in the profile is not used, because it may be unverified. */
async function readEmail(access: ApiAccess): Promise<string | undefined> {
  const listed = await get(access, `/user/emails?per_page=${PAGE_SIZE}`);
  if (!Array.isArray(listed)) return undefined;
  const primary = listed.find((each) => isObject(each) && each.primary === true && each.verified === true);
  return isObject(primary) && typeof primary.email === "string" ? primary.email : undefined;
}

async function readOrganisations(access: ApiAccess): Promise<readonly string[]> {
  const found: string[] = [];
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const query = `state=active&per_page=${PAGE_SIZE}&page=${page}`;
    const listed = await get(access, `/user/memberships/orgs?${query}`);
    const memberships: readonly unknown[] = Array.isArray(listed) ? listed : [];
    for (const each of memberships) {
      // Invitations are listed too, with the state "pending".
      if (!isObject(each) || each.state !== "active" || !isObject(each.organization)) continue;
      const { login, id } = each.organization;
      found.push(String(login).toLowerCase(), `id:${id}`);
    }
    if (memberships.length < PAGE_SIZE) break;
  }
  return found;
}
