/**
 * The interfaces between `edge()` and the parts of an endpoint (sessions, hub, keys, once, tasks, replay, HTTP+SSE).
 *
 * @module
 */
import type { Hono } from "hono/tiny";
import type { Registry } from "../core/define/registry.ts";
import type { CallerFacts, Definition } from "../core/define/server-options.ts";
import type { Principal } from "../core/protocol/client-facts.ts";
import type { Execution } from "../core/protocol/execution.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { AuthHook, HttpNotices, HttpOptions, SessionRoutes } from "../http/endpoint-types.ts";
import type { SessionGateway } from "../http/sessions.ts";
import type { ObjectPlace } from "./bindings.ts";
import type { ObjectRole, RoleObject } from "./object.ts";
import type { Problem } from "./problems.ts";
import type { EdgeRuntime, KeysOf, SealingPart } from "./runtime.ts";
import type { Deliver } from "./sessions/http-sse-session.ts";
import type { TaskObject } from "./tasks/task-object.ts";

/** The Env of a Hono app. */
export type HonoEnv<Env> = { Bindings: Env extends object ? Env : object };

/** Sessions for legacy clients. Created by `sessions()` of `mcp-edge/worker/sessions`; bundled only if imported. */
export interface SessionsPart<Env, Objects extends object> extends ObjectPart<Env, Objects>, SealingPart {
  /** Joins an endpoint. Called once by `edge()`. */
  attach(runtime: EdgeRuntime): WithRole<Env> & {
    readonly routes: SessionRoutes;
    readonly gateway: SessionGateway;
  };
}

/** The role that a part gives to `edge()` when it is attached. */
export interface WithRole<Env> {
  readonly role: ObjectRole<Env>;
}

/** A part that needs objects. */
export interface ObjectPart<Env, Objects extends object> {
  /** The class of the objects, which is the same for all parts. */
  readonly objects: {
    /** Creates the class for all roles of the endpoint. */
    makeClass(roles: readonly ObjectRole<Env>[], place: ObjectPlace): Objects;
    /** Finds problems in the configuration of the Worker, such as a missing class. */
    findProblems(env: unknown, place: ObjectPlace): Problem[];
  };
}

/** A further transport for clients with sessions. `httpSse()` of `mcp-edge/worker/http-sse` is one. */
export interface RoutesPart<Env> {
  /** Serves a message in the object of its session. */
  readonly deliver: Deliver;
  /**
   * Adds paths of its own, if there are any.
   *
   * @param gateway Undefined if there are no sessions.
   * @returns A function that serves the requests of this transport to the endpoint's path. It returns undefined for
   *   others.
   * @throws {KitError} `options-invalid` without sessions.
   */
  mount(app: Hono<HonoEnv<Env>>, endpoint: Endpoint, gateway: SessionGateway | undefined): TryServe;
}

/** A page for browsers at the endpoint's URL. Created by `page()` of `mcp-edge/worker/page`. */
export interface PagePart {
  /**
   * Adds the page to the app.
   *
   * @param path Path of the endpoint within the app.
   * @returns A function that serves requests for the page to the endpoint's path. It returns undefined for others.
   */
  mount<Env>(app: Hono<HonoEnv<Env>>, endpoint: Endpoint, path: string): TryServe;
}

/** A hook with routes of its own. Created by `bearer()` of `mcp-edge/worker/auth`; bundled only if imported. */
export interface AuthPart<Env> {
  /** Returns the principal that a request acts for, or the response that refuses it. */
  (...given: Parameters<AuthHook<Env>>): ReturnType<AuthHook<Env>>;
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
  /**
   * Adds the paths of the metadata to the app. Called by `edge()`.
   *
   * @param path Path of the endpoint within the app.
   */
  mount<Own>(app: Hono<HonoEnv<Own>>, path: string): void;
  /** The roles of the objects that the hook needs. Undefined if it needs none. */
  readonly roles?: AuthRoles | undefined;
}

/** The roles of the objects that an `auth` hook needs. */
export interface AuthRoles extends SealingPart {
  /**
   * Joins an endpoint. Called by `edge()`.
   *
   * @param runtime The endpoint.
   * @param gateway The sessions of the endpoint. Undefined if it has none.
   */
  attach(
    runtime: EdgeRuntime,
    gateway?: SessionGateway,
  ): { readonly role: ObjectRole<unknown> | readonly ObjectRole<unknown>[] };
  /**
   * Adds members to a principal that cannot be stored or sent to an object, such as functions. Called wherever handlers get
   * the principal: in the Worker, in sessions and in tasks. The members are not enumerable, so no copy has them.
   */
  equip?(principal: Principal | undefined, env: unknown): void;
}

export type TryServe = (
  request: Request,
  env: unknown,
  execution: Execution | undefined,
) => Response | Promise<Response> | undefined;

/** Delivers notices of all isolates. Created by `hub()` of `mcp-edge/worker/hub`. */
export interface NoticesPart<Env, Objects extends object> extends ObjectPart<Env, Objects> {
  /** Joins an endpoint. Called once by `edge()`. */
  attach(runtime: EdgeRuntime): WithRole<Env> & {
    readonly notices: HttpNotices;
    /** Forwards the notices that a server publishes. May be called more than once for the same server. */
    watch(server: Registry): void;
  };
}

/** Provides sealing keys. Created by `keys()` of `mcp-edge/worker/keys`. */
export interface KeysPart<Env, Objects extends object> extends ObjectPart<Env, Objects> {
  attach(place: ObjectPlace): WithRole<Env> & { readonly ring: KeysOf };
}

/** Stores the outcomes of calls that run once. Created by `once()` of `mcp-edge/worker/once`. */
export interface OncePart<Env, Objects extends object> extends ObjectPart<Env, Objects> {
  attach(place: ObjectPlace): WithRole<Env> & { readonly once: NonNullable<EdgeRuntime["once"]> };
}

/** Runs calls as tasks. Created by `tasks()` of `mcp-edge/worker/tasks`. */
export interface TasksPart<Env, Objects extends object, Classes extends object = Record<never, never>>
  extends ObjectPart<Env, Objects> {
  /** @param drive Creates an object that runs the task in place of its alarm. */
  attach(
    runtime: EdgeRuntime,
    drive?: DriveTask,
  ): WithRole<Env> & {
    readonly extend: NonNullable<HttpOptions["extend"]>;
  };
  /** Creates further classes for the Worker to export. */
  makeClasses?(place: ObjectPlace): Classes;
  /** Finds problems in the configuration of these classes. */
  findProblems?(env: unknown): Problem[];
}

/** Creates the role object of a task. */
export type DriveTask = (task: TaskObject, ctx: DurableObjectState, env: unknown) => RoleObject;
