/**
 * The interfaces of plugins: what the option `use` of `edge()` accepts, and what a plugin can contribute.
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
import type { AddedServices, KeysOf, ReplayPart } from "./services.ts";
import type { Deliver } from "./sessions/http-sse-session.ts";

/** The definition of a {@link Plugin}. */
export interface PluginDefinition<Env = unknown> {
  /** The name of the plugin in errors: the function that creates it, such as `bearer()`. */
  readonly name: string;
  /**
   * Attaches the plugin to an endpoint. Called once by `edge()` for each endpoint that uses the plugin.
   *
   * @param endpoint The endpoint.
   */
  attach(endpoint: PluginEndpoint): Contribution<Env>;
}

/**
 * A plugin for the option `use` of `edge()`; created by `definePlugin()`. The kind of a contribution decides when it runs,
 * not the order of `use`; contributions of the same kind run in the order of `use`.
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
   * Combines the plugins of an endpoint. Called by `edge()` through a plugin, so that an endpoint without plugins does not
   * contain this code.
   *
   * @internal
   */
  join(plugins: readonly Plugin<never>[], endpoint: EndpointServices): JoinedPlugins;
}

/** The endpoint that a plugin is attached to. */
export interface PluginEndpoint {
  /** The path of the endpoint within the app. */
  readonly path: string;
  /** The limits of the endpoint, and the times of its responses. */
  readonly limits: HttpLimits;
  /** Returns whether a plugin authenticates callers. Call it only after all plugins have been attached to the endpoint. */
  authenticates(): boolean;
  /** Passes a request that was refused by a route of this plugin to the `onRefused` hooks of all plugins. */
  refused(refused: RefusedRequest): void;
}

/** The contributions of a plugin to an endpoint. */
export interface Contribution<Env = unknown> {
  /** Returns the principal of a request, or refuses the request. At most one plugin of an endpoint can have this hook. */
  readonly authenticate?: AuthHook<Env> | undefined;
  /**
   * Decides whether the caller may send these messages. It runs after all messages of a request have been read, and before
   * any of them is served. If it returns a refusal, the request gets it as its response, and later plugins are not called.
   * It also runs for requests without messages, such as GET. If it throws, the request is refused with 500.
   */
  readonly authorize?:
    | ((received: ReceivedRequest<Env>) => Refusal | undefined | Promise<Refusal | undefined>)
    | undefined;
  /** Called with each refused request, before its response is sent. Responses of Hono middleware are not refusals. */
  readonly onRefused?: ((refused: RefusedRequest<Env>) => void) | undefined;
  /** Wraps each call, outside the hooks of the server. */
  readonly around?: AroundHook<Env> | undefined;
  /** Called when a call has ended, before the hook of the server. */
  readonly onRequestEnd?: RequestEndHook<Env> | undefined;
  /** Adds routes to the app, such as the routes of the resource metadata. */
  mount?<Own>(app: Hono<HonoEnv<Own>>): void;
  /**
   * Finds problems in the configuration of the Worker, such as a missing binding. While there are problems, every request
   * is refused.
   */
  findProblems?(env: Env): Problem[];
  /**
   * Adds members to a principal that cannot be stored or sent to an object, such as functions. Called wherever handlers
   * receive the principal: in the Worker, in sessions and in tasks. The members are not enumerable, so copies of the
   * principal do not contain them.
   */
  equip?(principal: Principal | undefined, env: Env): void;
}

/** The endpoint as the plugins of the kit receive it. */
export interface EndpointServices extends PluginEndpoint {
  /** The location of the endpoint's objects. */
  readonly reference: ObjectReference;
  /** Receives exceptions when the server has no `onError`. */
  readonly onError: ErrorReporter;
  /** Returns the keys for a purpose. Undefined if they come from the secret `MCP_KEYS`. */
  readonly keys: KeysOf | undefined;
  /** Lets handlers ask in the middle of a call. Undefined without `replay()`. */
  readonly replay: ReplayPart | undefined;
  /** Whether the endpoint has `sessions()`. */
  readonly hasSessions: boolean;
  /** Undefined without `httpSse()`. */
  readonly deliver: Deliver | undefined;
}

/** The contributions of a plugin of the kit, in addition to those of every plugin. */
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

/** The combined contributions of all plugins of an endpoint, in the form that `edge()` uses. */
export interface JoinedPlugins extends RouteSource {
  /** Whether no plugin authenticates callers or declares that everyone may call. */
  readonly isOpen: boolean;
  /** Options of the HTTP endpoint. */
  readonly http: Pick<HttpOptions, "auth" | "stages" | "equip">;
  readonly services: AddedServices;
  refused(refused: RefusedRequest): void;
  readonly roles: readonly ObjectRole<unknown>[];
  findProblems(env: unknown): Problem[];
}

/** A plugin that authenticates callers, such as `bearer()` of `mcp-edge/worker/auth`. */
export interface AuthPlugin<Env, Classes = unknown> extends Plugin<Env, Classes> {
  /**
   * Whether a caller has the scopes that a definition needs. Pass it as the option `visible` of the server: it hides from
   * lists, and from calls, what the caller must not use. A caller without a principal, as on stdio, has no scopes.
   */
  visible<Own>(definition: Definition<Own>, caller: Pick<CallerFacts<Own>, "principal">): boolean;
  /**
   * Returns the response to a request for the resource metadata, or undefined for any other request. It is needed only in a
   * Worker that serves the endpoint under a path of another app: for `/.well-known/oauth-protected-resource` and all paths
   * under it.
   */
  metadata(request: Request): Response | undefined;
}

/**
 * The values that the option `use` accepts: a plugin, a part of the kit such as `durable()`, or Hono middleware that every request passes
 * first.
 */
export type Use<Env> = Plugin<Env> | Part<Env> | MiddlewareHandler<HonoEnv<Env>>;
