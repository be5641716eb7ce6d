/**
 * Runs tool calls in the background as tasks, which survive restarts.
 *
 * @module
 */

import { keepLast } from "../../core/basics/keep-last.ts";
import { findCalledTool } from "../../core/define/called-tool.ts";
import { checkOptions, type OptionTable, TIMER, TIMER_OR_ZERO } from "../../core/protocol/check-options.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { McpError } from "../../core/protocol/errors.ts";
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
   * Runs the handlers of tasks in place of the alarms of their Durable Objects. Created by `workflows()` of
   * `mcp-edge/worker/workflows`.
   *
   * @default the alarms of their objects
   */
  readonly runner?: TaskRunner<Classes>;
  /**
   * Lifetime of a task in milliseconds. After this time it is deleted, whatever its status. A client of 2025-11-25 may
   * request a shorter lifetime. The `taskTtlMs` of a tool takes precedence.
   *
   * @default 24 hours
   */
  readonly ttlMs?: number;
  /**
   * The interval, in milliseconds, at which clients are asked to poll the status of a task.
   *
   * @default 1 second
   */
  readonly pollIntervalMs?: number;
  /**
   * How long a handler runs before its run ends, in milliseconds. The run ends as soon as its current `ctx.step()` has
   * finished, and a new run continues from there. The platform ends any run after 15 minutes, so a step, or the code
   * between two steps, may take at most 15 minutes minus this time.
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
/** How long one request waits for a task, in milliseconds. It is then repeated, because the object may have been reset. */
const WAIT_MS = 25_000;

/**
 * Runs calls of tools that declare `task: "optional"` or `"required"` as tasks, for clients that support tasks
 * (in the modern era) or request a task (2025-11-25). The client immediately receives a task id and fetches the result later.
 *
 * Each handler runs in its own Durable Object. If the object is reset, the handler runs again from the top, and earlier
 * answers and step results are returned immediately. Between questions, a handler must therefore do the same things when
 * it receives the same answers.
 *
 * Requires the exported class `McpObject`. With `hub()`, modern clients can also listen to tasks. A server function and
 * the option `context` receive only the stored parts of the request that created the task: some of its headers, and
 * neither credentials nor the query. `keepHeaders` and `keepQuery` add other parts.
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

/** Adds the methods of the tasks extension, the task methods of 2025-11-25, or no methods, depending on the client. */
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
  // All modern calls share one table of methods.
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
  /** Calls the object of a task. Resolves to undefined if the id is not a valid task id. */
  const ask = async <T>(
    taskId: string,
    { principal, endpoint }: RequestContext,
    question: (task: ObjectStub, who: TaskCaller) => Promise<T>,
  ) => {
    const namespace = objects.namespace(env);
    const id = findId(namespace, taskId);
    const who = { owner: getOwner({ principal, endpoint, className }), scopes: principal?.scopes ?? [] };
    // All calls are idempotent, so they can be retried.
    return id && retryOnReset(() => question(objects.get(namespace, id), who));
  };
  return {
    create: async (start, call) => {
      const http = services.isPerRequest || call.registry.asksForRequest ? storable(plain(call)) : undefined;
      const toolTtlMs = findCalledTool(call.registry, start.request)?.options.taskTtlMs;
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
    // The string is not an object id, or the id belongs to another namespace.
    return undefined;
  }
}

/** Returns the HTTP request as plain data. In a Worker it is a web `Request`. */
function plain({ http }: RequestContext): PlainRequest | undefined {
  if (!http) return undefined;
  return { url: http.url, headers: [...(http.headers as Headers)] };
}

/** Checks that `Mcp-Name` is the task id. @throws {McpError} -32020. @see tasks, "Streamable HTTP: Routing Headers" */
function checkName({ request: { params }, http }: RequestContext): void {
  const header = http?.headers.get("Mcp-Name") ?? null;
  const taskId = params?.taskId;
  if (typeof taskId !== "string" || (header !== null && decodeHeaderValue(header) === taskId)) return;
  const message = header === null ? "Mcp-Name is missing." : "Mcp-Name is not the taskId of the body.";
  throw new McpError(ErrorCode.HeaderMismatch, message);
}
