/**
 * The interfaces between `edge()` and the parts of an endpoint (sessions, hub, keys, once, tasks, replay, HTTP+SSE).
 *
 * @module
 */
import type { Hono } from "hono/tiny";
import type { Registry } from "../core/define/registry.ts";
import type { Execution } from "../core/protocol/execution.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { HttpNotifications, HttpOptions, SessionRoutes } from "../http/endpoint-types.ts";
import type { SessionGateway } from "../http/sessions.ts";
import type { ObjectPlace, PlaceOptions } from "./bindings.ts";
import type { ObjectRole, RoleObject } from "./object.ts";
import type { Problem } from "./problems.ts";
import type { KeysOf, ObjectServices, ReplayPart, SealingPart } from "./runtime.ts";
import type { Deliver } from "./sessions/http-sse-session.ts";
import type { TaskObject } from "./tasks/task-object.ts";

/** The Env of a Hono app. */
export type HonoEnv<Env> = {
  /** The bindings of the Worker. */
  Bindings: Env extends object ? Env : object;
};

/** Sessions for legacy clients. Created by `sessions()` of `mcp-edge/worker/durable`; bundled only if imported. */
export interface SessionsPart<Env, Objects extends object> extends ObjectPart<Env, Objects>, SealingPart {
  /** Tells the parts apart. */
  readonly slot: "sessions";
  /** Joins an endpoint. Called once by `edge()`. */
  attach(runtime: ObjectServices): WithRole<Env> & {
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

/** A further transport for clients with sessions. `httpSse()` of `mcp-edge/worker/durable` is one. */
export interface RoutesPart {
  /** Tells the parts apart. */
  readonly slot: "httpSse";
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
  mount<Env>(app: Hono<HonoEnv<Env>>, endpoint: Endpoint, gateway: SessionGateway | undefined): TryServe;
}

/** A page for browsers at the endpoint's URL. Created by `page()` of `mcp-edge/worker`. */
export interface PagePart {
  /** Tells the parts apart. */
  readonly slot: "page";
  /**
   * Adds the page to the app.
   *
   * @param path Path of the endpoint within the app.
   * @returns A function that serves requests for the page to the endpoint's path. It returns undefined for others.
   */
  mount<Env>(app: Hono<HonoEnv<Env>>, endpoint: Endpoint, path: string): TryServe;
}

export type TryServe = (
  request: Request,
  env: unknown,
  execution: Execution | undefined,
) => Response | Promise<Response> | undefined;

/** Delivers notifications of all isolates. Created by `hub()` of `mcp-edge/worker/durable`. */
export interface NotificationsPart<Env, Objects extends object> extends ObjectPart<Env, Objects> {
  /** Tells the parts apart. */
  readonly slot: "notifications";
  /** Joins an endpoint. Called once by `edge()`. */
  attach(runtime: ObjectServices): WithRole<Env> & {
    readonly notifications: HttpNotifications;
    /** Forwards the notifications that a server publishes. May be called more than once for the same server. */
    watch(registry: Registry): void;
  };
}

/** Provides sealing keys. Created by `keys()` of `mcp-edge/worker/durable`. */
export interface KeysPart<Env, Objects extends object> extends ObjectPart<Env, Objects> {
  /** Tells the parts apart. */
  readonly slot: "keys";
  attach(place: ObjectPlace): WithRole<Env> & { readonly ring: KeysOf };
}

/** Stores the outcomes of calls that run once. Created by `once()` of `mcp-edge/worker/once`. */
export interface OncePart<Env, Objects extends object> extends ObjectPart<Env, Objects> {
  /** Tells the parts apart. */
  readonly slot: "once";
  attach(place: ObjectPlace): WithRole<Env> & { readonly once: NonNullable<ObjectServices["once"]> };
}

/** Runs calls as tasks. Created by `tasks()` of `mcp-edge/worker/durable`. */
export interface TasksPart<Env, Objects extends object, Classes extends object = Record<never, never>>
  extends ObjectPart<Env, Objects> {
  /** Tells the parts apart. */
  readonly slot: "tasks";
  attach(runtime: ObjectServices): WithRole<Env> & {
    readonly extend: NonNullable<HttpOptions["extend"]>;
  };
  /** Runs the handlers in place of alarms. */
  readonly runner?: TaskRunner<Classes> | undefined;
}

/** Runs the handlers of tasks in place of the alarms of their objects. Created by `workflows()` of `mcp-edge/worker/workflows`. */
export interface TaskRunner<Classes extends object> {
  /** Creates the role object of a task. */
  drive(task: TaskObject, ctx: DurableObjectState, env: unknown): RoleObject;
  /** Creates further classes for the Worker to export. */
  makeClasses(place: ObjectPlace): Classes;
  /** Finds problems in the configuration of these classes. */
  findProblems(env: unknown): Problem[];
}

/** Where the objects of an endpoint are, and under which name the Worker exports their class. Created by `objects()`. */
export interface PlacePart extends PlaceOptions {
  /** Tells the parts apart. */
  readonly slot: "place";
}

/** Everything that an endpoint can keep in Durable Objects. Created by `durable()`. */
export interface DurablePart<Env, Objects extends object, Classes extends object = Record<never, never>>
  extends ObjectPart<Env, Objects>,
    Pick<TasksPart<Env, Objects, Classes>, "runner"> {
  /** Tells the parts apart. */
  readonly slot: "durable";
  /** The parts that it consists of. */
  readonly parts: readonly Part<Env>[];
}

/** A part of the kit. An endpoint has each of them at most once. */
export type Part<Env> =
  | SessionsPart<Env, object>
  | RoutesPart
  | PagePart
  | NotificationsPart<Env, object>
  | KeysPart<Env, object>
  | OncePart<Env, object>
  | TasksPart<Env, object, object>
  | ReplayPart
  | PlacePart
  | DurablePart<Env, object, object>;
