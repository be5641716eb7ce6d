/**
 * Many random handlers at once in one Worker. Each loses its object at points that its name determines
 * (fixtures/fuse.ts), and now and then all of them lose the process. Each result must equal that of an uninterrupted
 * run; a step may repeat its effect, under the same key, only if something was lost before its handler got the result.
 */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { nameOfKey, type Straight } from "../properties/replay-person.ts";
import type { Interrupted } from "../properties/replay-runs.ts";
import type { Counted } from "./fixtures/replay-storm.ts";
import { send } from "./replay-storm-http.ts";

/** Minimum and maximum milliseconds before the first loss of the process. */
const FIRST_MS = [300, 1_500] as const;
/** Minimum and maximum number of attempts that end between two losses: a slow machine loses its process less often. */
const LATER = [400, 1_200] as const;
/** Milliseconds until the next loss if fewer attempts have ended. */
const LATER_MS = 60_000;

/** One attempt at a case. Another attempt follows if its client could not resume it. */
export class Attempt {
  /** Unique, and the same when the case is repeated. */
  readonly id: string;
  /** The effects of its steps, in order. */
  readonly heard: Counted[] = [];
  /** The number of times that the process was lost meanwhile. */
  kills = 0;

  constructor(id: string) {
    this.id = id;
  }
}

/** A Worker, the server that counts the effects of its handlers, and the code that interrupts both. */
export class Storm {
  readonly #server: Server;
  readonly #random: () => number;
  readonly #attempts = new Map<string, Attempt>();
  /** The points at which objects were lost, by the id of the attempt. */
  readonly #losses = new Map<string, readonly string[]>();
  readonly #killed = new Set<string>();
  #worker!: TestWorker;
  #isOver = false;
  /** Attempts that have to end before the process is lost again. */
  #calm = 0;
  /** Ends the wait for them. */
  #wake = new AbortController();
  #blowing: Promise<void> = Promise.resolve();
  #restarting: Promise<void> = Promise.resolve();

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
        // The effect is done, but the step has no result yet.
        setTimeout(() => response.end(), counted.what === "done" ? this.#random() * 10 : 0);
      });
    });
    // With the default, the server may close an idle connection just as a step reuses it, and the step fails.
    this.#server.keepAliveTimeout = 600_000;
  }

  /** @param how Whether the process is lost as well. */
  static async start(seed: number, how: { readonly isKilled: boolean } = { isKilled: true }): Promise<Storm> {
    const storm = new Storm(seed);
    await new Promise<void>((resolve) => storm.#server.listen(0, "127.0.0.1", resolve));
    const { port } = storm.#server.address() as AddressInfo;
    storm.#worker = await startWorker({
      entry: "test/worker/fixtures/replay-storm.ts",
      objects: ["SessionsObject", "McpObject", "SlicedObject"],
      bindings: { MCP_KEYS: newKeys(), COUNTER: `http://127.0.0.1:${port}` },
    });
    if (how.isKilled) storm.#blowing = storm.#blow();
    return storm;
  }

  url(path: string): string {
    return this.#worker.url(path);
  }

  begin(id: string): Attempt {
    const attempt = new Attempt(id);
    this.#attempts.set(id, attempt);
    return attempt;
  }

  forget({ id, kills }: Attempt): void {
    this.#attempts.delete(id);
    if (kills > 0) this.#killed.add(id);
    this.#calm -= 1;
    if (this.#calm === 0) this.#wake.abort();
  }

  /** The number of times that an attempt has lost its object or the process. */
  async lossesOf(id: string): Promise<number> {
    await this.insist(() => this.#collect());
    return (this.#attempts.get(id)?.kills ?? 0) + (this.#losses.get(id)?.length ?? 0);
  }

  /** Repeats `work` while the Worker is unavailable. */
  async insist<T>(work: () => Promise<T>): Promise<T> {
    for (let time = 0; ; time += 1) {
      try {
        return await work();
      } catch (error) {
        if (time === 300) throw error;
        await pause(Math.min(10 * 2 ** time, 200));
        await this.#restarting;
      }
    }
  }

  /** Which attempts were interrupted, and where. */
  interrupted(): Interrupted {
    const lost = [...this.#losses].filter(([, points]) => points.length > 0);
    return {
      killed: [...this.#killed],
      lost: lost.map(([id]) => id),
      points: lost.flatMap(([, points]) => points),
    };
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#wake.abort();
    await this.#blowing;
    await this.#collect().catch(() => undefined);
    await this.#worker.stop();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** @param last Whether the process ends after this. */
  async #collect(last = false): Promise<void> {
    const reply = await send(this.url(last ? "/losses?last" : "/losses"), {});
    for (const [id, points] of JSON.parse(await reply.text()) as [string, string[]][]) {
      this.#losses.set(id, points);
    }
  }

  async #blow(): Promise<void> {
    for (let waitMs = this.#between(FIRST_MS); !this.#isOver; waitMs = LATER_MS) {
      await pause(waitMs, undefined, { signal: this.#wake.signal }).catch(() => undefined);
      if (this.#isOver) return;
      await this.#collect(true).catch(() => undefined);
      const isHit = new Set(this.#attempts.values());
      this.#restarting = this.#worker.restart();
      await this.#restarting;
      // Including those that began before the process was gone.
      for (const attempt of [...isHit, ...this.#attempts.values()]) isHit.add(attempt);
      for (const attempt of isHit) attempt.kills += 1;
      this.#calm = Math.round(this.#between(LATER));
      this.#wake = new AbortController();
    }
  }

  #between([least, most]: readonly [number, number]): number {
    return least + this.#random() * (most - least);
  }
}

/**
 * @throws {assert.AssertionError} when the result or effects of an attempt differ from those of an uninterrupted run.
 */
export function judgeAttempt(text: string, straight: Straight, { heard, kills }: Attempt): void {
  assert.equal(text, straight.text);
  const of = (what: Counted["what"]) => heard.filter((each) => each.what === what).map(({ key }) => key);
  const [done, failed] = [of("done"), of("failed")];
  assert.deepEqual(distinct(done), distinct(straight.done));
  assert.deepEqual(distinct(failed), distinct(straight.failed));
  assert.ok(new Set([...done, ...failed].map((key) => key.split("/")[0])).size <= 1, "keys of more than one call");
  const wasInterrupted = kills > 0 || heard.some(({ losses }) => losses > 0);
  if (!wasInterrupted) assert.equal(done.length, new Set(done).size, `done again: ${done}`);
  const known = new Set<string>();
  for (const { what, key } of heard) {
    if (what === "known") known.add(key);
    assert.ok(what !== "done" || !known.has(key), `done again though its handler knew the result: ${key}`);
  }
}

const distinct = (keys: readonly string[]) => [...new Set(keys.map(nameOfKey))].sort();

/** Returns a generator of numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
