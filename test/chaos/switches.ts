/** Changes the builds of a Worker that consists of two, as a deploy does: see test/releases/switching-worker.ts. */
import { setTimeout as delay } from "node:timers/promises";
import type { TestWorker } from "../../src/testing/index.ts";
import type { Chosen } from "../releases/switching-worker.ts";

/** The names of the builds in the bundle. */
export type BuildName = "old" | "new";

/** The time in which all objects change, in milliseconds. */
const SPREAD_MS = 250;

const RESET = "reset because its code was updated";

interface ObjectPlace {
  readonly binding: string;
  /** The id or the name of the object. */
  readonly id: string;
}

export class Switches {
  readonly #worker: TestWorker;
  #chosen: Chosen = { worker: "old", objects: "old" };

  constructor(worker: TestWorker) {
    this.#worker = worker;
  }

  /** Sends the chosen builds to the Worker again, which loses them when it is killed. */
  async choose(chosen: Partial<Chosen> = {}): Promise<void> {
    this.#chosen = { ...this.#chosen, ...chosen };
    const body = JSON.stringify(this.#chosen);
    // If the Worker has just been killed, its restart sends them.
    await fetch(this.#worker.url("/__builds"), { method: "POST", body }).catch(() => undefined);
  }

  /**
   * Switches the Worker and each of these objects to another build, each at a random moment. Objects that are created later use
   * the new build.
   */
  async change(to: BuildName, objects: readonly ObjectPlace[], onReset: () => void): Promise<void> {
    const { objects: before, byId } = this.#chosen;
    await this.choose({ objects: to, byId: Object.fromEntries(objects.map(({ id }) => [id, byId?.[id] ?? before])) });
    const worker = delay(Math.random() * SPREAD_MS).then(() => this.choose({ worker: to }));
    const changes = objects.map(async ({ binding, id }) => {
      await delay(Math.random() * SPREAD_MS);
      await this.choose({ byId: { ...this.#chosen.byId, [id]: to } });
      // The platform resets an object whose code changes. A kill in the meantime has done the same.
      await this.#worker.abort(binding, id, RESET).then(onReset, () => undefined);
    });
    await Promise.all([worker, ...changes]);
  }
}
