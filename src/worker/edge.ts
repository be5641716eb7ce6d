/**
 * The Worker: a Hono app that serves an MCP server at one path, for both eras.
 *
 * @module
 */

import { Hono } from "hono/tiny";
import type { Registry } from "../core/define/registry.ts";
import { REGISTRY } from "../core/define/server.ts";
import type { RequestFacts } from "../core/define/server-options.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import { failureLine } from "../core/protocol/error-reports.ts";
import { KitError } from "../core/protocol/errors.ts";
import { Endpoint } from "../http/endpoint.ts";
import type { RefusedRequest, RegistrySource, ServerSource } from "../http/endpoint-types.ts";
import { isLoopback, splitUrl } from "../http/origin.ts";
import type { Refused } from "../http/refusal.ts";
import { resolveHttpLimits } from "../http/response-times.ts";
import type { SessionGateway } from "../http/sessions.ts";
import { checkServer, type EdgeOptions, findOptionProblems, watchForTasks } from "./edge-options.ts";
import { findExecution } from "./execution.ts";
import type { ObjectRole } from "./object.ts";
import type { HonoEnv } from "./parts.ts";
import type { Added, EndpointServices, JoinedPlugins, Use } from "./plugin.ts";
import { findFlagProblems, misconfigured, type Problem } from "./problems.ts";
import { type ObjectServices, toRequestFacts } from "./runtime.ts";
import { readUse, type Used } from "./used.ts";

/**
 * The Hono app that {@link edge} returns, with the Durable Object class to export. It is the Worker's default export,
 * or it is mounted with `parent.route()`.
 */
export type EdgeApp<Env, Objects = unknown> = Hono<HonoEnv<Env>> & Objects;

/** The purpose of the keys that seal request states, which clients send back in the next round. */
const STATE = "request state";

/**
 * Serves an MCP server as a Worker.
 *
 * @param source The server, or a server function: it gets request, env and principal, and returns the server for this
 *   request.
 * @example
 * ```ts
 * const app = edge(server, { use: [durable()] }); // from "mcp-edge/worker/durable"
 * export default app;
 * export class McpObject extends app.McpObject {} // named in wrangler.toml: [exports.McpObject]
 * ```
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http
 */
export function edge<Env, const P extends readonly Use<Env>[] = readonly []>(
  source: ServerSource<Env>,
  options: EdgeOptions<Env, P> = {},
): EdgeApp<Env, Added<P>> {
  const used = readUse<Env>(options?.use);
  const { place, sessions, notifications, once, keys, tasks, replay } = used;
  const objects = [sessions, notifications, once, keys, tasks].find((each) => each?.objects)?.objects;
  const mistakes = [...findOptionProblems(source, options), ...used.problems];
  let joined: JoinedPlugins | undefined;
  let known: Problem[] | undefined;
  /** Whether the log says that everyone may call, once the server is reached by a host that is not this machine. */
  let isOpen: boolean | undefined;
  /** Answers every request while the configuration has problems. It is not checked again once it has none. */
  const guard: Guard = (env, request) => {
    isOpen ??= joined?.isOpen ?? true;
    if (isOpen && !isLoopback(splitUrl(request.url).hostname)) {
      isOpen = false;
      console.warn("mcp-edge: everyone may call. If that is intended, add anonymous() to the option use.");
    }
    if (known?.length === 0) return undefined;
    const isFirst = !known;
    known = [
      ...mistakes,
      ...(objects?.findProblems(env, place) ?? []),
      ...(tasks?.runner?.findProblems(env) ?? []),
      ...(keys ? [] : ((sessions ?? replay)?.findProblems(env) ?? [])),
      ...(joined?.findProblems(env, objects !== undefined) ?? []),
      ...findFlagProblems(objects !== undefined, isFirst),
    ];
    return known.length > 0 ? misconfigured(known, request, isFirst) : undefined;
  };
  const { app, roles } =
    mistakes.length > 0
      ? refusing<Env>(options ?? {}, guard)
      : assemble(source, { ...options, ...used }, guard, (plugins) => {
          joined = plugins;
        });
  // Object.assign ignores undefined.
  return Object.assign(app, objects?.makeClass(roles, place), tasks?.runner?.makeClasses(place)) as EdgeApp<
    Env,
    Added<P>
  >;
}

/** The options of an endpoint, and what its option `use` lists. */
type Given<Env> = Omit<EdgeOptions<Env>, "use"> & Used<Env>;

/** Returns the refusal of a request if the configuration of the endpoint has problems. */
type Guard = (env: unknown, request: Request) => Refused | undefined;

interface Assembled<Env> {
  readonly app: Hono<HonoEnv<Env>>;
  readonly roles: readonly ObjectRole<Env>[];
}

/** Returns an app that refuses every request, because the options of its endpoint are wrong. */
function refusing<Env>({ path = "/mcp" }: { readonly path?: string }, guard: Guard) {
  const app = new Hono<HonoEnv<Env>>().all(
    String(path),
    ({ env, req, notFound }) => guard(env, req.raw)?.toResponse() ?? notFound(),
  );
  return { app, roles: [] } satisfies Assembled<Env>;
}

/** Creates the endpoint with its parts and plugins, and the app that serves it. */
function assemble<Env>(
  source: ServerSource<Env>,
  given: Given<Env>,
  guard: Guard,
  onJoined: (joined: JoinedPlugins | undefined) => void,
): Assembled<Env> {
  const { registry, attached, gateway, watchTasks, roles, joined } = attachParts(source, given);
  onJoined(joined);
  const { allowedHosts, allowedOrigins, endpoint: name, jsonOnly } = given;
  const options = { allowedHosts, allowedOrigins, endpoint: name, jsonOnly, guard, onError: logError };
  const endpoint = new Endpoint(registry, { ...options, ...attached });
  const onRequest = () => typeof registry !== "function" && watchTasks?.(registry);
  return { app: createApp(given, endpoint, gateway, joined, onRequest), roles };
}

/** Attaches the parts and plugins of an endpoint. They see it as their runtime. */
function attachParts<Env>(source: ServerSource<Env>, given: Given<Env>) {
  const { sessions, notifications, httpSse, once, keys, tasks, replay, place, plugins } = given;
  const calls = once?.attach(place);
  const sealing = keys?.attach(place);
  const registry = toRegistrySource(source, (registry) => {
    hub?.watch(registry);
    watchTasks?.(registry);
  });
  const runtime: ObjectServices = {
    place,
    limits: resolveHttpLimits(given),
    onError: logError,
    isPerRequest: typeof registry === "function",
    hasNotifications: notifications !== undefined,
    once: calls?.once,
    keys: sealing?.ring,
    replay,
    deliver: httpSse?.deliver,
    serverFor: async (request, env, principal) => {
      joined?.equip?.(principal, env);
      const facts = () => (request ? toRequestFacts(request) : NO_REQUEST);
      const server = typeof registry === "function" ? await registry(facts(), env, principal) : registry;
      return server.forCaller({ env, principal }, logError);
    },
  };
  const hub = notifications?.attach(runtime);
  const part = sessions?.attach(runtime);
  const background = tasks?.attach(runtime);
  runtime.extend = background?.extend;
  const watchTasks = tasks ? undefined : watchForTasks(logError);
  if (typeof registry !== "function") hub?.watch(registry);
  const services: EndpointServices = Object.assign(runtime, {
    path: given.path ?? "/mcp",
    gateway: part?.gateway,
    authenticates: () => joined?.auth !== undefined,
    refused: (refused: RefusedRequest) => joined?.refused(refused),
  });
  const joined: JoinedPlugins | undefined = plugins[0]?.join(plugins, services);
  runtime.hooks = joined?.hooks;
  const attached = {
    auth: joined?.auth,
    stages: joined?.stages,
    equip: joined?.equip,
    endpointHooks: joined?.hooks,
    limits: runtime.limits,
    sessions: part?.routes,
    notifications: hub?.notifications,
    stateKeys: sealing && ((env: unknown, sealed?: string) => sealing.ring(env, STATE, sealed)),
    extend: runtime.extend,
    replay: replay?.rounds,
    once: calls && ((env: unknown) => calls.once(env, undefined)),
  };
  const roles = [part, hub, calls, sealing, background].flatMap((each) => each?.role ?? []);
  return {
    registry,
    attached,
    gateway: part?.gateway,
    watchTasks,
    joined,
    roles: [...roles, ...(joined?.roles ?? [])],
  };
}

/** Returns the source of compiled servers. @param onServer Called with each server that a server function returns. */
function toRegistrySource<Env>(source: ServerSource<Env>, onServer: (registry: Registry) => void): RegistrySource {
  if (typeof source !== "function") return source[REGISTRY];
  return async (request, env, principal) => {
    const server = await source(request, env as Env, principal);
    checkServer(server, "edge(): the result of the server function");
    onServer(server[REGISTRY]);
    return server[REGISTRY];
  };
}

/** Creates the app, with the routes of the endpoint and of its parts. */
function createApp<Env>(
  { path = "/mcp", middleware, httpSse, page }: Given<Env>,
  endpoint: Endpoint,
  gateway: SessionGateway | undefined,
  joined: JoinedPlugins | undefined,
  onRequest: () => void,
): Hono<HonoEnv<Env>> {
  const app = new Hono<HonoEnv<Env>>();
  if (middleware.length > 0) app.use(...middleware);
  app.all(path, (context) => handle(context.req.raw, context.env, findExecution(context)));
  const serveOlder = httpSse?.mount(app, endpoint, gateway);
  const servePage = page?.mount(app, endpoint, path);
  joined?.mount(app);
  const handle: Endpoint["handle"] = (request, env, execution) => {
    onRequest();
    const special = serveOlder?.(request, env, execution) ?? servePage?.(request, env, execution);
    return special ?? endpoint.handle(request, env, execution);
  };
  if (middleware.length === 0) skipRouter(app, path, handle);
  return app;
}

/**
 * Serves a POST of the endpoint's path without Hono's router. The endpoint is the first route of the app, so the router
 * would choose it too, at about 5 of the 60 microseconds of a call (decision 014).
 */
function skipRouter<Env>(app: Hono<HonoEnv<Env>>, path: string, handle: Endpoint["handle"]): void {
  const { fetch: route } = app;
  app.fetch = (request, env, context) => {
    const isOurs = request.method === "POST" && splitUrl(request.url).pathname === path;
    return isOurs ? handle(request, env ?? {}, context) : route(request, env, context);
  };
}

/** The request that a server factory gets when there is none, such as when a session expires. */
const NO_REQUEST: RequestFacts = { url: "about:blank", headers: { get: () => null } };

/**
 * Writes an error to the Worker's log, with the reference that the client received. The message of an exception of an authentication hook may
 * contain the token, so only the place where it was thrown is logged.
 */
const logError: ErrorReporter = (error, where) => {
  const isSafe = where.method !== "(auth)" || KitError.is(error);
  console.error(failureLine(where), isSafe ? error : /\n +at [\s\S]*/.exec((error as Error)?.stack ?? "")?.[0]);
};
