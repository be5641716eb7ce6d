/**
 * Runs a Worker on real workerd, with real sockets, real Durable Objects and state on disk. It runs in its own process, which can be
 * killed and restarted with the same state and port. Its objects can be evicted, woken and aborted.
 */
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { DurableObjectEvictionOptions, Miniflare } from "miniflare";
import { choosePort } from "../node/free-port.ts";
import type { RoleName } from "../worker/roles.ts";
import { collectChildren, findRunning, killNow } from "./children.ts";
import { type PreparedWorker, prepare, type WorkerOptions } from "./configuration.ts";
import type { Controlled, ObjectTarget, WaitingCommand } from "./control-worker.ts";
import { CONTROL_NAME, WORKER_NAME } from "./names.ts";
import { loadMiniflare } from "./tools.ts";
import type { Control, StoredState } from "./worker-side.ts";

export type { WorkerOptions } from "./configuration.ts";

/** A Durable Object: its id (64 hexadecimal digits), or the name from which its id was created. */
export type ObjectName = string;

/** A row of a query result. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Starts a Worker on workerd. Resolves when it accepts requests. Stop it at the end of the test, because it is a process with a
 * temporary folder. Requires wrangler 4.155.0 or newer in the project.
 *
 * ```ts
 * await using worker = await startWorker({ wrangler: "wrangler.toml", bindings: { MCP_KEYS: newKeys() } });
 * const response = await fetch(`${worker.origin}/mcp`, { method: "POST", body });
 * ```
 *
 * @throws {Error} if wrangler is missing or too old. The message says what to install.
 */
export async function startWorker(options: WorkerOptions): Promise<TestWorker> {
  const prepared = await prepare(options);
  const worker = new TestWorker(prepared, resolve(options.root ?? "."));
  try {
    await worker.restart();
  } catch (error) {
    await worker.stop();
    throw error;
  }
  return worker;
}

/** A running Worker. Created by `startWorker`. */
export class TestWorker implements AsyncDisposable {
  readonly #prepared: PreparedWorker;
  readonly #root: string;
  readonly #children: ChildProcess[] = [];
  #miniflare: Miniflare | undefined;
  #port: number | undefined;
  /** How far the Worker's clock is ahead, in milliseconds. */
  #aheadMs = 0;

  /** The folder with the state of the Worker. `stop` deletes it. */
  readonly stateFolder: string = mkdtempSync(join(tmpdir(), "mcp-edge-"));

  /** Only `startWorker` calls it. @internal */
  constructor(prepared: PreparedWorker, root: string) {
    this.#prepared = prepared;
    this.#root = root;
  }

  /** The origin of the Worker, such as `http://127.0.0.1:21234`. A restart does not change it. */
  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The process id of workerd; undefined while it is not running. */
  get pid(): number | undefined {
    return findRunning(this.#children)?.pid;
  }

  /** Returns the URL of a path on the Worker. */
  url(path: string): string {
    return new URL(path, this.origin).href;
  }

  /**
   * Kills workerd with SIGKILL, like a crash. When this resolves, the process has ended, its connections are lost, and new connections
   * are refused. Acknowledged writes of objects are on disk.
   */
  async kill(): Promise<void> {
    const miniflare = this.#miniflare;
    this.#miniflare = undefined;
    const child = findRunning(this.#children);
    const killed = child && killNow(child);
    // Dispose of miniflare before it notices that its process has ended, because it would start another process.
    await miniflare?.dispose().catch(() => undefined);
    await killed;
  }

  /** Starts the Worker with its stored state, on the same port. Kills it first if it is running. */
  async restart(): Promise<void> {
    await this.kill();
    for (let isStarted = false; !isStarted; ) isStarted = await this.#start(this.#port ?? (await choosePort()));
    if (this.#aheadMs > 0) await this.#moveClocks();
  }

  /** Starts workerd. Returns false if another program has taken the port since it was chosen, so that another port can be used. */
  async #start(port: number): Promise<boolean> {
    const { Miniflare, convertV4MiniflareOptions } = await loadMiniflare(this.#root);
    const { inspectorPort } = this.#prepared;
    const options = convertV4MiniflareOptions({
      ...(inspectorPort === undefined ? {} : { inspectorPort }),
      workers: this.#prepared.workers as never,
      resourcePersistencePath: this.stateFolder,
      host: "127.0.0.1",
      port,
      // Otherwise miniflare would fetch `request.cf` from the network.
      cf: false,
    });
    this.#miniflare = collectChildren(this.#children, () => new Miniflare(options));
    try {
      await this.#miniflare.ready;
    } catch (error) {
      // A restarted Worker must have the port that its clients know.
      if (this.#port !== undefined || !isPortTaken(error)) throw error;
      await this.kill();
      return false;
    }
    this.#port = port;
    return true;
  }

  /** Stops the Worker and deletes its state. */
  async stop(): Promise<void> {
    const miniflare = this.#miniflare;
    this.#miniflare = undefined;
    await miniflare?.dispose();
    rmSync(this.stateFolder, { recursive: true, force: true });
  }

  /** Calls `stop()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * Returns the ids of all objects of a class that have ever been in memory. workerd creates a database for each. Does not wake objects.
   *
   * @param binding The name of the exported class, or of a binding to it. This applies to all methods.
   * @param role If given, returns only objects with this role. This wakes the objects.
   */
  async objects(binding: string, role?: RoleName): Promise<string[]> {
    const className = this.#findClass(binding);
    const ids = await this.#running().listDurableObjectIds(className, WORKER_NAME);
    return role === undefined ? ids : (await this.#controlWorker()).inRole(className, ids, role);
  }

  /**
   * Evicts objects from memory, as the platform does with idle objects: stored state is kept, fields are lost, and the next request
   * creates a new instance. Waits for the requests that the object is handling, so none of them may wait for this call. Do not call it
   * while the object's alarm handler runs, or while a fetch of the object is open: workerd would give up after 30 s and abort the
   * object.
   *
   * Without a name, it evicts all objects of the class. Resolves with the number of objects that were in memory.
   *
   * @param how `webSockets`: "hibernate" (default) keeps accepted WebSockets, as the platform does; "close" closes them.
   */
  async evict(
    binding: string,
    name?: ObjectName,
    how: { readonly webSockets?: "hibernate" | "close" } = {},
  ): Promise<number> {
    const names = name === undefined ? await this.objects(binding) : [name];
    const { webSockets = "hibernate" } = how;
    let evicted = 0;
    for (const each of names) {
      if (await this.#evictOne(this.#findClass(binding), { ...toTarget(each), webSockets })) evicted += 1;
    }
    return evicted;
  }

  /**
   * Aborts an object, as `ctx.abort()` and deployments do: calls in progress fail, WebSockets are lost, stored state is kept, and the next
   * request creates a new instance.
   */
  async abort(binding: string, name: ObjectName, reason = "aborted by a test"): Promise<void> {
    // This call is in progress as well, so it fails.
    await this.#control(binding, name, { ask: "abort", reason }).catch((error: unknown) => {
      if (!(error instanceof Error && error.message.includes(reason))) throw error;
    });
  }

  /**
   * Runs an object's alarm now, even if it is not due, and waits for it. Resolves with false if no alarm is set. Rejects with the
   * exception of the handler; the runtime's retries do not apply. The clock is not changed; if the handler compares times, use `advance`.
   */
  async runAlarm(binding: string, name: ObjectName): Promise<boolean> {
    const command = { kind: "alarm", className: this.#findClass(binding), target: toTarget(name) } as const;
    return (await this.#runAlarms(command)) as boolean;
  }

  /**
   * Moves the Worker's clock ahead, then runs all due alarms, including those that other alarms set. Returns the number of alarms that
   * ran. From then on, `Date` in the Worker and its objects is ahead, even after a restart. Timers are not affected, nor is the clock
   * that the runtime uses to schedule alarms.
   */
  async advance(ms: number): Promise<number> {
    this.#aheadMs += ms;
    await this.#moveClocks();
    let ran = 0;
    for (const className of new Set(this.#prepared.classes.values())) {
      const ids = await this.objects(className);
      ran += (await this.#runAlarms({ kind: "due", className, ids })) as number;
    }
    return ran;
  }

  /** Runs the Worker's `scheduled` handler, as a cron trigger does. Rejects with the exception of the handler. */
  async runCron(cron = "* * * * *"): Promise<void> {
    await (await this.#running().getWorker(WORKER_NAME)).scheduled({ cron });
  }

  /** Runs the Worker's `queue` handler with messages, as a queue with this name does. Rejects with the exception of the handler. */
  async runQueue(queue: string, bodies: readonly unknown[]): Promise<void> {
    const messages = bodies.map((body, index) => ({ id: String(index), timestamp: new Date(), attempts: 1, body }));
    await (await this.#running().getWorker(WORKER_NAME)).queue(queue, messages);
  }

  /** Returns all data that an object stores. Wakes the object. */
  async storage(binding: string, name: ObjectName): Promise<StoredState> {
    return (await this.#control(binding, name, { ask: "storage" })) as StoredState;
  }

  /** Runs an SQL statement in an object. Returns the resulting rows. Wakes the object. */
  async sql(binding: string, name: ObjectName, query: string, ...bindings: readonly unknown[]): Promise<Row[]> {
    return (await this.#control(binding, name, { ask: "sql", query, bindings })) as Row[];
  }

  async #evictOne(className: string, target: DurableObjectEvictionOptions): Promise<boolean> {
    try {
      await this.#running().unsafeEvictDurableObject(WORKER_NAME, className, target);
      return true;
    } catch (error) {
      // The object was no longer in memory.
      if (error instanceof Error && error.message.includes("not currently running")) return false;
      throw error;
    }
  }

  async #moveClocks(): Promise<void> {
    await (await this.#controlWorker()).moveClocks(this.#prepared.clocks, this.#aheadMs);
  }

  async #controlWorker(): Promise<ControlWorker> {
    return (await this.#running().getWorker(CONTROL_NAME)) as unknown as ControlWorker;
  }

  async #control(binding: string, name: ObjectName, asked: Control): Promise<unknown> {
    return toOutcome(await (await this.#controlWorker()).ask(this.#findClass(binding), toTarget(name), asked));
  }

  /** Runs alarms with a fetch, which does not block Node, because an alarm may have to wait for something that the test does. */
  async #runAlarms(command: WaitingCommand): Promise<unknown> {
    const body = JSON.stringify(command);
    const response = await (await this.#controlWorker()).fetch("http://control/", { method: "POST", body });
    return toOutcome((await response.json()) as Controlled);
  }

  #findClass(binding: string): string {
    const { classes } = this.#prepared;
    const found = classes.get(binding);
    if (found !== undefined) return found;
    throw new Error(
      `"${binding}" is not a Durable Object class or binding of this Worker. Available: ${[...classes.keys()].join(", ") || "none"}.`,
    );
  }

  #running(): Miniflare {
    if (this.#miniflare) return this.#miniflare;
    throw new Error("The Worker is not running: it was killed or stopped. Call restart() after kill().");
  }
}

/** The RPC interface of the Worker named CONTROL_NAME. */
interface ControlWorker {
  moveClocks(bindings: readonly string[], ms: number): Promise<void>;
  inRole(className: string, ids: readonly string[], role: RoleName): Promise<string[]>;
  ask(className: string, target: ObjectTarget, asked: Control): Promise<Controlled>;
  fetch(url: string, init: { readonly method: "POST"; readonly body: string }): Promise<{ json(): Promise<unknown> }>;
}

/** Returns the value of an outcome. @throws {Error} if the object threw an exception. */
function toOutcome({ value, failed }: Controlled): unknown {
  if (failed) throw Object.assign(new Error(failed.message), failed);
  return value;
}

function toTarget(name: ObjectName): ObjectTarget {
  return /^[0-9a-f]{64}$/.test(name) ? { id: name } : { name };
}

/** Whether workerd could not start because its port is in use. */
function isPortTaken(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Address already in use");
}
