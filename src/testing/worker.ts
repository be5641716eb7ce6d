/**
 * A Worker on real workerd: real sockets, real Durable Objects, state on disk. One process; it can be killed and started
 * again on the same state and the same port, and its objects can be made to forget, to wake, or to break.
 */
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { DurableObjectEvictionOptions, Miniflare } from "miniflare";
import type { RoleName } from "../worker/roles.ts";
import { collectChildren, killNow, runningOf } from "./children.ts";
import { type PreparedWorker, prepare, type WorkerOptions } from "./configuration.ts";
import type { Controlled, ObjectTarget } from "./control-worker.ts";
import { CONTROL_NAME, WORKER_NAME } from "./names.ts";
import { choosePort } from "./port.ts";
import { loadMiniflare } from "./tools.ts";
import type { Control, StoredState } from "./worker-side.ts";

export type { WorkerOptions } from "./configuration.ts";

/** A Durable Object: its id of 64 hexadecimal digits, or the name it was made from. */
export type ObjectName = string;

/** One row of a query. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Starts a Worker on workerd and resolves when it answers. Stop it in the end: it is a process, and it keeps its state in
 * a temporary folder. Needs wrangler 4.155.0 or newer in the project.
 *
 * ```ts
 * await using worker = await startWorker({ wrangler: "wrangler.toml", bindings: { MCP_KEYS: newKeys() } });
 * const response = await fetch(`${worker.origin}/mcp`, { method: "POST", body });
 * ```
 *
 * @throws {Error} saying what to install when wrangler is missing or too old.
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

/** A running Worker. Made by `startWorker`. */
export class TestWorker implements AsyncDisposable {
  readonly #prepared: PreparedWorker;
  readonly #root: string;
  readonly #children: ChildProcess[] = [];
  #miniflare: Miniflare | undefined;
  #port: number | undefined;
  /** How far the Worker's clock is ahead. */
  #aheadMs = 0;

  /** Folder with what the Worker stores. `stop` deletes it. */
  readonly stateFolder: string = mkdtempSync(join(tmpdir(), "mcp-edge-"));

  /** Use `startWorker`. */
  constructor(prepared: PreparedWorker, root: string) {
    this.#prepared = prepared;
    this.#root = root;
  }

  /** Such as `http://127.0.0.1:21234`: the same before and after a restart. */
  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Process id of workerd; undefined while it does not run. */
  get pid(): number | undefined {
    return runningOf(this.#children)?.pid;
  }

  /** An address within the Worker. */
  url(path: string): string {
    return new URL(path, this.origin).href;
  }

  /**
   * Ends workerd as a crash would (SIGKILL). When it resolves, the process has ended, its connections are lost and new
   * ones are refused. Acknowledged writes of objects are on disk.
   */
  async kill(): Promise<void> {
    const miniflare = this.#miniflare;
    this.#miniflare = undefined;
    const child = runningOf(this.#children);
    const killed = child && killNow(child);
    // Begun before it sees that its process is gone, since it would start another.
    await miniflare?.dispose().catch(() => undefined);
    await killed;
  }

  /** Starts the Worker on the state there is, at the same port. Kills it first when it runs. */
  async restart(): Promise<void> {
    await this.kill();
    const { Miniflare, convertV4MiniflareOptions } = await loadMiniflare(this.#root);
    this.#port ??= await choosePort();
    const options = convertV4MiniflareOptions({
      workers: this.#prepared.workers as never,
      resourcePersistencePath: this.stateFolder,
      host: "127.0.0.1",
      port: this.#port,
      // Else it asks the network where it is.
      cf: false,
    });
    this.#miniflare = collectChildren(this.#children, () => new Miniflare(options));
    await this.#miniflare.ready;
    if (this.#aheadMs > 0) await this.#moveClocks();
  }

  /** Stops the Worker and deletes its state. */
  async stop(): Promise<void> {
    const miniflare = this.#miniflare;
    this.#miniflare = undefined;
    await miniflare?.dispose();
    rmSync(this.stateFolder, { recursive: true, force: true });
  }

  /** The same as `stop()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * Ids of the objects of a class that have been awake, ever: workerd gives each an empty database. Wakes none.
   *
   * @param binding Name of the exported class, or of a binding to it. So it is for the other methods.
   * @param role Only objects of the endpoint that play this role. Wakes them.
   */
  async objects(binding: string, role?: RoleName): Promise<string[]> {
    const className = this.#classOf(binding);
    const ids = await this.#running().listDurableObjectIds(className, WORKER_NAME);
    return role === undefined ? ids : (await this.#controlWorker()).inRole(className, ids, role);
  }

  /**
   * Takes objects out of memory, as the platform does with idle ones: stored state stays, fields are lost, the next
   * request makes a new instance. Waits for requests the object is serving, so not to be awaited by one of them. Not while
   * its alarm handler runs or a fetch of it is open: workerd then gives up after 30 s, and the object with it.
   *
   * Without a name: all objects of the class that have been awake. Resolves with how many were in memory.
   *
   * @param how `webSockets`: "hibernate" (default) keeps accepted WebSockets, as the platform does; "close" ends them.
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
      if (await this.#evictOne(this.#classOf(binding), { ...targetOf(each), webSockets })) evicted += 1;
    }
    return evicted;
  }

  /**
   * Breaks an object as `ctx.abort()` and deployments do: calls in flight fail, WebSockets are lost, stored state stays,
   * the next request makes a new instance.
   */
  async abort(binding: string, name: ObjectName, reason = "aborted by a test"): Promise<void> {
    // The call is itself in flight.
    await this.#control(binding, name, { ask: "abort", reason }).catch((error: unknown) => {
      if (!(error instanceof Error && error.message.includes(reason))) throw error;
    });
  }

  /**
   * Runs an object's alarm at once, whenever it is due, and waits for it. Resolves with false when none is set; rejects
   * with what the handler throws, without the runtime's retries. The clock is not moved: see
   * `advance` for a handler that compares times.
   */
  async runAlarm(binding: string, name: ObjectName): Promise<boolean> {
    return (await this.#control(binding, name, { ask: "alarm", onlyIfDue: false })) as boolean;
  }

  /**
   * Moves the Worker's clock ahead, then runs the alarms that are due by it, and those that these set and that are due
   * as well. Returns how many ran. `Date` in the Worker and its objects is ahead from then on, after a restart too.
   * Timers are not moved, nor is the clock by which the runtime itself runs alarms.
   */
  async advance(ms: number): Promise<number> {
    this.#aheadMs += ms;
    await this.#moveClocks();
    let ran = 0;
    for (const className of new Set(this.#prepared.classes.values())) {
      for (const id of await this.objects(className)) ran += await this.#runDue(className, id);
    }
    return ran;
  }

  /** Runs the Worker's handler `scheduled`, as its cron would. Rejects with what it throws. */
  async runCron(cron = "* * * * *"): Promise<void> {
    await (await this.#running().getWorker(WORKER_NAME)).scheduled({ cron });
  }

  /** Hands messages to the Worker's handler `queue`, as a queue of that name would. Rejects with what it throws. */
  async runQueue(queue: string, bodies: readonly unknown[]): Promise<void> {
    const messages = bodies.map((body, index) => ({ id: String(index), timestamp: new Date(), attempts: 1, body }));
    await (await this.#running().getWorker(WORKER_NAME)).queue(queue, messages);
  }

  /** All that an object stores. Wakes it. */
  async storage(binding: string, name: ObjectName): Promise<StoredState> {
    return (await this.#control(binding, name, { ask: "storage" })) as StoredState;
  }

  /** Runs one SQL statement in an object and returns its rows. Wakes it. */
  async sql(binding: string, name: ObjectName, query: string, ...bindings: readonly unknown[]): Promise<Row[]> {
    return (await this.#control(binding, name, { ask: "sql", query, bindings })) as Row[];
  }

  async #evictOne(className: string, target: DurableObjectEvictionOptions): Promise<boolean> {
    try {
      await this.#running().unsafeEvictDurableObject(WORKER_NAME, className, target);
      return true;
    } catch (error) {
      // It went by itself: what was wanted.
      if (error instanceof Error && error.message.includes("not currently running")) return false;
      throw error;
    }
  }

  async #runDue(binding: string, id: string): Promise<number> {
    for (let ran = 0; ran < ALARMS_MAX; ran += 1) {
      if (!(await this.#control(binding, id, { ask: "alarm", onlyIfDue: true }))) return ran;
    }
    throw new Error(
      `Object ${id} of ${binding} had ${ALARMS_MAX} alarms that were due: it sets the next one in the past.`,
    );
  }

  async #moveClocks(): Promise<void> {
    await (await this.#controlWorker()).moveClocks(this.#prepared.clocks, this.#aheadMs);
  }

  async #controlWorker(): Promise<ControlWorker> {
    return (await this.#running().getWorker(CONTROL_NAME)) as unknown as ControlWorker;
  }

  async #control(binding: string, name: ObjectName, asked: Control): Promise<unknown> {
    const { value, failed } = await (await this.#controlWorker()).ask(this.#classOf(binding), targetOf(name), asked);
    if (failed) throw Object.assign(new Error(failed.message), failed);
    return value;
  }

  #classOf(binding: string): string {
    const { classes } = this.#prepared;
    const found = classes.get(binding);
    if (found !== undefined) return found;
    throw new Error(
      `"${binding}" is no Durable Object class or binding of this Worker. It has: ${[...classes.keys()].join(", ") || "none"}.`,
    );
  }

  #running(): Miniflare {
    if (this.#miniflare) return this.#miniflare;
    throw new Error("The Worker does not run: it was killed or stopped.");
  }
}

/** More alarms than any object needs in one advance of the clock. */
const ALARMS_MAX = 1_000;

/** What the Worker named CONTROL_NAME answers to. */
interface ControlWorker {
  moveClocks(bindings: readonly string[], ms: number): Promise<void>;
  inRole(className: string, ids: readonly string[], role: RoleName): Promise<string[]>;
  ask(className: string, target: ObjectTarget, asked: Control): Promise<Controlled>;
}

function targetOf(name: ObjectName): ObjectTarget {
  return /^[0-9a-f]{64}$/.test(name) ? { id: name } : { name };
}
