/**
 * A task object whose handler is run by somebody else: its alarm does not run it, but tells who does.
 *
 * @module
 */
import type { TaskStatus } from "../../core/tasks/task.ts";
import type { RoleObject } from "../object.ts";
import { toTaskId } from "../tasks/task-id.ts";
import type { TaskObject } from "../tasks/task-object.ts";
import type { TaskRpc, TaskSeed } from "../tasks/task-rpc.ts";
import { TaskStore } from "../tasks/task-store.ts";

/** What is told of a task. */
export interface DrivenTask {
  readonly taskId: string;
  /** Id of the object: 64 hexadecimal digits. */
  readonly object: string;
}

/** What a turn came to. JSON. */
export interface Turn {
  readonly status: TaskStatus;
  /** Milliseconds until there is something to do, unless it is answered before. 0: at once. */
  readonly waitMs: number;
  /** Keys of the steps done in it. */
  readonly steps: readonly string[];
}

/** Who has the handler run: calls `work()`, again and again until the task waits or is over. */
export interface Driver {
  /** Begins, or goes on; is told so as often as it may be needed. Rejects where it could not: it is told again. */
  drive(env: unknown, task: DrivenTask): Promise<void>;
  /** The task is cancelled. */
  stop(env: unknown, taskId: string): Promise<void>;
}

/** The method a driver calls. */
export interface DrivenRpc {
  /** Runs the handler once, or joins the run that is under way; nothing where the task waits or is over. */
  work(): Promise<Turn>;
}

/** Milliseconds from one word to the driver to the next, where nothing has changed meanwhile. */
const AGAIN_MS = 10_000;

/** A task whose runs are a driver's affair. */
export class DrivenTaskObject<Env> implements RoleObject, TaskRpc, DrivenRpc {
  readonly #task: TaskObject<Env>;
  readonly #ctx: DurableObjectState;
  readonly #env: Env;
  readonly #driver: Driver;
  #turn: Promise<void> | undefined;
  /** As the task stood when its driver was last told to go on. */
  #told = { atMs: 0, updatedAtMs: 0 };

  constructor(task: TaskObject<Env>, ctx: DurableObjectState, env: Env, driver: Driver) {
    this.#task = task;
    this.#ctx = ctx;
    this.#env = env;
    this.#driver = driver;
  }

  create(seed: TaskSeed) {
    return this.#task.create(seed);
  }

  read(who: string) {
    return this.#task.read(who);
  }

  wait(who: string, atMostMs: number) {
    return this.#task.wait(who, atMostMs);
  }

  update(...given: Parameters<TaskRpc["update"]>) {
    return this.#task.update(...given);
  }

  async work(): Promise<Turn> {
    const before = new TaskStore(this.#ctx.storage).entries().length;
    if (this.#stored()?.status === "working") await this.#takeTurn();
    const stored = this.#stored();
    if (!stored) return { status: "failed", waitMs: 0, steps: [] };
    const { status, expiresAtMs } = stored;
    // A run that is to go on later has set the alarm to that time.
    const untilMs = status === "input_required" ? expiresAtMs : ((await this.#ctx.storage.getAlarm()) ?? 0);
    const added = new TaskStore(this.#ctx.storage).entries().slice(before);
    return {
      status,
      waitMs: Math.max(untilMs - Date.now(), 0),
      steps: added.flatMap((entry) => ("step" in entry ? [entry.key] : [])),
    };
  }

  async alarm(info?: { readonly retryCount: number }): Promise<void> {
    const stored = this.#stored();
    if (stored?.status !== "working" || Date.now() >= stored.expiresAtMs) return this.#takeTurn(info);
    // First: an answer that comes meanwhile sets another.
    await this.#ctx.storage.setAlarm(stored.expiresAtMs);
    const { atMs, updatedAtMs } = this.#told;
    if (updatedAtMs === stored.updatedAtMs && Date.now() - atMs < AGAIN_MS) return undefined;
    const taskId = toTaskId(this.#ctx.id.toString());
    try {
      await this.#driver.drive(this.#env, { taskId, object: this.#ctx.id.toString() });
      this.#told = { atMs: Date.now(), updatedAtMs: stored.updatedAtMs };
    } catch (error) {
      console.error(`mcp-edge: task ${taskId} could not be driven; again in ${AGAIN_MS} ms`, error);
      await this.#ctx.storage.setAlarm(Math.min(Date.now() + AGAIN_MS, stored.expiresAtMs));
    }
    return undefined;
  }

  async cancel(who: string): Promise<boolean> {
    const isFound = await this.#task.cancel(who);
    if (this.#stored()?.status === "cancelled") {
      // Where it fails, the next run finds the task over.
      this.#ctx.waitUntil(this.#driver.stop(this.#env, toTaskId(this.#ctx.id.toString())).catch(() => undefined));
    }
    return isFound;
  }

  /** One at a time, whoever wants it. */
  #takeTurn(info?: { readonly retryCount: number }): Promise<void> {
    this.#turn ??= this.#task.alarm(info).finally(() => {
      this.#turn = undefined;
    });
    return this.#turn;
  }

  #stored() {
    const { start, state } = new TaskStore(this.#ctx.storage);
    if (!start || !state) return undefined;
    return { status: state.status, updatedAtMs: state.updatedAtMs, expiresAtMs: start.createdAtMs + start.ttlMs };
  }
}
