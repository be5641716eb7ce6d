/** A Worker on which scripts run one after the other, and the faults that are injected into it. */
import { setTimeout as delay } from "node:timers/promises";
import type { WorkerEntry } from "../../src/testing/bundle.ts";
import type { StoredState } from "../../src/testing/worker-side.ts";
import { createTags } from "../../src/worker/sessions/event-id.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import type { Place } from "./ledger.ts";
import { HANG_MS } from "./peer.ts";
import type { Fault } from "./script.ts";
import { Switches } from "./switches.ts";
import type { Tally } from "./tally.ts";

const BINDINGS = ["McpObject", "TightObject", "SharedObject"] as const;

/** The maximum time that a script waits for one fault to happen, in milliseconds. */
const STRIKE_MS = 30_000;

/** An object that holds a session. */
export interface SessionHome {
  readonly binding: string;
  readonly id: string;
}

export interface WorldOptions {
  /** Milliseconds that a session lasts. */
  readonly ttlMs: number;
  /** Milliseconds for which a stream can be resumed. */
  readonly resumeMs: number;
  /** A Worker that consists of two builds, between which the faults "deploy" and "rollback" switch. */
  readonly builds?: { readonly entry: WorkerEntry; readonly objects: readonly string[]; readonly wrangler: string };
}

export class World {
  readonly #workerd: Workerd;
  readonly #options: WorldOptions;
  readonly #switches: Switches | undefined;
  readonly #known = new Set<string>();
  /** Objects that must be empty in the end. */
  readonly #left: (SessionHome & { readonly name: string; readonly isDeleted: boolean; readonly sinceMs: number })[] =
    [];
  /** The restart in progress. */
  #restarting: Promise<void> = Promise.resolve();

  private constructor(workerd: Workerd, options: WorldOptions) {
    this.#workerd = workerd;
    this.#options = options;
    this.#switches = options.builds && new Switches(workerd.worker);
  }

  static async start(options: WorldOptions): Promise<World> {
    const workerd = await Workerd.start({
      ...(options.builds ?? { entry: "test/chaos/fixtures/chaos.ts", objects: BINDINGS }),
      bindings: { MCP_KEYS: newKeys(), TTL_MS: options.ttlMs, RESUME_MS: options.resumeMs },
    });
    return new World(workerd, options);
  }

  get origin(): string {
    return this.#workerd.origin;
  }

  /** Milliseconds for which a stream can be resumed. */
  get resumeMs(): number {
    return this.#options.resumeMs;
  }

  stop(): Promise<void> {
    return this.#workerd.stop();
  }

  /** Injects a fault. Resolves when it has happened. */
  async strike(fault: Fault, tally: Tally): Promise<void> {
    if (fault === "kill") {
      tally.count("kills");
      // One after the other, because they use the same port.
      this.#restarting = this.#restarting
        .then(() => this.#workerd.worker.restart())
        .then(() => this.#switches?.choose());
      return this.#restarting;
    }
    await this.#restarting;
    if (fault === "deploy" || fault === "rollback") return this.#switch(fault, tally);
    const work = fault === "hub" ? this.#abort("McpObject", "hub:0", tally) : this.#strikeAll(fault, tally);
    // A kill may come between; and eviction waits for calls, some of which wait for later events.
    await Promise.race([work.catch(() => undefined), delay(STRIKE_MS, undefined, { ref: false })]);
  }

  /** Replaces the build of the Worker and of each object, in a random order. */
  async #switch(fault: "deploy" | "rollback", tally: Tally): Promise<void> {
    tally.count("deploys");
    const named = BINDINGS.flatMap((binding) => ["hub:0", "keys:sealing"].map((id) => ({ binding, id })));
    // A kill may come between. It resets all objects as well.
    const objects = [...named, ...(await this.homes().catch(() => []))];
    await this.#switches?.change(fault === "deploy" ? "new" : "old", objects, () => tally.count("aborts"));
  }

  async #strikeAll(fault: "hibernate" | "close" | "abort", tally: Tally): Promise<void> {
    for (const { binding, id } of await this.homes()) {
      if (fault === "abort") await this.#abort(binding, id, tally);
      else {
        tally.count("evictions");
        await this.#workerd.worker.evict(binding, id, { webSockets: fault });
      }
    }
  }

  #abort(binding: string, name: string, tally: Tally): Promise<void> {
    tally.count("aborts");
    return this.#workerd.worker.abort(binding, name);
  }

  /** The objects of the current script's sessions, if they have stored anything. */
  async homes(): Promise<SessionHome[]> {
    await this.#restarting;
    const all: SessionHome[] = [];
    for (const binding of BINDINGS) {
      for (const id of await this.#workerd.worker.objects(binding)) {
        if (!this.#known.has(id)) all.push({ binding, id });
      }
    }
    return all;
  }

  storage({ binding, id }: SessionHome): Promise<StoredState> {
    return this.#workerd.worker.storage(binding, id);
  }

  /** Called when a script is over: what it has stored must be deleted after its lifetime. */
  leave(homes: readonly SessionHome[], deleted: readonly (Place | undefined)[], name: string): void {
    for (const home of homes) {
      this.#known.add(home.id);
      const isDeleted = deleted.some((place) => isOf(home, place));
      this.#left.push({ ...home, name, isDeleted, sinceMs: Date.now() });
    }
  }

  /** Waits until every session has expired, and checks that nothing is left. */
  async expire(tally: Tally): Promise<void> {
    const { ttlMs, resumeMs } = this.#options;
    for (const home of this.#left.filter(({ isDeleted }) => isDeleted)) {
      await this.#becomes(
        home,
        home.sinceMs + 2 * resumeMs,
        "an ended session stores only that it has ended",
        tally,
        (state) =>
          Object.values(state.tables).every((rows) => rows.length === 0) &&
          Object.keys(state.keys).every((key) => key === "session"),
      );
    }
    for (const home of this.#left.splice(0)) {
      await this.#becomes(
        home,
        home.sinceMs + ttlMs,
        "nothing is left of an expired session",
        tally,
        ({ keys, tables, alarmAtMs }) =>
          Object.keys(keys).length === 0 && Object.keys(tables).length === 0 && alarmAtMs === undefined,
      );
    }
  }

  async #becomes(
    home: SessionHome & { readonly name: string },
    atMs: number,
    what: string,
    tally: Tally,
    holds: (state: StoredState) => boolean,
  ): Promise<void> {
    await delay(Math.max(0, atMs - Date.now()));
    const deadline = Date.now() + HANG_MS;
    let state = await this.storage(home);
    while (!holds(state) && Date.now() < deadline) {
      await delay(100);
      state = await this.storage(home);
    }
    if (holds(state)) return;
    const rows = Object.entries(state.tables).map(([table, { length }]) => `${table}: ${length}`);
    const left = JSON.stringify({ keys: state.keys, rows, alarmInMs: (state.alarmAtMs ?? Date.now()) - Date.now() });
    tally.violate("broken", `${home.name}: ${what}: ${left}`);
  }
}

/**
 * Whether an event id was created for a session of this object.
 *
 * @param tables What the object stores; without it, only a session that is alone in its object is recognised.
 */
export function isOf({ id }: SessionHome, place: Place | undefined, tables: StoredState["tables"] = {}): boolean {
  if (!place) return false;
  const [, streams = []] = Object.entries(tables).find(([name]) => name.startsWith("stream_")) ?? [];
  const rows = (streams as unknown as { id: number; session: number }[]).filter((row) => row.id === place.stream);
  return [0, ...rows.map(({ session }) => session)].some(
    (session) => createTags(id, session)(place.stream) === place.tag,
  );
}
