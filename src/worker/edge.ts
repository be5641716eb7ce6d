/**
 * The Worker: a Hono app that serves an MCP server at one path, for clients of modern and legacy protocol versions.
 *
 * @module
 */

import { Hono } from "hono/tiny";
import type { Registry } from "../core/define/registry.ts";
import { REGISTRY } from "../core/define/server.ts";
import type { RequestFacts } from "../core/define/server-options.ts";
import type { Principal } from "../core/protocol/client-facts.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import { failureLine } from "../core/protocol/error-reports.ts";
import { KitError } from "../core/protocol/errors.ts";
import { Endpoint } from "../http/endpoint.ts";
import type { RefusedRequest, RegistrySource, ServerSource } from "../http/endpoint-types.ts";
import { isLoopback, splitUrl } from "../http/origin.ts";
import type { Refused } from "../http/refusal.ts";
import { resolveHttpLimits } from "../http/response-times.ts";
import type { PlainRequest } from "../http/sessions.ts";
import type { AddedClasses } from "./added-classes.ts";
import { checkServer, type EdgeOptions, findOptionProblems, watchForTasks } from "./edge-options.ts";
import { findExecution } from "./execution.ts";
import type { ObjectRole } from "./object.ts";
import type { HonoEnv, MountedEndpoint } from "./parts.ts";
import type { JoinedPlugins, Use } from "./plugin.ts";
import { misconfigured, type Problem, warnOfMissingFlag } from "./problems.ts";
import { toRequestFacts } from "./services.ts";
import { readUse, type Used } from "./used.ts";

/**
 * The Hono app that {@link edge} returns, with the classes for the Worker to export. The app is the Worker's default
 * export, or is mounted in another app with `parent.route()`.
 */
export type EdgeApp<Env, Objects = unknown> = Hono<HonoEnv<Env>> & Objects;

/** The purpose of the keys that seal request states, which clients return in the next round. */
const STATE = "request state";

/**
 * Serves an MCP server as a Worker.
 *
 * @param source The server, or a server function, which receives the request, env and principal, and returns the server
 *   for the request.
 * @example
 * ```ts
 * const app = edge(server, { use: [durable()] }); // from "mcp-edge/worker/durable"
 * export default app;
 * export class McpObject extends app.McpObject {} // named in wrangler.toml: [exports.McpObject]
 * ```
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http
 */
export function edge<Env, const P extends readonly Use<Env>[]>(
  source: ServerSource<Env>,
  options: EdgeOptions<Env, P> = {},
): EdgeApp<Env, AddedClasses<Env, P>> {
  const used = readUse<Env>(options?.use);
  const { reference, sessions, notifications, once, keys, tasks, replay, plugins } = used;
  const objects = [sessions, notifications, once, keys, tasks, ...plugins].find((each) => each?.objects)?.objects;
  const mistakes = [...findOptionProblems(source, options), ...used.problems];
  let known: Problem[] | undefined;
  /** Whether to log a warning about missing authentication when a request for a host that is not loopback arrives. */
  let isOpen: boolean | undefined;
  /** Refuses all requests while the configuration has problems. Once it is correct, it is not checked again. */
  const guard: Guard = (env, request) => {
    isOpen ??= joined?.isOpen ?? true;
    if (isOpen && !isLoopback(splitUrl(request.url).hostname)) {
      isOpen = false;
      console.warn("mcp-edge: everyone may call. If that is intended, add anonymous() to the option use.");
    }
    if (known?.length === 0) return undefined;
    const isFirst = !known;
    if (isFirst) warnOfMissingFlag();
    known = [
      mistakes,
      objects?.findProblems(env, reference),
      tasks?.runner?.findProblems(env),
      keys ? [] : (sessions ?? replay)?.findProblems(env),
      joined?.findProblems(env),
    ].flatMap((found) => found ?? []);
    return known.length > 0 ? misconfigured(known, request, isFirst) : undefined;
  };
  const { app, roles, joined }: Assembled<Env> =
    mistakes.length > 0 ? refusing(options ?? {}, guard) : assemble(source, { ...options, ...used }, guard);
  // The type of the members is declared in added-classes.ts. Object.assign ignores undefined.
  const classes = [objects?.makeClass(roles, reference), tasks?.runner?.makeClasses(reference)];
  return Object.assign(app, ...classes) as EdgeApp<Env, AddedClasses<Env, P>>;
}

/** The options of an endpoint, and the entries of its option `use`. */
type Given<Env> = Omit<EdgeOptions<Env>, "use"> & Used<Env>;

/** Returns the refusal of requests if the configuration of the endpoint has problems. */
type Guard = (env: unknown, request: Request) => Refused | undefined;

interface Assembled<Env> {
  readonly app: Hono<HonoEnv<Env>>;
  readonly roles: readonly ObjectRole<Env>[];
  readonly joined?: JoinedPlugins | undefined;
}

/** Returns an app that refuses all requests, because the options of its endpoint are invalid. */
function refusing<Env>({ path = "/mcp" }: { readonly path?: string }, guard: Guard): Assembled<Env> {
  const app = new Hono<HonoEnv<Env>>().all(
    String(path),
    ({ env, req, notFound }) => guard(env, req.raw)?.toResponse() ?? notFound(),
  );
  return { app, roles: [] };
}

/** Creates the endpoint with its parts and plugins, and the app that serves it. */
function assemble<Env>(source: ServerSource<Env>, given: Given<Env>, guard: Guard): Assembled<Env> {
  const { path = "/mcp", allowedHosts, allowedOrigins, endpoint: name, jsonOnly } = given;
  const { registry, attached, gateway, watchTasks, roles, joined } = attachParts(source, given, path);
  const options = { allowedHosts, allowedOrigins, endpoint: name, jsonOnly, guard, onError: logError };
  const endpoint = new Endpoint(registry, { ...options, ...attached });
  const onRequest = () => typeof registry !== "function" && watchTasks?.(registry);
  return { app: createApp(given, { endpoint, path, gateway }, joined, onRequest), roles, joined };
}

/** Joins the plugins of an endpoint, and then attaches its parts, which receive the plugins' contributions. */
function attachParts<Env>(source: ServerSource<Env>, given: Given<Env>, path: string) {
  const { sessions, notifications, httpSse, once, keys, tasks, replay, reference, plugins } = given;
  const calls = once?.attach(reference);
  const sealing = keys?.attach(reference);
  const registry = toRegistrySource(source, (registry) => {
    hub?.watch(registry);
    watchTasks?.(registry);
  });
  const own = {
    path,
    reference,
    limits: resolveHttpLimits(given),
    onError: logError,
    isPerRequest: typeof registry === "function",
    hasSessions: sessions !== undefined,
    hasNotifications: notifications !== undefined,
    once: calls?.once,
    keys: sealing?.ring,
    replay,
    deliver: httpSse?.deliver,
    serverFor: async (request: PlainRequest | undefined, env: unknown, principal: Principal | undefined) => {
      joined?.http.equip?.(principal, env);
      const facts = () => (request ? toRequestFacts(request) : NO_REQUEST);
      const server = typeof registry === "function" ? await registry(facts(), env, principal) : registry;
      return server.forCaller({ env, principal }, logError);
    },
    authenticates: () => joined?.http.auth !== undefined,
    refused: (refused: RefusedRequest) => joined?.refused(refused),
  };
  const joined: JoinedPlugins | undefined = plugins[0]?.join(plugins, own);
  const services = { ...own, ...joined?.services };
  const hub = notifications?.attach(services);
  const background = tasks?.attach(services);
  const part = sessions?.attach({ ...services, extend: background?.extend });
  const watchTasks = tasks ? undefined : watchForTasks(logError);
  if (typeof registry !== "function") hub?.watch(registry);
  const attached = {
    ...joined?.http,
    endpointHooks: services.hooks,
    limits: services.limits,
    sessions: part?.routes,
    notifications: hub?.notifications,
    stateKeys: sealing && ((env: unknown, sealed?: string) => sealing.ring(env, STATE, sealed)),
    extend: background?.extend,
    replay: replay?.rounds,
    once: calls && ((env: unknown) => calls.once(env, undefined)),
  };
  return {
    registry,
    attached,
    gateway: part?.gateway,
    watchTasks,
    joined,
    roles: [part, hub, calls, sealing, background].flatMap((each) => each?.role ?? []).concat(joined?.roles ?? []),
  };
}

/** Returns the source of server registries. @param onServer Called with each server that a server function returns. */
function toRegistrySource<Env>(source: ServerSource<Env>, onServer: (registry: Registry) => void): RegistrySource {
  if (typeof source !== "function") return source[REGISTRY];
  return async (request, env, principal) => {
    const server = await source(request, env as Env, principal);
    checkServer(server, "edge(): the result of the server function");
    onServer(server[REGISTRY]);
    return server[REGISTRY];
  };
}

/** Creates the app with the routes of the endpoint, its parts and its plugins. */
function createApp<Env>(
  { middleware, httpSse, page }: Used<Env>,
  mounted: MountedEndpoint,
  joined: JoinedPlugins | undefined,
  onRequest: () => void,
): Hono<HonoEnv<Env>> {
  const { endpoint, path } = mounted;
  const app = new Hono<HonoEnv<Env>>();
  if (middleware.length > 0) app.use(...middleware);
  app.all(path, (context) => handle(context.req.raw, context.env, findExecution(context)));
  const [serveOlder, servePage] = [httpSse, page, joined].map((source) => source?.mount(app, mounted));
  const handle: Endpoint["handle"] = (request, env, execution) => {
    onRequest();
    const special = serveOlder?.(request, env, execution) ?? servePage?.(request, env, execution);
    return special ?? endpoint.handle(request, env, execution);
  };
  if (middleware.length === 0) skipRouter(app, path, handle);
  // parent.route() copies this list, and middleware for all paths would also run for the routes that the parent adds later.
  const { routes } = app;
  const own = routes.splice(middleware.length);
  app.routes = own.flatMap((route) => [...routes.map(({ handler }) => ({ ...route, handler })), route]);
  return app;
}

/**
 * Serves POST requests to the endpoint's path without Hono's router. The router would choose the same route, because it is
 * the app's first, but would take about 5 of the 60 microseconds of a call (decision 014).
 */
function skipRouter<Env>(app: Hono<HonoEnv<Env>>, path: string, handle: Endpoint["handle"]): void {
  const { fetch: route } = app;
  app.fetch = (request, env, context) => {
    const isOurs = request.method === "POST" && splitUrl(request.url).pathname === path;
    return isOurs ? handle(request, env ?? {}, context) : route(request, env, context);
  };
}

/** The request that a server function receives if there is no request, such as when a session expires. */
const NO_REQUEST: RequestFacts = { url: "about:blank", headers: { get: () => null } };

/**
 * Logs an error with the reference that the client received. The message of an exception of an authentication hook may
 * contain the token, so only its stack trace is logged.
 */
const logError: ErrorReporter = (error, where) => {
  const isSafe = where.method !== "(auth)" || KitError.is(error);
  console.error(failureLine(where), isSafe ? error : /\n +at [\s\S]*/.exec((error as Error)?.stack ?? "")?.[0]);
};
