/**
 * The plugins of an endpoint: what the option `use` of `edge()` takes, and what a plugin may contribute.
 *
 * @module
 */
import type { MiddlewareHandler } from "hono";
import type { Hono } from "hono/tiny";
import type { AroundHook, EndpointHooks, RequestEndHook } from "../core/define/hook-types.ts";
import type { CallerFacts, Definition } from "../core/define/server-options.ts";
import type { Principal } from "../core/protocol/client-facts.ts";
import type { AuthHook, HttpOptions, ReceivedRequest, RefusedRequest } from "../http/endpoint-types.ts";
import type { Refusal } from "../http/refusal.ts";
import type { SessionGateway } from "../http/sessions.ts";
import type { ObjectRole } from "./object.ts";
import type { HonoEnv, Part } from "./parts.ts";
import type { Problem } from "./problems.ts";
import type { ObjectServices } from "./runtime.ts";

/** What {@link Plugin} consists of. */
export interface PluginDefinition<Env = unknown> {
  /** The function that creates the plugin, as errors name it, such as `bearer()`. */
  readonly name: string;
  /**
   * Joins an endpoint. Called once by `edge()` for each endpoint that uses the plugin.
   *
   * @param endpoint The endpoint.
   */
  attach(endpoint: EndpointServices): Contribution<Env>;
}

/**
 * A plugin of an endpoint, for the option `use` of `edge()`; created by `definePlugin()`. Which of its contributions runs
 * first is decided by their kind and not by the order of `use`; contributions of the same kind run in that order.
 */
export interface Plugin<Env = unknown> extends PluginDefinition<Env> {
  /** Tells plugins and parts apart. */
  readonly slot: "plugin";
  /** Joins the plugins of an endpoint. Called by `edge()`, so that an endpoint without plugins does not contain it. */
  join(plugins: readonly Plugin<never>[], endpoint: EndpointServices): JoinedPlugins;
}

/** What all plugins of an endpoint contribute, as `edge()` takes it. */
export interface JoinedPlugins extends Pick<HttpOptions, "auth" | "stages" | "equip"> {
  /** Whether no plugin says who may call. */
  readonly isOpen: boolean;
  readonly hooks: EndpointHooks | undefined;
  refused(refused: RefusedRequest): void;
  readonly roles: readonly ObjectRole<unknown>[];
  mount<Own>(app: Hono<HonoEnv<Own>>): void;
  /** @param hasObjects Whether a part of the endpoint has objects. */
  findProblems(env: unknown, hasObjects: boolean): Problem[];
}

/** The endpoint as a plugin sees it. */
export interface EndpointServices extends ObjectServices {
  /** The path of the endpoint within the app. */
  readonly path: string;
  /** Returns whether a plugin authenticates callers. Known once all plugins have joined the endpoint. */
  authenticates(): boolean;
  /** Reports a request that a route of a plugin has refused to all plugins that record refusals. */
  refused(refused: RefusedRequest): void;
  /** The sessions of the endpoint. Undefined if it has none. */
  readonly gateway: SessionGateway | undefined;
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
  /**
   * The roles that the plugin adds to the objects of the endpoint. Without a part that has objects, such as `durable()`, every
   * request is refused.
   */
  readonly roles?: readonly ObjectRole<unknown>[] | undefined;
}

/** A plugin that authenticates, such as `bearer()` of `mcp-edge/worker/auth`. */
export interface AuthPlugin<Env> extends Plugin<Env> {
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

type None = Record<never, never>;

/** The members that one plugin adds to the app. */
type AddedBy<P> = (P extends { readonly objects: { makeClass(...given: never): infer Class } } ? Class : unknown) &
  (P extends { readonly runner?: { makeClasses(...given: never): infer Classes } | undefined } ? Classes : unknown);

/** The members that plugins add to the app: the classes for the Worker to export. A list of unknown length adds none for sure. */
export type Added<P extends readonly unknown[]> = P extends readonly []
  ? None
  : P extends readonly [infer First, ...infer Rest]
    ? AddedBy<First> & Added<Rest>
    : P extends readonly [...infer Rest, infer Last]
      ? Added<Rest> & AddedBy<Last>
      : unknown;
