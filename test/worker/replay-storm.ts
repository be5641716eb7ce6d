/**
 * Very many random handlers at once in one Worker whose process is killed and whose objects are reset all the while. What
 * comes out of each is what comes out of a run that nothing interrupts; a step has its effect again, under the same key,
 * only where something was lost before its handler knew the result.
 */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { nameOfKey, type Straight } from "../properties/replay-person.ts";
import type { Counted } from "./fixtures/replay-storm.ts";

const BINDINGS = { MCP_SESSION: "McpSession", MCP_TASK: "McpTask", SLICED_TASK: "SlicedTask" } as const;

/** What the steps of one attempt did, in order. */
export class Attempt {
  readonly id: string = crypto.randomUUID();
  readonly heard: Counted[] = [];
}

/** A Worker, the server that counts what its handlers do, and what interrupts both. */
export class Storm {
  readonly #server: Server;
  readonly #random: () => number;
  readonly #attempts = new Map<string, Attempt>();
  readonly #seen = new Set<string>();
  #worker!: TestWorker;
  #isOver = false;
  #blowing: Promise<void> = Promise.resolve();
  #restarting: Promise<void> = Promise.resolve();
  /** Beginnings and ends of interruptions so far: odd while one is under way. */
  interruptions = 0;

  private constructor(seed: number) {
    this.#random = randomOf(seed);
    this.#server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on("end", () => {
        const counted = JSON.parse(body) as Counted;
        this.#attempts.get(counted.attempt)?.heard.push(counted);
        // Done, and the step does not know it yet.
        setTimeout(() => response.end(), counted.what === "done" ? this.#random() * 10 : 0);
      });
    });
    // With the default, the server may close an idle connection just as a step reuses it, and the step fails.
    this.#server.keepAliveTimeout = 600_000;
  }

  /** @param binding Whose objects are reset. */
  static async start(seed: number, binding: readonly (keyof typeof BINDINGS)[]): Promise<Storm> {
    const storm = new Storm(seed);
    await new Promise<void>((resolve) => storm.#server.listen(0, "127.0.0.1", resolve));
    const { port } = storm.#server.address() as AddressInfo;
    storm.#worker = await startWorker({
      entry: "test/worker/fixtures/replay-storm.ts",
      objects: BINDINGS,
      bindings: { MCP_KEYS: newKeys(), COUNTER: `http://127.0.0.1:${port}` },
    });
    storm.#blowing = storm.#blow(binding);
    return storm;
  }

  /** How often something has been interrupted so far, one that is under way included. */
  get losses(): number {
    return Math.ceil(this.interruptions / 2);
  }

  url(path: string): string {
    return this.#worker.url(path);
  }

  begin(): Attempt {
    const attempt = new Attempt();
    this.#attempts.set(attempt.id, attempt);
    return attempt;
  }

  forget({ id }: Attempt): void {
    this.#attempts.delete(id);
  }

  /** Repeats what fails while the Worker is not there. */
  async insist<T>(work: () => Promise<T>): Promise<T> {
    for (let time = 0; ; time += 1) {
      try {
        return await work();
      } catch (error) {
        if (time === 300) throw error;
        await pause(20 + time);
        await this.#restarting;
      }
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#blowing;
    await this.#worker.stop();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #blow(bindings: readonly (keyof typeof BINDINGS)[]): Promise<void> {
    while (!this.#isOver) {
      await pause(300 + this.#random() * 1_200);
      if (this.#isOver) return;
      this.interruptions += 1;
      if (this.#random() < 0.3) {
        this.#restarting = this.#worker.restart();
        await this.#restarting;
      } else for (const binding of bindings) await this.#reset(binding);
      this.interruptions += 1;
    }
  }

  /** Breaks some of the objects that were made since the last time. */
  async #reset(binding: keyof typeof BINDINGS): Promise<void> {
    const fresh = (await this.#worker.objects(binding)).filter((id) => !this.#seen.has(id));
    for (const id of fresh) this.#seen.add(id);
    const some = fresh.filter(() => this.#random() < 0.5);
    await Promise.all(some.map((id) => this.#worker.abort(binding, id)));
  }
}

/** @throws {assert.AssertionError} when an attempt gave or did something else than an uninterrupted run. */
export function judgeAttempt(text: string, straight: Straight, { heard }: Attempt, wasInterrupted: boolean): void {
  assert.equal(text, straight.text);
  const of = (what: Counted["what"]) => heard.filter((each) => each.what === what).map(({ key }) => key);
  const [done, failed] = [of("done"), of("failed")];
  assert.deepEqual(distinct(done), distinct(straight.done));
  assert.deepEqual(distinct(failed), distinct(straight.failed));
  assert.ok(new Set([...done, ...failed].map((key) => key.split("/")[0])).size <= 1, "keys of more than one call");
  if (!wasInterrupted) assert.equal(done.length, new Set(done).size, `done again: ${done}`);
  const known = new Set<string>();
  for (const { what, key } of heard) {
    if (what === "known") known.add(key);
    assert.ok(what !== "done" || !known.has(key), `done again though its handler knew the result: ${key}`);
  }
}

const distinct = (keys: readonly string[]) => [...new Set(keys.map(nameOfKey))].sort();

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
