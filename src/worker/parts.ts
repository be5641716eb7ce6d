/**
 * The interfaces between `edge()` and the parts of an endpoint (sessions, hub, keys, once, tasks, replay, HTTP+SSE, page).
 *
 * @module
 */
import type { Hono } from "hono/tiny";
import type { Registry } from "../core/define/registry.ts";
import type { Execution } from "../core/protocol/execution.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { HttpNotifications, HttpOptions, SessionRoutes } from "../http/endpoint-types.ts";
import type { SessionGateway } from "../http/sessions.ts";
import type { AddsClasses } from "./added-classes.ts";
import type { ObjectReference, ObjectsOptions } from "./bindings.ts";
import type { OBJECTS, ObjectRole, RoleObject, WithMcpObject } from "./object.ts";
import type { Problem } from "./problems.ts";
import type { KeysOf, ObjectServices, ReplayPart, SealingPart } from "./services.ts";
import type { Deliver } from "./sessions/http-sse-session.ts";
import type { TaskObject } from "./tasks/task-object.ts";

/** The Env of a Hono app. */
export type HonoEnv<Env> = {
  /** The bindings of the Worker. */
  Bindings: Env extends object ? Env : object;
};

declare const ENV: unique symbol;

/**
 * A part of the kit, for the option `use` of `edge()`, such as the result of `sessions()`. An endpoint has at most one part
 * of each kind. The other members of a part are internal.
 */
export interface Part<Env = unknown, Classes = unknown> extends AddsClasses<Classes> {
  /** The kind of the part. */
  readonly slot: string;
  /** Declares which bindings the part needs. Only the type has this member. */
  readonly [ENV]?: (env: Env) => void;
}

/** Sessions for legacy clients. Created by `sessions()` of `mcp-edge/worker/durable`; bundled only if imported. */
export interface SessionsPart<Env> extends ObjectPart<Env>, SealingPart {
  readonly slot: "sessions";
  /** Joins an endpoint. Called once by `edge()`. */
  attach(services: ObjectServices): WithRole<Env> & {
    readonly routes: SessionRoutes;
    readonly gateway: SessionGateway;
  };
}

/** The role that a part gives to `edge()` when it is attached. */
export interface WithRole<Env> {
  readonly role: ObjectRole<Env>;
}

/** A part that needs objects. */
export interface ObjectPart<Env, Classes = unknown> extends Part<Env, WithMcpObject<Env> & Classes> {
  /** Creates the class of the objects, which is the same for all parts. */
  readonly objects: typeof OBJECTS;
}

/** A source of routes: a part, or the plugins of the endpoint together. */
export interface RouteSource {
  /**
   * Adds routes to the app.
   *
   * @returns A function that serves requests to the endpoint's path in place of the endpoint. It returns undefined for
   *   requests that the endpoint serves itself.
   */
  mount<Env>(app: Hono<HonoEnv<Env>>, endpoint: MountedEndpoint): TryServe | undefined;
}

/** The endpoint for which routes are added. */
export interface MountedEndpoint {
  readonly endpoint: Endpoint;
  /** The path of the endpoint within the app. */
  readonly path: string;
  /** The sessions of the endpoint. Undefined if it has none. */
  readonly gateway: SessionGateway | undefined;
}

export type TryServe = (
  request: Request,
  env: unknown,
  execution: Execution | undefined,
) => Response | Promise<Response> | undefined;

/** The HTTP+SSE transport for clients with sessions. Created by `httpSse()` of `mcp-edge/worker/durable`. */
export interface HttpSsePart extends RouteSource {
  readonly slot: "httpSse";
  /** Serves a message in the object of its session. */
  readonly deliver: Deliver;
}

/** A page for browsers at the endpoint's URL. Created by `page()` of `mcp-edge/worker`. */
export interface PagePart extends RouteSource {
  readonly slot: "page";
}

/** Delivers notifications of all isolates. Created by `hub()` of `mcp-edge/worker/durable`. */
export interface NotificationsPart<Env> extends ObjectPart<Env> {
  readonly slot: "notifications";
  /** Joins an endpoint. Called once by `edge()`. */
  attach(services: ObjectServices): WithRole<Env> & {
    readonly notifications: HttpNotifications;
    /** Forwards the notifications that a server publishes. May be called more than once for the same server. */
    watch(registry: Registry): void;
  };
}

/** Provides sealing keys. Created by `keys()` of `mcp-edge/worker/durable`. */
export interface KeysPart<Env> extends ObjectPart<Env> {
  readonly slot: "keys";
  attach(reference: ObjectReference): WithRole<Env> & { readonly ring: KeysOf };
}

/** Stores the outcomes of calls that run once. Created by `once()` of `mcp-edge/worker/once`. */
export interface OncePart<Env> extends ObjectPart<Env> {
  readonly slot: "once";
  attach(reference: ObjectReference): WithRole<Env> & { readonly once: NonNullable<ObjectServices["once"]> };
}

/** Runs calls as tasks. Created by `tasks()` of `mcp-edge/worker/durable`. */
export interface TasksPart<Env, Classes = unknown> extends ObjectPart<Env, Classes> {
  readonly slot: "tasks";
  attach(services: ObjectServices): WithRole<Env> & {
    readonly extend: NonNullable<HttpOptions["extend"]>;
  };
  /** Runs the handlers in place of alarms. */
  readonly runner?: TaskRunner<Classes> | undefined;
}

/**
 * Runs the handlers of tasks in place of the alarms of their objects. Created by `workflows()` of
 * `mcp-edge/worker/workflows`. Its members are internal.
 */
export interface TaskRunner<Classes = unknown> extends AddsClasses<Classes> {
  /**
   * Creates the role object of a task.
   *
   * @internal
   */
  drive(task: TaskObject, ctx: DurableObjectState, env: unknown): RoleObject;
  /**
   * Creates the other classes for the Worker to export.
   *
   * @internal
   */
  makeClasses(reference: ObjectReference): object;
  /**
   * Finds problems in the configuration of these classes.
   *
   * @internal
   */
  findProblems(env: unknown): Problem[];
}

/** Where the objects of an endpoint are, and under which name the Worker exports their class. Created by `objects()`. */
export interface ObjectsPart extends ObjectsOptions {
  readonly slot: "objects";
}

/** Everything that an endpoint can keep in Durable Objects. Created by `durable()`. */
export interface DurablePart<Env, Classes = unknown> extends ObjectPart<Env, Classes> {
  readonly slot: "durable";
  /** The parts that it consists of. */
  readonly parts: readonly AnyPart<Env>[];
}

/** The parts of the kit, with their internal members. */
export type AnyPart<Env> =
  | SessionsPart<Env>
  | HttpSsePart
  | PagePart
  | NotificationsPart<Env>
  | KeysPart<Env>
  | OncePart<Env>
  | TasksPart<Env>
  | ReplayPart
  | ObjectsPart
  | DurablePart<Env>;
