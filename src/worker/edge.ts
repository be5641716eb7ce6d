/**
 * The Worker: a Hono app that serves an MCP server at one path, for both eras.
 *
 * @module
 */

import type { MiddlewareHandler } from "hono";
import { Hono } from "hono/tiny";
import { type McpServer, REGISTRY } from "../core/define/server.ts";
import type { RequestFacts } from "../core/define/server-options.ts";
import type { Principal } from "../core/protocol/client-facts.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import { failureLine } from "../core/protocol/error-reports.ts";
import type { Execution } from "../core/protocol/execution.ts";
import type { Limits } from "../core/protocol/limits.ts";
import type { AuthHook, ServerSource } from "../http/endpoint-types.ts";
import { Endpoint } from "../http/handler.ts";
import { type OriginRules, splitUrl } from "../http/origin.ts";
import { type ResponseTimes, resolveHttpLimits } from "../http/response-times.ts";
import type { ObjectPlace } from "./bindings.ts";
import { checkServer, findOptionProblems, watchForTasks } from "./edge-options.ts";
import { executionOf } from "./execution.ts";
import type { ObjectRole } from "./object.ts";
import {
  type EdgeRuntime,
  type HonoEnv,
  type KeysPart,
  type NoticesPart,
  type OncePart,
  type PagePart,
  type ReplayPart,
  type RoutesPart,
  type SessionsPart,
  type TasksPart,
  toRequestFacts,
} from "./parts.ts";
import { CONFIGURED_WRONGLY, findFlagProblems, misconfigured } from "./problems.ts";

/** Options of {@link edge}. The parts, such as `sessions`, come from entries of their own. */
export interface EdgeOptions<Env, Objects extends object = object, Classes extends object = object>
  extends OriginRules,
    ResponseTimes {
  /** Path of the endpoint within the app. @default "/mcp" */
  readonly path?: string;
  /**
   * Name of the endpoint. Session ids, request states, tasks and list cursors of one endpoint are refused at every
   * other one, and idempotency keys count for one endpoint only. Set it where paths do not distinguish endpoints (two
   * that are chosen by host), where one endpoint has several paths, or to keep all of this valid when the path changes.
   *
   * @default the path of the request's URL
   */
  readonly endpoint?: string;
  /** Sessions for legacy clients. Without them each legacy request stands alone. */
  readonly sessions?: SessionsPart<Env, Objects>;
  /** Notices of changes to clients of every isolate. Without them the server declares no notices. */
  readonly notices?: NoticesPart<Env, Objects>;
  /** Runs repeated calls once. Without it a call of a tool declared `once` fails. */
  readonly once?: OncePart<Env, Objects>;
  /**
   * Runs tools that declare `task` in the background, for clients that support tasks. Without it they run on the
   * request.
   */
  readonly tasks?: TasksPart<Env, Objects, Classes>;
  /** Provides the sealing keys. @default the secret MCP_KEYS */
  readonly keys?: KeysPart<Env, Objects>;
  /** Lets handlers ask modern clients in the middle of a call, and lets calls continue after their object was lost. */
  readonly replay?: ReplayPart;
  /** Serves clients of the HTTP+SSE transport (2024-11-05) at the same path. Needs sessions. */
  readonly httpSse?: RoutesPart<Env>;
  /** Answers browsers with a page about the server. Without it they get 405, or 400 if there are sessions. */
  readonly page?: PagePart;
  /** Decides who a request acts for. @default everyone is anonymous */
  readonly auth?: AuthHook<Env>;
  /** Limits in place of the defaults. @default DEFAULT_LIMITS */
  readonly limits?: Partial<Limits>;
  /**
   * Whether every POST is answered by one JSON object. Progress and logs of calls are dropped then, and handlers cannot
   * ask legacy clients.
   *
   * @default false
   */
  readonly jsonOnly?: boolean;
  /**
   * Middleware of Hono that every request to this app passes first, in this order. `app.use()` after `edge()` does not
   * reach the endpoint, because its route comes first. With middleware, requests take Hono's router, which costs a little
   * more.
   *
   * @default none
   */
  readonly middleware?: readonly MiddlewareHandler<HonoEnv<Env>>[];
  /**
   * Name under which the Worker exports the class `app.McpObject`. Each endpoint of a Worker has a class of its own, so a
   * second endpoint needs another name, such as "AdminObject". What an endpoint issues is bound to this name: session ids
   * and tasks are unknown after it changes.
   *
   * @default "McpObject"
   */
  readonly className?: string;
  /**
   * Name of a Durable Object binding to use instead of the exported class, if the Worker has it.
   *
   * @default "MCP"; none when `className` is given
   */
  readonly binding?: string;
  /**
   * The jurisdiction in which objects are created, for data that must stay there. Objects created elsewhere before are
   * no longer found.
   */
  readonly jurisdiction?: DurableObjectJurisdiction;
  /** The region near which objects should be created. @default near the client whose request makes the object */
  readonly locationHint?: DurableObjectLocationHint;
}

/**
 * The Hono app that {@link edge} returns, with the Durable Object class to export. It is the Worker's default export,
 * or it is mounted with `parent.route()`.
 */
export type EdgeApp<Env, Objects extends object> = Hono<HonoEnv<Env>> & Objects;

type None = Record<never, never>;

/** The purpose of the keys that seal request states, which clients send back in the next round. */
const STATE = "request state";

/**
 * Serves an MCP server as a Worker.
 *
 * @param source The server, or a function of request, env and principal that gives each request its own.
 * @example
 * ```ts
 * const app = edge(server, durable()); // from "mcp-edge/worker/durable"
 * export default app;
 * export class McpObject extends app.McpObject {} // named in a migration of wrangler.toml
 * ```
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http
 */
export function edge<Env, Objects extends object = None, Classes extends object = None>(
  source: ServerSource<Env>,
  options: EdgeOptions<Env, Objects, Classes> = {},
): EdgeApp<Env, Objects & Classes> {
  const given = options ?? {};
  const place = placeOf(given);
  const { sessions, notices, once, keys, tasks } = given;
  const objects = [sessions, notices, once, keys, tasks].find((each) => each?.objects)?.objects;
  const mistakes = findOptionProblems(source, options);
  let isReady = false;
  let isReported = false;
  /** Answers every request while the configuration has problems. It is not checked again once it has none. */
  const guard = (env: unknown) => {
    if (isReady) return undefined;
    const problems = [
      ...mistakes,
      ...(objects?.findProblems(env, place) ?? []),
      ...(tasks?.findProblems?.(env) ?? []),
      ...findFlagProblems(objects !== undefined),
    ];
    isReady = problems.length === 0;
    if (isReady) return undefined;
    if (!isReported) console.error(`mcp-edge: ${CONFIGURED_WRONGLY}\n${problems.join("\n")}`);
    isReported = true;
    return misconfigured(problems);
  };
  const { app, roles } = mistakes.length > 0 ? refusing<Env>(given, guard) : assemble(source, given, place, guard);
  // Object.assign ignores undefined.
  return Object.assign(app, objects?.makeClass(roles, place) as Objects, tasks?.makeClasses?.(place) as Classes);
}

interface Assembled<Env> {
  readonly app: Hono<HonoEnv<Env>>;
  readonly roles: readonly ObjectRole<Env>[];
}

/** Returns an app that refuses every request, because the options of its endpoint are wrong. */
function refusing<Env>({ path = "/mcp" }: EdgeOptions<Env>, guard: (env: unknown) => Response | undefined) {
  const app = new Hono<HonoEnv<Env>>();
  app.all(path, (context) => guard(context.env) ?? context.notFound());
  return { app, roles: [] } satisfies Assembled<Env>;
}

function assemble<Env>(
  source: ServerSource<Env>,
  options: EdgeOptions<Env>,
  place: ObjectPlace,
  guard: (env: unknown) => Response | undefined,
): Assembled<Env> {
  const { path = "/mcp", sessions, notices, httpSse, page, once, keys, tasks, replay } = options;
  // By name: a rest object would lack inherited members, such as an `auth` method of a class instance.
  const { auth, allowedHosts, allowedOrigins, endpoint: endpointName, jsonOnly, middleware = [] } = options;
  const calls = once?.attach(place);
  const sealing = keys?.attach(place);
  const runtime: EdgeRuntime<Env> = {
    place,
    limits: resolveHttpLimits(options),
    onError: logError,
    isPerRequest: typeof source === "function",
    hasNotices: notices !== undefined,
    once: calls?.once,
    keys: sealing?.ring,
    replay,
    deliver: httpSse?.deliver,
    serverFor: async (request, env, principal) => {
      const server =
        typeof source === "function" ? await found(request && toRequestFacts(request), env as Env, principal) : source;
      return server[REGISTRY].forCaller({ env, principal }, logError);
    },
  };
  const hub = notices?.attach(runtime);
  const part = sessions?.attach(runtime);
  const background = tasks?.attach(runtime);
  runtime.extend = background?.extend;
  let watch = tasks ? undefined : watchForTasks(logError);
  const found = async (request: RequestFacts | undefined, env: Env, principal: Principal | undefined) => {
    const server = await (source as Exclude<typeof source, McpServer<Env>>)(request ?? NO_REQUEST, env, principal);
    checkServer(server, "edge(): the result of the server function");
    hub?.watch(server[REGISTRY]);
    watch?.(server[REGISTRY]);
    return server;
  };
  if (typeof source !== "function") hub?.watch(source[REGISTRY]);
  const endpoint = new Endpoint(typeof source === "function" ? found : source, {
    auth,
    allowedHosts,
    allowedOrigins,
    endpoint: endpointName,
    jsonOnly,
    guard,
    limits: runtime.limits,
    onError: logError,
    sessions: part?.routes,
    notices: hub?.notices,
    stateKeys: sealing && ((env, sealed) => sealing.ring(env, STATE, sealed)),
    extend: runtime.extend,
    replay: replay?.rounds,
    once: calls && ((env) => calls.once(env, undefined)),
  });
  const app = new Hono<HonoEnv<Env>>();
  if (middleware.length > 0) app.use(...middleware);
  // Hono's Bindings are the Env of the server. They only differ in type if Env is unknown.
  app.all(path, (context) => handle(context.req.raw, context.env as Env, executionOf(context)));
  const serveOlder = httpSse?.mount(app, endpoint, part?.gateway);
  const servePage = page?.mount(app, endpoint, path);
  const handle = (request: Request, env: Env, execution: Execution | undefined) => {
    if (watch && typeof source !== "function") {
      watch(source[REGISTRY]);
      watch = undefined;
    }
    const special = serveOlder?.(request, env, execution) ?? servePage?.(request, env, execution);
    return special ?? endpoint.handle(request, env, execution);
  };
  if (middleware.length === 0) skipRouter(app, path, handle);
  const attached = [part, hub, calls, sealing, background].filter((each) => each !== undefined);
  return { app, roles: attached.map(({ role }) => role) };
}

/**
 * Serves a POST of the endpoint's path without Hono's router. The endpoint is the first route of the app, so the router
 * would choose it too, at about 5 of the 60 microseconds of a call (decision 013).
 */
function skipRouter<Env>(
  app: Hono<HonoEnv<Env>>,
  path: string,
  handle: (request: Request, env: Env, execution: Execution | undefined) => Response | Promise<Response>,
): void {
  const { fetch: route } = app;
  app.fetch = (request, env, context) => {
    const isOurs = request.method === "POST" && splitUrl(request.url).pathname === path;
    return isOurs ? handle(request, (env ?? {}) as Env, context) : route(request, env, context);
  };
}

const CLASS_NAME = "McpObject";

function placeOf<Env>({ className = CLASS_NAME, binding, ...rest }: EdgeOptions<Env>): ObjectPlace {
  const { jurisdiction, locationHint } = rest;
  return { className, binding: binding ?? (className === CLASS_NAME ? "MCP" : undefined), jurisdiction, locationHint };
}

/** The request that a server factory gets when there is none, such as when a session expires. */
const NO_REQUEST: RequestFacts = { url: "about:blank", headers: { get: () => null } };

/** Writes an error to the Worker's log, with the reference that the client received. */
const logError: ErrorReporter = (error, where) => {
  console.error(failureLine(where), error);
};
