/**
 * Tool calls that run in the background as tasks, and survive restarts.
 *
 * @module
 */

import { keepLast } from "../../core/basics/keep-last.ts";
import { checkOptions, type OptionTable, TIMER, TIMER_OR_ZERO } from "../../core/protocol/check-options.ts";
import { McpError } from "../../core/protocol/errors.ts";
import { ErrorCode } from "../../core/protocol/jsonrpc.ts";
import type { MethodTable, RequestContext } from "../../core/run/request-context.ts";
import { hasLegacyTasks, isOver } from "../../core/tasks/legacy/legacy-task.ts";
import { legacyTaskMethods } from "../../core/tasks/legacy/legacy-task-methods.ts";
import { type LegacyTaskBackend, TaskChanges } from "../../core/tasks/legacy/legacy-task-result.ts";
import { taskMethods } from "../../core/tasks/task-methods.ts";
import type { ExtendMethods } from "../../http/endpoint-types.ts";
import { decodeHeaderValue } from "../../http/headers.ts";
import type { PlainRequest } from "../../http/sessions.ts";
import { type KeepOptions, type Storable, storing } from "../../http/storable-request.ts";
import { type ObjectNamespace, type ObjectStub, RoleObjects } from "../bindings.ts";
import { OBJECTS, type WithMcpObject } from "../object.ts";
import type { Part, TaskRunner, TasksPart } from "../parts.ts";
import { retryOnReset } from "../retry-on-reset.ts";
import type { ObjectServices } from "../services.ts";
import { toObjectId } from "./task-id.ts";
import { TaskObject } from "./task-object.ts";
import { getOwner, type TaskCaller, type TaskRpc } from "./task-rpc.ts";

/** Options of {@link tasks}. */
export interface TasksOptions<Classes = unknown> extends KeepOptions {
  /**
   * Runs the handlers of tasks, in place of the alarms of their objects; created by `workflows()` of
   * `mcp-edge/worker/workflows`.
   *
   * @default the alarms of their objects
   */
  readonly runner?: TaskRunner<Classes>;
  /**
   * The time, in milliseconds, from the creation of a task until it is deleted, whatever its status. A client of
   * 2025-11-25 may ask for less. A tool's `taskTtlMs` takes precedence.
   *
   * @default 24 hours
   */
  readonly ttlMs?: number;
  /**
   * The time, in milliseconds, that clients are asked to wait between two requests for the status of a task.
   *
   * @default 1 second
   */
  readonly pollIntervalMs?: number;
  /**
   * The time, in milliseconds, after which a run of a handler ends when its current `ctx.step()` has finished; another
   * run continues from there. The platform ends any run after 15 minutes, so a step, or the code between two steps, may
   * take at most 15 minutes minus this.
   *
   * @default 5 minutes
   */
  readonly runMs?: number;
}

const OPTIONS: OptionTable<TasksOptions> = {
  runner: null,
  ttlMs: TIMER,
  pollIntervalMs: TIMER,
  runMs: TIMER_OR_ZERO,
  keepHeaders: null,
  keepQuery: null,
};

const MINUTE_MS = 60_000;
/** Milliseconds that one request waits for a task. It is then repeated, since the object may have been reset. */
const WAIT_MS = 25_000;

/**
 * Runs tools that declare `task: "optional"` or `"required"` as tasks, for clients that support tasks (2026-07-28) or
 * ask for one (2025-11-25): the client gets a handle at once and fetches the result later. The handler runs in its own
 * object. If the object is lost, the handler runs again from the top, and earlier answers and step results are returned
 * immediately. So between questions it must do the same things when it gets the same answers. Needs the exported class
 * `McpObject`; with `hub()`, modern clients can listen to tasks as well. A server function and the option
 * `context` receive only stored parts of the request that created the task: no credentials, no query, and some of the
 * headers. `keepHeaders` and `keepQuery` add more.
 *
 * @example
 * ```ts
 * const app = edge(server, { use: [tasks()] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @throws {KitError} `options-invalid` naming the option, its value and its range, or a name that must not be kept.
 * @see io.modelcontextprotocol/tasks; MCP 2025-11-25, basic/utilities/tasks
 */
export function tasks<Env, Classes = unknown>(
  options: TasksOptions<Classes> = {},
): Part<Env, WithMcpObject<Env> & Classes> {
  checkOptions("tasks(): ", options, OPTIONS);
  const { ttlMs = 24 * 60 * MINUTE_MS, pollIntervalMs = 1_000, runMs = 5 * MINUTE_MS } = options;
  const storable = storing("tasks()", options);
  const { runner } = options;
  const part: TasksPart<Env, Classes> = {
    slot: "tasks",
    objects: OBJECTS,
    runner,
    attach: (services) => ({
      extend: extension(services, storable),
      role: {
        name: "task",
        create: (ctx, env) => {
          const task = new TaskObject(ctx, env, services, { ttlMs, pollIntervalMs, runMs });
          return runner?.drive(task, ctx, env) ?? task;
        },
      },
    }),
  };
  return part;
}

/** Adds the methods of tasks: those of the extension, those of 2025-11-25, or none, depending on the client. */
function extension(services: ObjectServices, storable: Storable): ExtendMethods {
  const objects = new RoleObjects<TaskRpc>("task", services.reference);
  const changes = new WeakMap<object, TaskChanges>();
  const getChanges = (owner: object = {}) => {
    const found = changes.get(owner) ?? new TaskChanges();
    changes.set(owner, found);
    return found;
  };
  const backendFor = keepLast((env: unknown) => {
    const own = createBackend(env, services, objects, storable);
    return services.boundTasks?.(own, env) ?? own;
  });
  // Modern calls share one table.
  const modernMethods = keepLast((env: unknown) =>
    keepLast((inner: MethodTable | undefined) => taskMethods(backendFor(env), inner, checkName)),
  );
  return (inner, env, client, session) => {
    if (client.era === "modern") return modernMethods(env)(inner);
    return hasLegacyTasks(client) ? legacyTaskMethods(backendFor(env), inner, getChanges(session)) : inner;
  };
}

function createBackend(
  env: unknown,
  services: ObjectServices,
  objects: RoleObjects<TaskRpc>,
  storable: Storable,
): LegacyTaskBackend {
  const { className } = services.reference;
  /** Calls the object of a task. Resolves undefined if the id cannot be that of a task. */
  const ask = async <T>(
    taskId: string,
    { principal, endpoint }: RequestContext,
    question: (task: ObjectStub, who: TaskCaller) => Promise<T>,
  ) => {
    const namespace = objects.namespace(env);
    const id = findId(namespace, taskId);
    const who = { owner: getOwner({ principal, endpoint, className }), scopes: principal?.scopes ?? [] };
    // All calls are idempotent.
    return id && retryOnReset(() => question(objects.get(namespace, id), who));
  };
  return {
    create: async (start, call) => {
      const http = services.isPerRequest || call.registry.asksForRequest ? storable(plain(call)) : undefined;
      const toolTtlMs = call.registry.tools.find(String(start.request.params?.name))?.options.taskTtlMs;
      const { principal, endpoint } = call;
      const seed = { ...start, principal, endpoint, className, http, toolTtlMs };
      const namespace = objects.namespace(env);
      const task = await objects.call(objects.get(namespace, namespace.newUniqueId()), "create", seed);
      return { resultType: "task", ...task };
    },
    read: (taskId, call) => ask(taskId, call, (task, who) => objects.call(task, "read", who)),
    wait: (taskId, call) => ask(taskId, call, (task, who) => objects.call(task, "wait", who, WAIT_MS)),
    hasEnded: async (taskId, call) => {
      const found = await ask(taskId, call, (task, who) => objects.call(task, "read", { ...who, scopes: undefined }));
      return found !== undefined && isOver(found);
    },
    fail: async (taskId, key, failed, call) =>
      (await ask(taskId, call, (task, who) => objects.call(task, "update", who, {}, { [key]: failed }))) ?? false,
    update: async (taskId, responses, call) =>
      (await ask(taskId, call, (task, who) => objects.call(task, "update", who, responses))) ?? false,
    cancel: async (taskId, call) =>
      (await ask(taskId, call, (task, who) => objects.call(task, "cancel", who))) ?? false,
  };
}

function findId(namespace: ObjectNamespace, taskId: string): DurableObjectId | undefined {
  try {
    return namespace.idFromString(toObjectId(taskId) ?? "");
  } catch {
    // The text is not an id, or the id is not from this namespace.
    return undefined;
  }
}

/** Returns the request as plain data. In a Worker it is a web `Request`. */
function plain({ http }: RequestContext): PlainRequest | undefined {
  if (!http) return undefined;
  return { url: http.url, headers: [...(http.headers as Headers)] };
}

/** Checks that `Mcp-Name` is the task's id. @throws {McpError} -32020. @see tasks, "Streamable HTTP: Routing Headers" */
function checkName({ request: { params }, http }: RequestContext): void {
  const header = http?.headers.get("Mcp-Name") ?? null;
  const taskId = params?.taskId;
  if (typeof taskId !== "string" || (header !== null && decodeHeaderValue(header) === taskId)) return;
  const message = header === null ? "Mcp-Name is missing." : "Mcp-Name is not the taskId of the body.";
  throw new McpError(ErrorCode.HeaderMismatch, message);
}
