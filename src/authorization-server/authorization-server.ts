/**
 * The authorization server of an endpoint, and the hook that admits requests with its tokens.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization; RFC 9700
 */
import { env, waitUntil } from "cloudflare:workers";
import type { Hono } from "hono/tiny";
import { KitError } from "../core/protocol/errors.ts";
import type { Execution } from "../core/protocol/execution.ts";
import { envRing } from "../core/seal/env-keys.ts";
import { isLoopback, splitUrl } from "../http/origin.ts";
import { WELL_KNOWN } from "../worker/access/auth/answers.ts";
import { bearer } from "../worker/access/auth/bearer.ts";
import { findMissingObjects } from "../worker/access/auth/missing-objects.ts";
import { dpop } from "../worker/access/dpop/index.ts";
import { RatesObject, type RatesRpc } from "../worker/access/rates/rates-object.ts";
import { RoleObjects } from "../worker/bindings.ts";
import { definePlugin } from "../worker/contributions.ts";
import { executionOf } from "../worker/execution.ts";
import { findKeyProblems } from "../worker/key-problems.ts";
import type { HonoEnv } from "../worker/parts.ts";
import type { AuthPlugin, Contribution, EndpointServices } from "../worker/plugin.ts";
import type { KeysOf } from "../worker/runtime.ts";
import { type Admission, admission } from "./admission.ts";
import { allowedRoute } from "./allowed-route.ts";
import { authorizeRoute } from "./authorize-route.ts";
import { ClientDocuments } from "./client-document.ts";
import { Clients } from "./clients.ts";
import type { SignedInUser } from "./identity/provider.ts";
import { jsonAnswer } from "./json-answers.ts";
import { metadataRoute } from "./metadata.ts";
import { type AuthorizationServerOptions, checkServerOptions } from "./options.ts";
import { signInPages } from "./pages/index.ts";
import type { Policy } from "./policy.ts";
import { type AuthorizationServerRates, attemptCounter, countVisit, type ProviderHost, setHost } from "./rates.ts";
import { registerRoute } from "./registration.ts";
import { Sealing } from "./sealing.ts";
import { type AuthServer, PATHS, type ReportedRefusal, type Route } from "./server.ts";
import { callbackRoute } from "./sign-in.ts";
import { failure, revokeRoute, tokenRoute } from "./token-route.ts";
import { addUpstream } from "./upstream-access.ts";
import { UserObject, type UserRpc } from "./user-object.ts";
import { verifier } from "./verify.ts";

/** What the authorization server gets from its endpoint. */
interface Joined {
  readonly endpoint: EndpointServices;
  readonly users: RoleObjects<UserRpc>;
  readonly rates: RoleObjects<RatesRpc>;
}

/**
 * Makes the Worker an authorization server for its own endpoint, as a plugin of `edge()`: users sign in with an
 * identity provider, clients get tokens, and requests with these tokens are admitted. It serves `/authorize`, `/token`,
 * `/revoke`, the metadata, and pages where users give and revoke their consent. Handlers get the user as `ctx.auth`, as with
 * `bearer()`.
 *
 * Refreshing the same token several times at once gives the same answer, so no process of a client signs out another. A
 * sign-in writes a few rows in the object of its user, a refresh one, and a call none. Needs the exported class `McpObject`.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * const identity = oidc({ issuer: "https://login.example.com", clientId: "mcp", clientSecret: "secret" });
 * const auth = authorizationServer({ name: "Notes", identity, allow: { domains: ["example.com"] } });
 * const app = edge(server, { use: [keys(), auth] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @see MCP 2026-07-28, basic/authorization; RFC 6749; RFC 9700
 */
export function authorizationServer(options: AuthorizationServerOptions): AuthPlugin<unknown> {
  checkServerOptions(options);
  const { name, clients = [], scopes = {}, requiredScopes = [], redirectSchemes = [] } = options;
  let keys: KeysOf = envRing;
  let joined: Joined | undefined;
  let path = "/";
  const sealing = new Sealing((env, purpose, sealed) => keys(env, purpose, sealed));
  const rules = admission({ allow: options.allow, scopes });
  const policy = policyOf(options, rules);
  const proofs = dpop(options.dpop);
  const canRegister = options.registration === true;
  const found = () => {
    if (joined) return joined;
    throw new KitError("options-invalid", "authorizationServer() works only in the option use of edge().");
  };
  const server: AuthServer = {
    policy,
    sealing,
    proofs,
    scopes,
    requiredScopes,
    canRegister,
    clients: new Clients(clients, new ClientDocuments(redirectSchemes), sealing, canRegister),
    pages: signInPages({ ...options.pages, name }),
    schemes: redirectSchemes,
    get users() {
      return found().users;
    },
  };

  const countAttempt = attemptCounter(env, () => found().rates, server.pages);
  const host: ProviderHost = {
    countAttempt: async (request, ...attempt) => {
      const beyond = await countAttempt(request, ...attempt);
      const refusal = { reason: "login-locked", status: 429, errorCode: undefined, principal: undefined } as const;
      if (beyond) found().endpoint.refused({ ...refusal, request, env, execution: ALIVE, startedAtMs: Date.now() });
      return beyond;
    },
    showExpired: () => server.pages.error("expired"),
  };

  const bearerFor = (issuer: string): AuthPlugin<unknown> => {
    const { includes, needs, metadata, revocationMs = 60_000 } = options;
    // A proxy may have changed the host of the request, and clients know only the issuer.
    const resource = options.resource ?? (options.issuer === undefined ? undefined : issuer + path);
    const given = Object.entries({ resource, includes, needs, metadata }).filter(([, value]) => value !== undefined);
    return bearer({
      ...(Object.fromEntries(given) as Pick<AuthorizationServerOptions, "resource">),
      issuer,
      ...(requiredScopes.length > 0 && { scopes: requiredScopes }),
      dpop: proofs,
      cacheMs: revocationMs,
      verify: verifier(server, issuer),
    });
  };
  /** The plugin of each issuer, since a Worker may have several hosts. Others than its own do not reach it on Cloudflare. */
  const bearers = new Map<string, AuthPlugin<unknown> & Contribution>();
  const joinedFor = (issuer: string): AuthPlugin<unknown> & Contribution => {
    const known = bearers.get(issuer);
    if (known) return known;
    const plugin = bearerFor(issuer);
    const made = { ...plugin, ...plugin.attach(found().endpoint) };
    if (bearers.size >= BEARERS_MAX) bearers.clear();
    bearers.set(issuer, made);
    return made;
  };
  const issuerOf = (url: string) => (options.issuer === undefined ? safeOrigin(url) : givenIssuer(options.issuer, url));
  const metadata = (request: Request) => {
    const issuer = issuerOf(request.url);
    return issuer === undefined ? undefined : joinedFor(issuer).metadata(request);
  };
  const mount = <Own>(app: Hono<HonoEnv<Own>>, endpoint: string) => {
    if (options.resource === undefined && /[:*]/.test(endpoint)) {
      const text = `authorizationServer(): the path ${endpoint} of edge() has variables; write the option resource.`;
      throw new KitError("options-invalid", text);
    }
    path = endpoint === "/" ? "" : endpoint;
    for (const each of new Set([WELL_KNOWN, WELL_KNOWN + path, path + WELL_KNOWN])) {
      app.all(each, ({ req }) => metadata(withSuffix(req.raw, path)) ?? insecure());
    }
    for (const [route, serve, kind] of routesOf(canRegister)) {
      app.all(route, (context) => run(context.req.raw, context.env, executionOf(context), serve, kind));
    }
  };
  const attach = (endpoint: EndpointServices): Contribution => {
    const { place } = endpoint;
    keys = endpoint.keys ?? envRing;
    joined = { endpoint, users: new RoleObjects("user", place), rates: new RoleObjects("rates", place) };
    for (const provider of policy.providers.values()) setHost(provider, host);
    return {
      authenticate: async (request, env, execution) => {
        const issuer = issuerOf(request.url);
        return issuer === undefined ? insecure() : (joinedFor(issuer).authenticate?.(request, env, execution) ?? null);
      },
      authorize: (received) => {
        const issuer = issuerOf(received.request.url);
        // A request without an issuer was not admitted.
        return issuer === undefined ? undefined : joinedFor(issuer).authorize?.(received);
      },
      mount: (app) => mount(app, endpoint.path),
      roles: [
        { name: "user", create: (ctx, env) => new UserObject(ctx, env, server) },
        { name: "rates", create: (ctx) => new RatesObject(ctx) },
        proofs.attach(endpoint),
      ],
      equip: (principal, env) => principal && addUpstream(server, principal, env),
      findProblems: (env) => [
        ...findMissingObjects("authorizationServer()", place),
        ...(endpoint.keys ? [] : findKeyProblems(env)),
      ],
    };
  };

  const run = async (
    request: Request,
    env: unknown,
    execution: Execution | undefined,
    serve: Route,
    kind: keyof AuthorizationServerRates | undefined,
  ): Promise<Response> => {
    const issuer = issuerOf(request.url);
    if (issuer === undefined) return insecure();
    const resource = options.resource ?? issuer + path;
    const { origin, pathname, search } = new URL(request.url);
    const url = new URL(issuer + pathname + search);
    // Cookies, forms and callbacks belong to the origin that browsers see.
    const seen = origin === issuer ? request : new Request(url, request);
    const startedAtMs = Date.now();
    const refused = ({ userId, clientId, ...refusal }: ReportedRefusal) => {
      const client = clientId === undefined ? {} : { clientId };
      const principal = userId === undefined ? undefined : { issuer, subject: userId, ...client };
      const where = { request, env, execution: execution ?? ALIVE, startedAtMs };
      found().endpoint.refused({ ...where, ...refusal, principal, clientId, errorCode: undefined });
    };
    try {
      const beyond = await countVisit(options.rates ?? {}, kind, request, env, found().rates, server.pages);
      if (beyond) refused({ reason: "too-many", status: beyond.status });
      return beyond ?? (await serve({ request: seen, env, url, server, issuer, resource, refused }));
    } catch (error) {
      const isPage = pathname.startsWith(PATHS.authorize);
      const answer = failure(error, `a request to ${pathname}`);
      return isPage ? server.pages.error(KitError.is(error) ? "broken" : "unavailable") : answer;
    }
  };
  const { visible } = bearerFor("https://mcp.invalid");
  return { ...definePlugin({ name: "authorizationServer()", attach }), visible, metadata };
}

/** Keeps the Worker running where no request is at hand. */
const ALIVE: Execution = { waitUntil };

/** The most hosts of one Worker that an isolate remembers. @limit internal */
const BEARERS_MAX = 16;

/** Returns the origin of a URL if tokens can be sent there safely. */
function safeOrigin(url: string): string | undefined {
  const { protocol, hostname, origin } = splitUrl(url);
  return protocol === "https:" || isLoopback(hostname) ? origin : undefined;
}

/**
 * Returns the issuer that the author has named. Undefined if it is this machine, and the request is for another host: a page of
 * that host would then act as one of this machine (DNS rebinding).
 */
function givenIssuer(issuer: string, url: string): string | undefined {
  const isLocal = isLoopback(splitUrl(issuer).hostname);
  return isLocal && !isLoopback(splitUrl(url).hostname) ? undefined : issuer;
}

function insecure(): Response {
  const description =
    "Use https. If a proxy in front of the server ends TLS, set the option issuer of authorizationServer().";
  return jsonAnswer({ error: "invalid_request", error_description: description }, 400);
}

/** Returns a request for the metadata of the endpoint, also for one without its path. */
function withSuffix(request: Request, path: string): Request {
  const url = new URL(request.url);
  return url.pathname === WELL_KNOWN ? new Request(new URL(WELL_KNOWN + path, url), request) : request;
}

/** The paths, what serves them, and the rate for which they count. */
function routesOf(canRegister: boolean): (readonly [string, Route, (keyof AuthorizationServerRates)?])[] {
  return [
    [PATHS.metadata, metadataRoute],
    [PATHS.authorize, authorizeRoute, "authorize"],
    [`${PATHS.callback}/:provider`, callbackRoute, "authorize"],
    [PATHS.allowed, allowedRoute, "authorize"],
    [PATHS.token, tokenRoute, "token"],
    [PATHS.revoke, revokeRoute, "token"],
    ...(canRegister ? [[PATHS.register, registerRoute, "register"] as const] : []),
  ];
}

const HOUR_MS = 60 * 60_000;

function policyOf(options: AuthorizationServerOptions, rules: Admission): Policy {
  return {
    accessTokenMs: options.accessTokenMs ?? HOUR_MS,
    refreshTokenMs: options.refreshTokenMs ?? 30 * 24 * HOUR_MS,
    sessionMs: options.sessionMs ?? 8 * HOUR_MS,
    providers: new Map([options.identity].flat().map((provider) => [provider.id, provider])),
    offeredTo: async (user) => (await rules.decide(user))?.scopes.map(({ name }) => name),
    claimsOf: options.claims ?? claimsOf,
  };
}

/**
 * The most characters of a user's name in `ctx.auth.claims`. Users choose their names at some providers.
 * @limit characters The name of a user in `ctx.auth.claims`. It is cut off.
 */
const NAME_MAX = 200;

/** What handlers get to know about a user by default. */
function claimsOf({ issuer, subject, name, email, emailVerified }: SignedInUser) {
  const shown = name?.slice(0, NAME_MAX);
  return {
    ...(shown !== undefined && { name: shown }),
    ...(emailVerified && { email }),
    identity: { issuer, subject },
  };
}
