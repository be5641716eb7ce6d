/**
 * The plugins of an endpoint: what the option `use` of `edge()` takes, and what a plugin may contribute.
 *
 * @module
 */
import type { MiddlewareHandler } from "hono";
import type { Hono } from "hono/tiny";
import type { AroundHook, RequestEndHook } from "../core/define/hook-types.ts";
import type { CallerFacts, Definition } from "../core/define/server-options.ts";
import type { Principal } from "../core/protocol/client-facts.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import type { AuthHook, HttpOptions, ReceivedRequest, RefusedRequest } from "../http/endpoint-types.ts";
import type { Refusal } from "../http/refusal.ts";
import type { HttpLimits } from "../http/response-times.ts";
import type { AddsClasses } from "./added-classes.ts";
import type { ObjectReference } from "./bindings.ts";
import type { OBJECTS, ObjectRole } from "./object.ts";
import type { HonoEnv, Part, RouteSource } from "./parts.ts";
import type { Problem } from "./problems.ts";
import type { AddedServices, KeysOf } from "./services.ts";
import type { Deliver } from "./sessions/http-sse-session.ts";

/** What {@link Plugin} consists of. */
export interface PluginDefinition<Env = unknown> {
  /** The function that creates the plugin, as errors name it, such as `bearer()`. */
  readonly name: string;
  /**
   * Joins an endpoint. Called once by `edge()` for each endpoint that uses the plugin.
   *
   * @param endpoint The endpoint.
   */
  attach(endpoint: PluginEndpoint): Contribution<Env>;
}

/**
 * A plugin of an endpoint, for the option `use` of `edge()`; created by `definePlugin()`. Which of its contributions runs
 * first is decided by their kind and not by the order of `use`; contributions of the same kind run in that order.
 */
export interface Plugin<Env = unknown, Classes = unknown> extends PluginDefinition<Env>, AddsClasses<Classes> {
  /** Distinguishes plugins from parts. */
  readonly slot: "plugin";
  /**
   * Creates the class of the objects that the plugin needs. Undefined if it needs none.
   *
   * @internal
   */
  readonly objects?: typeof OBJECTS | undefined;
  /**
   * Joins the plugins of an endpoint. Called by `edge()`, so that an endpoint without plugins does not contain this code.
   *
   * @internal
   */
  join(plugins: readonly Plugin<never>[], endpoint: EndpointServices): JoinedPlugins;
}

/** The endpoint that a plugin joins. */
export interface PluginEndpoint {
  /** The path of the endpoint within the app. */
  readonly path: string;
  /** The limits of the endpoint, and the times of its responses. */
  readonly limits: HttpLimits;
  /** Returns whether a plugin authenticates callers. Call it only after all plugins have joined the endpoint. */
  authenticates(): boolean;
  /** Reports a request that a route of this plugin has refused to the `onRefused` of all plugins. */
  refused(refused: RefusedRequest): void;
}

/** What a plugin adds to an endpoint. */
export interface Contribution<Env = unknown> {
  /** Returns the principal that a request acts for, or refuses it. At most one plugin of an endpoint has it. */
  readonly authenticate?: AuthHook<Env> | undefined;
  /**
   * Decides whether the caller may send these messages. It runs once all messages of a request have been read, and before
   * any of them is served. A returned refusal is the answer, and later plugins are not asked. It also runs for requests
   * without messages, such as GET. An exception refuses the request with 500.
   */
  readonly authorize?:
    | ((received: ReceivedRequest<Env>) => Refusal | undefined | Promise<Refusal | undefined>)
    | undefined;
  /** Called with each refused request, before it is answered. Answers of Hono middleware are not refusals. */
  readonly onRefused?: ((refused: RefusedRequest<Env>) => void) | undefined;
  /** Wraps each call, outside of the hooks of the server. */
  readonly around?: AroundHook<Env> | undefined;
  /** Called when a call has ended, before the hook of the server. */
  readonly onRequestEnd?: RequestEndHook<Env> | undefined;
  /** Adds routes to the app, such as those of metadata. */
  mount?<Own>(app: Hono<HonoEnv<Own>>): void;
  /** Finds problems in the configuration of the Worker, such as a missing binding. Every request is refused while there are any. */
  findProblems?(env: Env): Problem[];
  /**
   * Adds members to a principal that cannot be stored or sent to an object, such as functions. Called wherever handlers get
   * the principal: in the Worker, in sessions and in tasks. The members are not enumerable, so no copy has them.
   */
  equip?(principal: Principal | undefined, env: Env): void;
}

/** The endpoint as the plugins of the kit receive it. */
export interface EndpointServices extends PluginEndpoint {
  /** Where the objects of the endpoint are. */
  readonly reference: ObjectReference;
  /** Receives exceptions when the server has no `onError`. */
  readonly onError: ErrorReporter;
  /** The keys of a purpose; undefined if they come from the secret `MCP_KEYS`. */
  readonly keys: KeysOf | undefined;
  /** Whether the endpoint has `sessions()`. */
  readonly hasSessions: boolean;
  /** Undefined without `httpSse()`. */
  readonly deliver: Deliver | undefined;
}

/** What the plugins of the kit add to an endpoint, in addition to what every plugin may add. */
export interface KitContribution<Env = unknown> extends Contribution<Env>, Omit<AddedServices, "hooks"> {
  /** The roles that the plugin adds to the objects of the endpoint. */
  readonly roles?: readonly ObjectRole<unknown>[] | undefined;
}

/** A plugin of the kit. */
export interface KitPluginDefinition<Env> {
  readonly name: string;
  readonly objects?: typeof OBJECTS | undefined;
  attach(endpoint: EndpointServices): KitContribution<Env>;
}

/** What all plugins of an endpoint contribute, in the form that `edge()` uses. */
export interface JoinedPlugins extends RouteSource {
  /** Whether no plugin authenticates callers, and none says that everyone may call. */
  readonly isOpen: boolean;
  /** Options of the HTTP endpoint. */
  readonly http: Pick<HttpOptions, "auth" | "stages" | "equip">;
  readonly services: AddedServices;
  refused(refused: RefusedRequest): void;
  readonly roles: readonly ObjectRole<unknown>[];
  findProblems(env: unknown): Problem[];
}

/** A plugin that authenticates, such as `bearer()` of `mcp-edge/worker/auth`. */
export interface AuthPlugin<Env, Classes = unknown> extends Plugin<Env, Classes> {
  /**
   * Whether a caller has the scopes that a definition needs, for the option `visible` of the server: it hides from lists,
   * and from calls, what the caller may not use. A caller without a principal, as on stdio, has no scopes.
   */
  visible<Own>(definition: Definition<Own>, caller: Pick<CallerFacts<Own>, "principal">): boolean;
  /**
   * Answers a request for the metadata of the resource. Undefined for other requests. Only a Worker that serves the
   * endpoint below a path of another app calls it: for `/.well-known/oauth-protected-resource` and all paths below.
   */
  metadata(request: Request): Response | undefined;
}

/** What the option `use` takes: a plugin, a part of the kit such as `durable()`, or Hono middleware that every request passes first. */
export type Use<Env> = Plugin<Env> | Part<Env> | MiddlewareHandler<HonoEnv<Env>>;
