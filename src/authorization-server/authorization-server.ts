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
import { bearer } from "../worker/access/auth/bearer.ts";
import { WELL_KNOWN } from "../worker/access/auth/denials.ts";
import { findMissingObjects } from "../worker/access/auth/missing-objects.ts";
import { dpop } from "../worker/access/dpop/index.ts";
import { PlacesObject } from "../worker/access/rates/places-object.ts";
import type { RatesRpc } from "../worker/access/rates/rates-object.ts";
import { RoleObjects } from "../worker/bindings.ts";
import { definePlugin } from "../worker/contributions.ts";
import { findExecution } from "../worker/execution.ts";
import { findKeyProblems } from "../worker/key-problems.ts";
import type { HonoEnv } from "../worker/parts.ts";
import type { AuthPlugin, Contribution, EndpointServices } from "../worker/plugin.ts";
import type { KeysOf } from "../worker/runtime.ts";
import { type Admission, admission } from "./admission.ts";
import { ClientDocuments } from "./clients/client-document.ts";
import { Clients } from "./clients/clients.ts";
import { registerRoute } from "./clients/registration.ts";
import type { SignedInUser } from "./identity/provider.ts";
import { type AuthorizationServerOptions, checkServerOptions } from "./options.ts";
import { signInPages } from "./pages/index.ts";
import type { Policy } from "./policy.ts";
import { type AuthorizationServerRates, attemptCounter, countVisit, type ProviderHost, setHost } from "./rates.ts";
import { allowedRoute } from "./routes/allowed-route.ts";
import { authorizeRoute } from "./routes/authorize-route.ts";
import { jsonAnswer } from "./routes/json-answers.ts";
import { metadataRoute } from "./routes/metadata.ts";
import { callbackRoute } from "./routes/sign-in.ts";
import { failure, revokeRoute, tokenRoute } from "./routes/token-route.ts";
import { Sealing } from "./sealing.ts";
import { type AuthServer, PATHS, type ReportedRefusal, type Route } from "./server.ts";
import { addUpstream } from "./users/upstream-access.ts";
import { UserObject, type UserRpc } from "./users/user-object.ts";
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
 * `/revoke`, the metadata, and pages where users give and revoke their consent. Handlers get the user as `ctx.auth`, as
 * with `bearer()`.
 *
 * Refreshing the same token several times at once gives the same answer, so no process of a client signs out another. A
 * sign-in writes a few rows in the object of its user, a refresh one, and a call none. Needs the exported class
 * `McpObject`.
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
  const installed = new Installed(options);
  return {
    ...definePlugin({ name: "authorizationServer()", attach: (endpoint) => installed.attach(endpoint) }),
    visible: installed.visible,
    metadata: (request) => installed.metadata(request),
  };
}

/** An authorization server in the Worker of an endpoint. */
class Installed {
  readonly visible: AuthPlugin<unknown>["visible"];
  readonly #options: AuthorizationServerOptions;
  readonly #server: AuthServer;
  readonly #host: ProviderHost;
  /**
   * The plugin of each issuer, since a Worker may have several hosts. Others than its own do not reach it on
   * Cloudflare.
   */
  readonly #bearers = new Map<string, AuthPlugin<unknown> & Contribution>();
  #keys: KeysOf = envRing;
  #joined: Joined | undefined;
  /** The path of the endpoint; empty for "/". */
  #path = "/";

  constructor(options: AuthorizationServerOptions) {
    const { clients = [], scopes = {}, requiredScopes = [], redirectSchemes = [] } = options;
    const found = () => this.#found;
    const sealing = new Sealing((env, purpose, sealed) => this.#keys(env, purpose, sealed));
    const canRegister = options.registration === true;
    const pages = signInPages(options, options.pages);
    this.#options = options;
    this.#server = {
      policy: createPolicy(options, admission({ allow: options.allow, scopes })),
      sealing,
      proofs: dpop(options.dpop),
      scopes,
      requiredScopes,
      canRegister,
      clients: new Clients(clients, new ClientDocuments(redirectSchemes), sealing, canRegister),
      pages,
      schemes: redirectSchemes,
      get users() {
        return found().users;
      },
    };
    const countAttempt = attemptCounter(env, () => found().rates, pages);
    this.#host = {
      countAttempt: async (request, ...attempt) => {
        const beyond = await countAttempt(request, ...attempt);
        const refusal = { reason: "login-locked", status: 429, errorCode: undefined, principal: undefined } as const;
        if (beyond) found().endpoint.refused({ ...refusal, request, env, execution: ALIVE, startedAtMs: Date.now() });
        return beyond;
      },
      showExpired: () => pages.error("expired"),
    };
    this.visible = this.#bearerFor("https://mcp.invalid").visible;
  }

  attach(endpoint: EndpointServices): Contribution {
    const { place } = endpoint;
    const { policy, proofs } = this.#server;
    this.#keys = endpoint.keys ?? envRing;
    this.#joined = { endpoint, users: new RoleObjects("user", place), rates: new RoleObjects("rates", place) };
    for (const provider of policy.providers.values()) setHost(provider, this.#host);
    return {
      authenticate: async (request, env, execution) => {
        const issuer = this.#issuerOf(request.url);
        if (issuer === undefined) return insecure();
        return this.#bearerOf(issuer).authenticate?.(request, env, execution) ?? null;
      },
      authorize: (received) => {
        const issuer = this.#issuerOf(received.request.url);
        // A request without an issuer was not admitted.
        return issuer === undefined ? undefined : this.#bearerOf(issuer).authorize?.(received);
      },
      mount: (app) => this.#mount(app, endpoint.path),
      roles: [
        { name: "user", create: (ctx, env) => new UserObject(ctx, env, this.#server) },
        // rates() of the same endpoint has this role too, and needs places. The first one of a name is used.
        { name: "rates", create: (ctx) => new PlacesObject(ctx) },
        proofs.attach(endpoint),
      ],
      equip: (principal, env) => principal && addUpstream(this.#server, principal, env),
      findProblems: (env) => [
        ...findMissingObjects("authorizationServer()", place),
        ...(endpoint.keys ? [] : findKeyProblems(env)),
      ],
    };
  }

  metadata(request: Request): Response | undefined {
    const issuer = this.#issuerOf(request.url);
    return issuer === undefined ? undefined : this.#bearerOf(issuer).metadata(request);
  }

  get #found(): Joined {
    if (this.#joined) return this.#joined;
    throw new KitError("options-invalid", "authorizationServer() works only in the option use of edge().");
  }

  #issuerOf(url: string): string | undefined {
    const { issuer } = this.#options;
    return issuer === undefined ? safeOrigin(url) : givenIssuer(issuer, url);
  }

  #bearerOf(issuer: string): AuthPlugin<unknown> & Contribution {
    const known = this.#bearers.get(issuer);
    if (known) return known;
    const plugin = this.#bearerFor(issuer);
    const made = { ...plugin, ...plugin.attach(this.#found.endpoint) };
    if (this.#bearers.size >= BEARERS_MAX) this.#bearers.clear();
    this.#bearers.set(issuer, made);
    return made;
  }

  #bearerFor(issuer: string): AuthPlugin<unknown> {
    const { includes, needs, metadata, revocationMs = 60_000 } = this.#options;
    const { proofs, requiredScopes } = this.#server;
    // A proxy may have changed the host of the request, and clients know only the issuer.
    const resource = this.#options.resource ?? (this.#options.issuer === undefined ? undefined : issuer + this.#path);
    const given = Object.entries({ resource, includes, needs, metadata }).filter(([, value]) => value !== undefined);
    return bearer({
      ...(Object.fromEntries(given) as Pick<AuthorizationServerOptions, "resource">),
      issuer,
      ...(requiredScopes.length > 0 && { scopes: requiredScopes }),
      dpop: proofs,
      cacheMs: revocationMs,
      verify: verifier(this.#server, issuer),
    });
  }

  #mount<Own>(app: Hono<HonoEnv<Own>>, endpoint: string): void {
    if (this.#options.resource === undefined && /[:*]/.test(endpoint)) {
      const text = `authorizationServer(): the path ${endpoint} of edge() has variables; write the option resource.`;
      throw new KitError("options-invalid", text);
    }
    const path = endpoint === "/" ? "" : endpoint;
    this.#path = path;
    for (const each of new Set([WELL_KNOWN, WELL_KNOWN + path, path + WELL_KNOWN])) {
      app.all(each, ({ req }) => this.metadata(withSuffix(req.raw, path)) ?? insecure());
    }
    for (const [route, serve, kind] of createRoutes(this.#server.canRegister)) {
      app.all(route, (context) => this.#run(context.req.raw, context.env, findExecution(context), serve, kind));
    }
  }

  async #run(
    request: Request,
    env: unknown,
    execution: Execution | undefined,
    serve: Route,
    kind: keyof AuthorizationServerRates | undefined,
  ): Promise<Response> {
    const issuer = this.#issuerOf(request.url);
    if (issuer === undefined) return insecure();
    const server = this.#server;
    const resource = this.#options.resource ?? issuer + this.#path;
    const { origin, pathname, search } = new URL(request.url);
    const url = new URL(issuer + pathname + search);
    // Cookies, forms and callbacks belong to the origin that browsers see.
    const seen = origin === issuer ? request : new Request(url, request);
    const startedAtMs = Date.now();
    const refused = ({ userId, clientId, ...refusal }: ReportedRefusal) => {
      const client = clientId === undefined ? {} : { clientId };
      const principal = userId === undefined ? undefined : { issuer, subject: userId, ...client };
      const where = { request, env, execution: execution ?? ALIVE, startedAtMs };
      this.#found.endpoint.refused({ ...where, ...refusal, principal, clientId, errorCode: undefined });
    };
    try {
      const rates = this.#options.rates ?? {};
      const beyond = await countVisit(rates, kind, request, env, this.#found.rates, server.pages);
      if (beyond) refused({ reason: "too-many", status: beyond.status });
      return beyond ?? (await serve({ request: seen, env, url, server, issuer, resource, refused }));
    } catch (error) {
      const isPage = pathname.startsWith(PATHS.authorize);
      const answer = failure(error, `a request to ${pathname}`);
      return isPage ? server.pages.error(KitError.is(error) ? "broken" : "unavailable") : answer;
    }
  }
}

/** Keeps the Worker running where no request is at hand. */
const ALIVE: Execution = { waitUntil };

/** The maximum number of hosts of one Worker that an isolate remembers. @limit internal */
const BEARERS_MAX = 16;

/** Returns the origin of a URL if tokens can be sent there safely. */
function safeOrigin(url: string): string | undefined {
  const { protocol, hostname, origin } = splitUrl(url);
  return protocol === "https:" || isLoopback(hostname) ? origin : undefined;
}

/**
 * Returns the issuer that the author has named. Undefined if it is this machine, and the request is for another host: a
 * page of that host would then act as one of this machine (DNS rebinding).
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
function createRoutes(canRegister: boolean): (readonly [string, Route, (keyof AuthorizationServerRates)?])[] {
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

function createPolicy(options: AuthorizationServerOptions, rules: Admission): Policy {
  return {
    accessTokenMs: options.accessTokenMs ?? HOUR_MS,
    refreshTokenMs: options.refreshTokenMs ?? 30 * 24 * HOUR_MS,
    sessionMs: options.sessionMs ?? 8 * HOUR_MS,
    providers: new Map([options.identity].flat().map((provider) => [provider.id, provider])),
    offeredTo: async (user) => (await rules.decide(user))?.scopes.map(({ name }) => name),
    claimsOf: options.claims ?? toClaims,
  };
}

/**
 * The maximum number of characters of a user's name in `ctx.auth.claims`. Users choose their names at some providers.
 * @limit characters The name of a user in `ctx.auth.claims`. It is cut off.
 */
const NAME_MAX = 200;

/** What handlers get to know about a user by default. */
function toClaims({ issuer, subject, name, email, emailVerified }: SignedInUser) {
  const shown = name?.slice(0, NAME_MAX);
  return {
    ...(shown !== undefined && { name: shown }),
    ...(emailVerified && { email }),
    identity: { issuer, subject },
  };
}
