/**
 * Bounds how many sessions a caller has open, and how many of its tasks are unfinished. Each takes a slot in the
 * object that counts the requests of the caller, until the time at which the slot is free by itself, so that none is
 * lost with an isolate.
 *
 * - `initialize`, and the GET of an HTTP+SSE client, take a slot with the request that is counted anyway, when the
 * session is
 *   not known yet. The new session takes it over, and each of its requests keeps it. When a session turns out to have
 *   ended, or to be unknown, its slot is given back.
 * - A task takes its slot before it is created. The object does not learn when a task ends. If all slots are taken,
 * the
 *   Worker asks each task that holds one whether it has ended.
 *
 * @module
 */
import { checkOptions, type OptionTable, TIMER } from "../../../core/protocol/check-options.ts";
import { BusyError, KitError, McpError } from "../../../core/protocol/errors.ts";
import { ErrorCode } from "../../../core/protocol/jsonrpc.ts";
import type { RequestContext } from "../../../core/run/request-context.ts";
import type { LegacyTaskBackend } from "../../../core/tasks/legacy/legacy-task-result.ts";
import type { TaskView } from "../../../core/tasks/task.ts";
import type { FoundSession, SessionGateway, SessionPlace } from "../../../http/sessions.ts";
import { type Slot, UNKNOWN_NAME } from "./slots-object.ts";

/** A bound of the sessions of a caller. */
export interface LiveSessions {
  /** The maximum number of sessions that are open at the same time, 1 to 1,000. */
  readonly max: number;
  /**
   * Milliseconds after its last request from which a session is not counted. It can still be used, and is counted again
   * then. Most clients never end their sessions, so with a long time a caller that often starts its client is refused.
   *
   * @default 900_000 (15 minutes)
   */
  readonly idleMs?: number;
}

/** A bound of the tasks of a principal. */
export interface UnfinishedTasks {
  /** The maximum number of tasks that are unfinished at the same time, 1 to 100. */
  readonly max: number;
}

/** Milliseconds for which a slot is kept for a session or task whose id is not known yet. */
const UNKNOWN_MS = 60_000;
/** Milliseconds after which a client may try again to begin a task. */
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
 * @param digest The digest of its id. Undefined if the session is about to be opened.
 */
export function slotOfSession({ max, idleMs = 900_000 }: LiveSessions, digest: string | undefined): Slot {
  const what = `sessions of this caller are open (rates(): liveSessions, at most ${max})`;
  const name = digest ?? UNKNOWN_NAME + crypto.randomUUID();
  return { kind: "session", name, max, forMs: digest === undefined ? Math.min(UNKNOWN_MS, idleMs) : idleMs, what };
}

/**
 * Returns a gateway that watches the sessions which another gateway opens and finds.
 *
 * @param onCreate Called with the id of a new session before the client gets it. An exception refuses it.
 * @param onEnd Called when the session of an id is unknown or has ended.
 */
export function watchSessions(
  gateway: SessionGateway,
  onCreate: (id: string, at: SessionPlace) => Promise<void>,
  onEnd: (id: string, at: SessionPlace) => Promise<void>,
): SessionGateway {
  return {
    create: async (client, at) => {
      const id = await gateway.create(client, at);
      await onCreate(id, at);
      return id;
    },
    find: async (id, at) => {
      const session = await gateway.find(id, at);
      const ended = () => onEnd(id, at);
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
   * Takes a slot. If all are taken, resolves with the ids of the tasks that hold them, or with none if they were just
   * asked.
   */
  take(slot: Slot): Promise<readonly string[] | undefined>;
  /** Gives slots back. */
  give(names: readonly string[]): Promise<void>;
}

/**
 * Returns tasks that are created only if there is a slot for them.
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
      // The backend returns the new task in the form in which it reads tasks.
      const { taskId, ttlMs } = task as unknown as TaskView;
      // The task runs already. If its slot cannot be taken, the one without a name is free after a minute.
      await slots.take(toSlot(taskId, ttlMs)).catch(notGiven);
      return task;
    },
  };
}

/** Returns those of the tasks that have ended. One that cannot be asked has not. */
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

/** The data of the error for what is refused because it could not be counted. */
export const UNCOUNTED = { reason: "uncounted", retryAfterMs: 5_000 } as const;

function tasksUncounted(error: unknown): never {
  if (KitError.is(error)) throw error;
  console.error("mcp-edge: the unfinished tasks of a caller could not be counted", error);
  const text = "The unfinished tasks of this caller cannot be counted at the moment. Try again.";
  throw new McpError(ErrorCode.InternalError, text, UNCOUNTED);
}

/** Reports that slots stay taken until they are free by themselves. @throws {KitError} for a mistake of the author. */
export function notGiven(error: unknown): void {
  if (KitError.is(error)) throw error;
  console.error("mcp-edge: the slots of a caller could not be given back", error);
}
