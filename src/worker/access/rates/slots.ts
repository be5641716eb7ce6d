/**
 * Limits how many sessions a caller has open, and how many of its tasks are unfinished. Each session or task takes a slot
 * in the object that counts the requests of the caller. A slot becomes free by itself after some time, so no slot is lost
 * with an isolate.
 *
 * - `initialize`, and the GET of an HTTP+SSE client, take a slot with the object request that counts them, before the
 *   session has an id. The new session takes over the slot, and each of its requests renews it. If a session turns out to
 *   have ended, or to be unknown, its slot is given back.
 * - A task takes its slot before it is created. The object is not notified when a task ends. If all slots are taken, the
 *   Worker asks each task that holds a slot whether it has ended.
 *
 * @module
 */

import { checkOptions, type OptionTable, TIMER } from "../../../core/protocol/check-options.ts";
import * as ErrorCode from "../../../core/protocol/error-codes.ts";
import { BusyError, KitError, McpError } from "../../../core/protocol/errors.ts";
import type { RequestContext } from "../../../core/run/request-context.ts";
import type { LegacyTaskBackend } from "../../../core/tasks/legacy/legacy-task-result.ts";
import type { TaskView } from "../../../core/tasks/task.ts";
import type { FoundSession, SessionContext, SessionGateway } from "../../../http/sessions.ts";
import { type Slot, UNKNOWN_NAME } from "./slots-object.ts";

/** The limit for the sessions of a caller. */
export interface LiveSessions {
  /** The maximum number of sessions that are open at the same time, 1 to 1,000. */
  readonly max: number;
  /**
   * How long a session is counted after its last request, in milliseconds. After that, it can still be used, and is then
   * counted again. Most clients never end their sessions, so with a long time, a caller that often restarts its client is
   * refused.
   *
   * @default 900_000 (15 minutes)
   */
  readonly idleMs?: number;
}

/** The limit for the tasks of a principal. */
export interface UnfinishedTasks {
  /** The maximum number of tasks that are unfinished at the same time, 1 to 100. */
  readonly max: number;
}

/** How long a slot is held for a session or task that has no id yet, in milliseconds. */
const UNKNOWN_MS = 60_000;
/** How long a client is asked to wait before it tries to start a task again, in milliseconds. */
const RETRY_MS = 5_000;

const SESSIONS: OptionTable<LiveSessions> = { max: [1, 1_000], idleMs: TIMER };
const TASKS: OptionTable<UnfinishedTasks> = { max: [1, 100] };

/** @throws {KitError} `options-invalid` naming the member. */
export function checkSlots(liveSessions: LiveSessions | undefined, unfinishedTasks: UnfinishedTasks | undefined): void {
  check("liveSessions", liveSessions, SESSIONS);
  check("unfinishedTasks", unfinishedTasks, TASKS);
}

function check<T extends { readonly max: number }>(name: string, given: T | undefined, table: OptionTable<T>): void {
  if (given === undefined) return;
  checkOptions(`rates(): ${name}.`, given, table);
  if (given.max === undefined) throw new KitError("options-invalid", `rates(): ${name} needs max.`);
}

/**
 * Returns the slot of a session.
 * @param digest The digest of the session id. Undefined if the session is about to be opened.
 */
export function slotOfSession({ max, idleMs = 900_000 }: LiveSessions, digest: string | undefined): Slot {
  const what = `sessions of this caller are open (rates(): liveSessions, at most ${max})`;
  const name = digest ?? UNKNOWN_NAME + crypto.randomUUID();
  return { kind: "session", name, max, forMs: digest === undefined ? Math.min(UNKNOWN_MS, idleMs) : idleMs, what };
}

/**
 * Returns a gateway that watches the sessions that another gateway creates and finds.
 *
 * @param onCreate Called with the id of a new session before the client receives it. If it throws, the session is refused.
 * @param onEnd Called with the id of a session that is unknown or has ended.
 */
export function watchSessions(
  gateway: SessionGateway,
  onCreate: (id: string, context: SessionContext) => Promise<void>,
  onEnd: (id: string, context: SessionContext) => Promise<void>,
): SessionGateway {
  return {
    create: async (client, context) => {
      const id = await gateway.create(client, context);
      await onCreate(id, context);
      return id;
    },
    find: async (id, context) => {
      const session = await gateway.find(id, context);
      const ended = () => onEnd(id, context);
      if (session) return watched(session, ended);
      await ended();
      return undefined;
    },
  };
}

function watched(session: FoundSession, ended: () => Promise<void>): FoundSession {
  const { client, isNew } = session;
  return {
    client,
    isNew,
    admit: async () => {
      const isAlive = await session.admit();
      if (!isAlive) await ended();
      return isAlive;
    },
    post: async (post) => {
      const outcome = await session.post(post);
      if (!outcome) await ended();
      return outcome;
    },
    streamTo: async (target, to, notifications) => {
      const refusal = await session.streamTo(target, to, notifications);
      if (refusal?.reason === "session-unknown") await ended();
      // A session of HTTP+SSE ends with its stream.
      if (target.kind === "standalone" && target.isHttpSse) to.signal.addEventListener("abort", () => void ended());
      return refusal;
    },
    end: async () => {
      const hasEnded = await session.end();
      await ended();
      return hasEnded;
    },
  };
}

/** The slots of the principal of a call. */
export interface TaskSlots {
  /**
   * Takes a slot. If all slots are taken, resolves with the ids of the tasks that hold them, or with an empty list if these
   * were returned less than a second ago.
   */
  take(slot: Slot): Promise<readonly string[] | undefined>;
  /** Gives slots back. */
  give(names: readonly string[]): Promise<void>;
}

/**
 * Returns a backend that creates a task only if there is a slot for it.
 *
 * @param slotsOf Returns undefined for a caller whose tasks are not counted.
 */
export function boundTasks(
  tasks: LegacyTaskBackend,
  { max }: UnfinishedTasks,
  slotsOf: (call: RequestContext) => Promise<TaskSlots | undefined>,
): LegacyTaskBackend {
  const what = `tasks of this caller are unfinished (rates(): unfinishedTasks, at most ${max})`;
  const toSlot = (name: string, forMs: number): Slot => ({ kind: "task", name, max, forMs, what });
  return {
    ...tasks,
    create: async (start, call) => {
      const slots = await slotsOf(call);
      if (!slots) return tasks.create(start, call);
      const name = UNKNOWN_NAME + crypto.randomUUID();
      const slot = toSlot(name, UNKNOWN_MS);
      const holders = await slots.take(slot).catch(tasksUncounted);
      const ended = holders ? await endedAmong(holders, tasks, call) : [];
      if (ended.length > 0) await slots.give(ended);
      const isFull = holders && (ended.length === 0 || (await slots.take(slot).catch(tasksUncounted)));
      if (isFull) throw tooMany(what);
      const task = await tasks.create(start, call).catch(async (error: unknown) => {
        await slots.give([name]);
        throw error;
      });
      // The backend returns a new task in the same form as a task that it reads.
      const { taskId, ttlMs } = task as unknown as TaskView;
      // The task is already running. If its slot cannot be taken, the slot without an id becomes free after a minute.
      await slots.take(toSlot(taskId, ttlMs)).catch(notGiven);
      return task;
    },
  };
}

/** Returns the ids of the tasks that have ended. A task that cannot be reached counts as unfinished. */
async function endedAmong(
  taskIds: readonly string[],
  tasks: LegacyTaskBackend,
  call: RequestContext,
): Promise<readonly string[]> {
  const ended = await Promise.all(
    taskIds.map(async (taskId) => {
      return tasks.hasEnded(taskId, call).catch(() => false);
    }),
  );
  return taskIds.filter((_, at) => ended[at]);
}

function tooMany(what: string): BusyError {
  return Object.assign(new BusyError(`too many ${what}`), { data: { reason: "too-many", retryAfterMs: RETRY_MS } });
}

/** The data of the error for a request or a task that is refused because it could not be counted. */
export const UNCOUNTED = { reason: "uncounted", retryAfterMs: 5_000 } as const;

function tasksUncounted(error: unknown): never {
  if (KitError.is(error)) throw error;
  console.error("mcp-edge: the unfinished tasks of a caller could not be counted", error);
  const text = "The unfinished tasks of this caller cannot be counted at the moment. Try again.";
  throw new McpError(ErrorCode.InternalError, text, UNCOUNTED);
}

/**
 * Logs that slots could not be given back. They stay taken until they become free by themselves.
 *
 * @throws {KitError} if the error is one, because it reports a mistake of the author.
 */
export function notGiven(error: unknown): void {
  if (KitError.is(error)) throw error;
  console.error("mcp-edge: the slots of a caller could not be given back", error);
}
