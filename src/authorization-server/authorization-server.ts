/**
 * The authorization server of an endpoint, which also admits requests with the tokens that it has issued.
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
import { dpop } from "../worker/access/dpop/index.ts";
import type { RatesRpc } from "../worker/access/rates/rates-object.ts";
import { SlotsObject } from "../worker/access/rates/slots-object.ts";
import { RoleObjects } from "../worker/bindings.ts";
import { createPlugin } from "../worker/contributions.ts";
import { findExecution } from "../worker/execution.ts";
import { findKeyProblems } from "../worker/key-problems.ts";
import { OBJECTS, type WithMcpObject } from "../worker/object.ts";
import type { HonoEnv } from "../worker/parts.ts";
import type { AuthPlugin, EndpointServices, KitContribution } from "../worker/plugin.ts";
import type { KeysOf } from "../worker/services.ts";
import { type Admission, admission } from "./admission.ts";
import { ClientDocuments } from "./clients/client-document.ts";
import { Clients } from "./clients/clients.ts";
import { registerRoute } from "./clients/registration.ts";
import type { SignedInUser } from "./identity/provider.ts";
import { type AuthorizationServerOptions, checkServerOptions } from "./options.ts";
import { signInPages } from "./pages/index.ts";
import type { Policy } from "./policy.ts";
import {
  type AuthorizationServerRates,
  type CountRequest,
  createAttemptCounter,
  createRequestCounter,
  type ProviderHost,
  setHost,
} from "./rates.ts";
import { allowedRoute } from "./routes/allowed-route.ts";
import { authorizeRoute } from "./routes/authorize-route.ts";
import { jsonResponse } from "./routes/json-responses.ts";
import { metadataRoute } from "./routes/metadata.ts";
import { callbackRoute } from "./routes/sign-in.ts";
import { revokeRoute, toFailureResponse, tokenRoute } from "./routes/token-route.ts";
import { Sealing } from "./sealing.ts";
import { type AuthServer, PATHS, type ReportedRefusal, type Route } from "./server.ts";
import { addUpstream } from "./users/handler-tokens.ts";
import { UserObject, type UserRpc } from "./users/user-object.ts";
import { verifier } from "./verify.ts";

/** What the authorization server receives from its endpoint. */
interface Attached {
  readonly endpoint: EndpointServices;
  readonly users: RoleObjects<UserRpc>;
  readonly rates: RoleObjects<RatesRpc>;
}

/**
 * Creates a plugin of `edge()` that makes the Worker an authorization server for its own endpoint: users sign in with an
 * identity provider, clients receive tokens, and requests with these tokens are admitted. It serves `/authorize`,
 * `/token`, `/revoke`, the metadata, and pages where users give and revoke their consent. Handlers receive the user as
 * `ctx.auth`, as with `bearer()`.
 *
 * Parallel refreshes of the same token receive the same response, so one process of a client does not sign out another. A
 * sign-in writes a few rows in the object of its user, a refresh writes one, and a call does not write any. The plugin
 * needs the exported class `McpObject`.
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
export function authorizationServer(options: AuthorizationServerOptions): AuthPlugin<unknown, WithMcpObject<unknown>> {
  checkServerOptions(options);
  const plugin = new ServerPlugin(options);
  return {
    ...createPlugin({
      name: "authorizationServer()",
      objects: OBJECTS,
      attach: (endpoint) => plugin.attach(endpoint),
    }),
    visible: plugin.visible,
    metadata: (request) => plugin.metadata(request),
  };
}

/** A request to one of the routes. */
interface Received {
  readonly request: Request;
  readonly env: unknown;
  readonly execution: Execution;
}

/** An authorization server in the Worker of an endpoint. */
class ServerPlugin {
  readonly visible: AuthPlugin<unknown>["visible"];
  readonly #options: AuthorizationServerOptions;
  readonly #server: AuthServer;
  readonly #host: ProviderHost;
  readonly #countRequest: CountRequest;
  /**
   * The `bearer()` plugin of each issuer. There can be several, because a Worker can have several hosts. On Cloudflare, requests
   * for any other host do not reach the Worker.
   */
  readonly #bearers = new Map<string, AuthPlugin<unknown> & KitContribution>();
  /** A plugin for what does not depend on the issuer. */
  readonly #anyBearer: AuthPlugin<unknown>;
  #keys: KeysOf = envRing;
  #attachment: Attached | undefined;
  /** The path of the endpoint; empty for "/". */
  #path = "/";

  constructor(options: AuthorizationServerOptions) {
    const { clients = [], scopes = {}, requiredScopes = [], redirectSchemes = [] } = options;
    const attached = () => this.#attached;
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
      enterprise: options.enterprise,
      get users() {
        return attached().users;
      },
    };
    options.enterprise?.check(this.#server);
    this.#countRequest = createRequestCounter(options.rates ?? {}, () => attached().rates, pages);
    const countAttempt = createAttemptCounter(env, () => attached().rates, pages);
    this.#host = {
      countAttempt: async (request, ...attempt) => {
        const beyond = await countAttempt(request, ...attempt);
        const refusal = { reason: "login-locked", status: 429, errorCode: undefined, principal: undefined } as const;
        if (beyond)
          attached().endpoint.refused({ ...refusal, request, env, execution: ALIVE, startedAtMs: Date.now() });
        return beyond;
      },
      showExpired: () => pages.error("expired"),
    };
    this.#anyBearer = this.#createBearer("https://mcp.invalid");
    this.visible = this.#anyBearer.visible;
  }

  attach(endpoint: EndpointServices): KitContribution {
    const { reference } = endpoint;
    const { policy, proofs } = this.#server;
    this.#keys = endpoint.keys ?? envRing;
    this.#attachment = {
      endpoint,
      users: new RoleObjects("user", reference),
      rates: new RoleObjects("rates", reference),
    };
    for (const provider of policy.providers.values()) setHost(provider, this.#host);
    return {
      authenticate: async (request, env, execution) => {
        const issuer = this.#findIssuer(request.url);
        if (issuer === undefined) return insecure();
        return this.#getBearer(issuer).authenticate?.(request, env, execution) ?? null;
      },
      authorize: (received) => {
        const issuer = this.#findIssuer(received.request.url);
        // A request without an issuer was refused by `authenticate`.
        return issuer === undefined ? undefined : this.#getBearer(issuer).authorize?.(received);
      },
      scopesOf: (this.#anyBearer.attach(endpoint) as KitContribution).scopesOf,
      mount: (app) => this.#mount(app, endpoint.path),
      roles: [
        {
          name: "user",
          create: (ctx, env) =>
            this.#server.enterprise?.createUser(ctx, env, this.#server) ?? new UserObject(ctx, env, this.#server),
        },
        // rates() of the same endpoint adds the same role, and only the first of them is used, so this one must also count slots.
        { name: "rates", create: (ctx) => new SlotsObject(ctx) },
        proofs.attach(endpoint),
      ],
      equip: (principal, env) => principal && addUpstream(this.#server, principal, env),
      findProblems: (env) => (endpoint.keys ? [] : findKeyProblems(env)),
    };
  }

  metadata(request: Request): Response | undefined {
    const issuer = this.#findIssuer(request.url);
    return issuer === undefined ? undefined : this.#getBearer(issuer).metadata(request);
  }

  get #attached(): Attached {
    if (this.#attachment) return this.#attachment;
    throw new KitError("options-invalid", "authorizationServer(): add the plugin to the option use of edge().");
  }

  #findIssuer(url: string): string | undefined {
    const { issuer } = this.#options;
    return issuer === undefined ? safeOrigin(url) : givenIssuer(issuer, url);
  }

  #getBearer(issuer: string): AuthPlugin<unknown> & KitContribution {
    const known = this.#bearers.get(issuer);
    if (known) return known;
    const plugin = this.#createBearer(issuer);
    const made = { ...plugin, ...plugin.attach(this.#attached.endpoint) };
    if (this.#bearers.size >= BEARERS_MAX) this.#bearers.clear();
    this.#bearers.set(issuer, made);
    return made;
  }

  #createBearer(issuer: string): AuthPlugin<unknown> {
    const { includes, needs, metadata, revocationMs = 60_000 } = this.#options;
    const { proofs, requiredScopes } = this.#server;
    // If a proxy has changed the host of the request, clients know only the host of the issuer.
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
      const text = `authorizationServer(): the path ${endpoint} of edge() has variables; set the option resource.`;
      throw new KitError("options-invalid", text);
    }
    const path = endpoint === "/" ? "" : endpoint;
    this.#path = path;
    for (const each of new Set([WELL_KNOWN, WELL_KNOWN + path, path + WELL_KNOWN])) {
      app.all(each, ({ req }) => this.metadata(withSuffix(req.raw, path)) ?? insecure());
    }
    for (const [route, serve, kind] of createRoutes(this.#server.canRegister)) {
      app.all(route, (context) => {
        const execution = findExecution(context) ?? ALIVE;
        return this.#run({ request: context.req.raw, env: context.env, execution }, serve, kind);
      });
    }
  }

  async #run(received: Received, serve: Route, kind?: keyof AuthorizationServerRates): Promise<Response> {
    const { request, env } = received;
    const issuer = this.#findIssuer(request.url);
    if (issuer === undefined) return insecure();
    const server = this.#server;
    const resource = this.#options.resource ?? issuer + this.#path;
    const { origin, pathname, search } = new URL(request.url);
    const url = new URL(issuer + pathname + search);
    // Cookies, forms and callbacks are bound to the origin that browsers use, which is the issuer.
    const seen = origin === issuer ? request : new Request(url, request);
    const startedAtMs = Date.now();
    const refused = ({ userId, clientId, ...refusal }: ReportedRefusal) => {
      const client = clientId === undefined ? {} : { clientId };
      const principal = userId === undefined ? undefined : { issuer, subject: userId, ...client };
      const facts = { ...received, startedAtMs, principal, clientId, errorCode: undefined };
      this.#attached.endpoint.refused({ ...facts, ...refusal });
    };
    try {
      const beyond = await this.#countRequest(kind, request, env);
      if (beyond) refused({ reason: "too-many", status: beyond.status });
      return beyond ?? (await serve({ request: seen, env, url, server, issuer, resource, refused }));
    } catch (error) {
      const isPage = pathname.startsWith(PATHS.authorize);
      const response = toFailureResponse(error, `a request to ${pathname}`);
      return isPage ? server.pages.error(KitError.is(error) ? "broken" : "unavailable") : response;
    }
  }
}

/** Keeps the Worker running where the execution context of a request is not available. */
const ALIVE: Execution = { waitUntil };

/** The maximum number of `bearer()` plugins that an isolate stores. @limit internal */
const BEARERS_MAX = 16;

/** Returns the origin of a URL, or undefined if tokens cannot be sent there safely. */
function safeOrigin(url: string): string | undefined {
  const { protocol, hostname, origin } = splitUrl(url);
  return protocol === "https:" || isLoopback(hostname) ? origin : undefined;
}

/**
 * Returns the issuer that the author has configured. Returns undefined if it is a loopback address and the request names
 * another host: a web page of that host could otherwise act as a page of this machine (DNS rebinding).
 */
function givenIssuer(issuer: string, url: string): string | undefined {
  const isLocal = isLoopback(splitUrl(issuer).hostname);
  return isLocal && !isLoopback(splitUrl(url).hostname) ? undefined : issuer;
}

function insecure(): Response {
  const description =
    "Use https. If a proxy in front of the server ends TLS, set the option issuer of authorizationServer().";
  return jsonResponse({ error: "invalid_request", error_description: description }, 400);
}

/** Returns a request for the metadata of the endpoint, even if the URL lacks the path of the endpoint. */
function withSuffix(request: Request, path: string): Request {
  const url = new URL(request.url);
  return url.pathname === WELL_KNOWN ? new Request(new URL(WELL_KNOWN + path, url), request) : request;
}

/** Returns the paths, their routes, and the rates for which their requests count. */
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
    findOfferedScopes: async (user) => (await rules.decide(user))?.scopes.map(({ name }) => name),
    createClaims: options.claims ?? toClaims,
  };
}

/**
 * The maximum number of characters of a user's name in `ctx.auth.claims`. At some providers, users choose their names.
 * @limit characters The name of a user in `ctx.auth.claims`. A longer name is truncated.
 */
const NAME_MAX = 200;

/** The default of the option `claims`. */
function toClaims({ issuer, subject, tenant, audienceTenant, name, email, emailVerified }: SignedInUser) {
  // Members that are undefined are left out of the token.
  const identity = { issuer, subject, tenant, audienceTenant };
  return { name: name?.slice(0, NAME_MAX), email: emailVerified ? email : undefined, identity };
}
