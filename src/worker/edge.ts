/**
 * The Worker: a Hono app that serves an MCP server at one path, for both eras.
 *
 * @module
 */

import { Hono } from "hono/tiny";
import type { Registry } from "../core/define/registry.ts";
import { type McpServer, REGISTRY } from "../core/define/server.ts";
import type { RequestFacts } from "../core/define/server-options.ts";
import type { Principal } from "../core/protocol/client-facts.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import { failureLine } from "../core/protocol/error-reports.ts";
import type { Execution } from "../core/protocol/execution.ts";
import { type Limits, resolveLimits } from "../core/protocol/limits.ts";
import type { Once } from "../core/run/call.ts";
import type { RunRounds } from "../core/run/run-handler.ts";
import type { KeyRing } from "../core/seal/key-ring.ts";
import type { AuthHook, HttpNotices, HttpOptions, ServerSource, SessionRoutes } from "../http/endpoint-types.ts";
import { Endpoint } from "../http/handler.ts";
import { type OriginRules, partsOf } from "../http/origin.ts";
import type { PlainRequest, SessionGate } from "../http/sessions.ts";
import { checkDate } from "./bindings.ts";
import { checkEdge, checkServer, watchForTasks } from "./edge-options.ts";
import { executionOf } from "./execution.ts";
import type { Deliver } from "./http-sse/delivery.ts";
import type { LastingCalls, LastingHost } from "./replay/lasting-calls.ts";

/** What an attached part (sessions, hub, tasks) is given: how to find the server, and how it is served. */
export interface EdgeRuntime<Env> {
  /** The limits of the endpoint. */
  readonly limits: Limits;
  /** Receives exceptions when the server has no `onError`. */
  readonly onError: ErrorReporter;
  /** Whether the server depends on the request. */
  readonly isPerRequest: boolean;
  /** Whether notices reach the clients of this endpoint. */
  readonly hasNotices: boolean;
  /** Serves messages of HTTP+SSE clients; undefined: there are none. */
  readonly deliver: Deliver | undefined;
  /** How calls outlive what runs them; undefined: they do not. */
  readonly replay: ReplayPart | undefined;
  /** Keys of a purpose; undefined: they come from the secret `MCP_KEYS`. */
  readonly keys: KeysOf | undefined;
  /** Adds the methods of tasks to a client's. */
  extend?: HttpOptions<Env>["extend"];
  /** Runs calls once. @param place The session they belong to; undefined: none. */
  readonly once: ((env: Env, place: string | undefined) => Once) | undefined;
  /** The server a request sees, away from where it arrived. Without a request there is only what is the same for all. */
  serverFor(
    request: PlainRequest | undefined,
    env: unknown,
    principal: Principal | undefined,
  ): Registry | Promise<Registry>;
}

/**
 * A way to keep sessions, as a value from an entry of its own: what is not imported is not bundled.
 * `durable()` of `mcp-edge/worker/sessions` is one.
 */
export interface SessionsPart<Env, Objects extends object> {
  attach(runtime: EdgeRuntime<Env>): {
    readonly routes: SessionRoutes<Env>;
    readonly gate: SessionGate<Env>;
    readonly objects: Objects;
  };
}

/** A further transport for clients with sessions. `httpSse()` of `mcp-edge/worker/http-sse` is one. */
export interface RoutesPart<Env> {
  /** Serves a message in the object of its session. */
  readonly deliver: Deliver;
  /**
   * Adds paths of its own, if there are any.
   *
   * @param gate Undefined: there are no sessions.
   * @returns Serves those requests to the endpoint's path that belong to this transport; undefined for any other.
   * @throws {KitError} `options-invalid` without sessions.
   */
  mount(app: Hono<Bindings<Env>>, endpoint: Endpoint<Env>, gate: SessionGate<Env> | undefined): ServeSome<Env>;
}

/** A page for people at the endpoint's URL. `page()` of `mcp-edge/worker/page` is one. */
export interface PagePart {
  /**
   * Adds what it shows elsewhere in the app.
   *
   * @param path Path of the endpoint within the app.
   * @returns Serves the requests to the endpoint's path that ask for the page; undefined for any other.
   */
  mount<Env>(app: Hono<Bindings<Env>>, endpoint: Endpoint<Env>, path: string): ServeSome<Env>;
}

type ServeSome<Env> = (
  request: Request,
  env: Env,
  execution: Execution | undefined,
) => Response | Promise<Response> | undefined;

/** A way to join the notices of all isolates. `hub()` of `mcp-edge/worker/hub` is one. */
export interface NoticesPart<Env, Objects extends object> {
  attach(runtime: EdgeRuntime<Env>): {
    readonly notices: HttpNotices<Env>;
    /** Passes on what a server publishes. Called for each server, again for one it knows. */
    watch(server: Registry): void;
    readonly objects: Objects;
  };
}

/** The ring of a purpose, with the key of something sealed if it can be had. */
export type KeysOf = (env: unknown, purpose: string, sealed?: string) => Promise<KeyRing>;

/** A way to have sealing keys. `keys()` of `mcp-edge/worker/keys` is one. */
export interface KeysPart<Objects extends object> {
  attach(): { readonly ring: KeysOf; readonly objects: Objects };
}

/** Calls that outlive what runs them. `replay()` of `mcp-edge/worker/replay` makes it. */
export interface ReplayPart {
  /** Runs handlers that ask in the middle. */
  readonly rounds: RunRounds;
  calls(host: LastingHost): LastingCalls;
}

/** A way to remember calls that run once. `once()` of `mcp-edge/worker/once` is one. */
export interface OncePart<Env, Objects extends object> {
  attach(): { readonly once: NonNullable<EdgeRuntime<Env>["once"]>; readonly objects: Objects };
}

/** A way to run calls as tasks. `tasks()` of `mcp-edge/worker/tasks` is one. */
export interface TasksPart<Env, Objects extends object> {
  attach(runtime: EdgeRuntime<Env>): {
    readonly extend: NonNullable<HttpOptions<Env>["extend"]>;
    readonly objects: Objects;
  };
}

/** Options of {@link edge}. The parts, such as `sessions`, come from entries of their own. */
export interface EdgeOptions<
  Env,
  Sessions extends object,
  Notices extends object,
  Calls extends object,
  Keys extends object,
  Tasks extends object,
> extends OriginRules {
  /** Path of the endpoint within the app. @default "/mcp" */
  readonly path?: string;
  /**
   * Name of the endpoint. What one endpoint issues (session ids, request states, tasks, list cursors) is refused at any
   * other, and keys of calls that run once count for one endpoint only. Set it where paths do not tell endpoints apart
   * (two that are chosen by host), where one endpoint is to be the same at several paths, or to keep all this valid when
   * the path changes.
   *
   * @default the path of the request's URL
   */
  readonly endpoint?: string;
  /** Sessions for legacy clients. Without them each legacy request stands alone. */
  readonly sessions?: SessionsPart<Env, Sessions>;
  /** Notices of changes to clients of every isolate. Without them none is promised. */
  readonly notices?: NoticesPart<Env, Notices>;
  /** Runs calls once that are to. Without it a tool declared `once` fails. */
  readonly once?: OncePart<Env, Calls>;
  /** Runs tools that say so as tasks, for clients that take tasks. Without it they run on the request. */
  readonly tasks?: TasksPart<Env, Tasks>;
  /** Where sealing keys come from. @default the secret MCP_KEYS */
  readonly keys?: KeysPart<Keys>;
  /** Lets handlers ask in the middle for modern clients too, and wait through losses. */
  readonly replay?: ReplayPart;
  /** Serves clients of the HTTP+SSE transport (2024-11-05) at the same path. Needs sessions. */
  readonly httpSse?: RoutesPart<Env>;
  /** Shows browsers what is here. Without it they get 405, or 400 where there are sessions. */
  readonly page?: PagePart;
  /** Decides who a request acts for. @default everyone is anonymous */
  readonly auth?: AuthHook<Env>;
  /** Limits in place of the defaults. @default DEFAULT_LIMITS */
  readonly limits?: Partial<Limits>;
  /** Every POST is answered by one JSON object; see the README for what that drops. @default false */
  readonly jsonOnly?: boolean;
}

/** The Env of a Hono app. */
export type Bindings<Env> = { Bindings: Env extends object ? Env : object };

/**
 * What {@link edge} makes: a Hono app (the Worker's default export, or mounted with `parent.route()`), carrying the
 * Durable Object classes to export.
 */
export type EdgeApp<Env, Objects extends object> = Hono<Bindings<Env>> & Objects;

type None = Record<never, never>;

/** The purpose of keys for what clients carry from round to round. */
const STATE = "request state";

/**
 * Serves an MCP server as a Worker.
 *
 * @param source The server, or a function of request, env and principal that gives each request its own.
 * @example
 * ```ts
 * const app = edge(server, { sessions: durable(), notices: hub(), keys: keys() });
 * export default app;
 * export const { McpSession, McpHub, McpKeys } = app; // bound in wrangler.toml
 * ```
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http
 */
export function edge<
  Env,
  Sessions extends object = None,
  Notices extends object = None,
  Calls extends object = None,
  Keys extends object = None,
  Tasks extends object = None,
>(
  source: ServerSource<Env>,
  options: EdgeOptions<Env, Sessions, Notices, Calls, Keys, Tasks> = {},
): EdgeApp<Env, Sessions & Notices & Calls & Keys & Tasks> {
  checkEdge(source, options);
  const { path = "/mcp", sessions, notices, httpSse, page, once, keys, tasks, replay, limits } = options;
  // Each by its name: a rest of the options would lack what an instance of a class inherits, such as its hook `auth`.
  const { auth, allowedHosts, allowedOrigins, endpoint: endpointName, jsonOnly } = options;
  if (sessions || notices || once || keys || tasks) checkDate();
  const calls = once?.attach();
  const sealing = keys?.attach();
  const runtime: EdgeRuntime<Env> = {
    limits: resolveLimits(limits, "edge(): limits."),
    onError: logError,
    isPerRequest: typeof source === "function",
    hasNotices: notices !== undefined,
    once: calls?.once,
    keys: sealing?.ring,
    replay,
    deliver: httpSse?.deliver,
    serverFor: async (request, env, principal) => {
      const server =
        typeof source === "function" ? await found(request && factsOf(request), env as Env, principal) : source;
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
    checkServer(server, "edge(): what the server function returned");
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
    limits: runtime.limits,
    onError: logError,
    sessions: part?.routes,
    notices: hub?.notices,
    stateKeys: sealing && ((env, sealed) => sealing.ring(env, STATE, sealed)),
    extend: runtime.extend,
    replay: replay?.rounds,
    once: calls && ((env) => calls.once(env, undefined)),
  });
  const app = new Hono<Bindings<Env>>();
  // Hono's Bindings are the Env of the server: the type only widens where Env is unknown.
  app.all(path, (context) => handle(context.req.raw, context.env as Env, executionOf(context)));
  const serveOlder = httpSse?.mount(app, endpoint, part?.gate);
  const servePage = page?.mount(app, endpoint, path);
  const handle = (request: Request, env: Env, execution: Execution | undefined) => {
    if (watch && typeof source !== "function") {
      watch(source[REGISTRY]);
      watch = undefined;
    }
    const special = serveOlder?.(request, env, execution) ?? servePage?.(request, env, execution);
    return special ?? endpoint.handle(request, env, execution);
  };
  // The first route of an app is the first to answer: what the router would do, without what it costs.
  const { fetch: route } = app;
  app.fetch = (request, env, context) => {
    const isOurs = request.method === "POST" && partsOf(request.url).pathname === path;
    return isOurs ? handle(request, (env ?? {}) as Env, context) : route(request, env, context);
  };
  // Object.assign passes over what is not there.
  return Object.assign(app, part?.objects, hub?.objects, calls?.objects, sealing?.objects, background?.objects);
}

/** A request as author's functions see it, away from where it arrived. */
export function factsOf({ url, headers }: PlainRequest): RequestFacts {
  return { url, headers: new Headers(headers as [string, string][]) };
}

/** What a function of the request is given where there is none: when a session ends by itself. */
const NO_REQUEST: RequestFacts = { url: "about:blank", headers: { get: () => null } };

/** Into the Worker's log, with the reference the client got. */
const logError: ErrorReporter = (error, where) => {
  console.error(failureLine(where), error);
};
