/** Lets clients come and go for a while, and checks whether the server then returns to its initial state. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { choosePort } from "../../src/node/free-port.ts";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Random } from "../../test/chaos/random.ts";
import { ROOT } from "../tools.ts";
import { CLIENTS, Unexpected } from "./clients.ts";
import { heapMib } from "./heap.ts";
import type { Leak } from "./leaks.ts";

export interface SoakOptions {
  /** How long clients come after the warm-up, in milliseconds. */
  readonly forMs: number;
  /** How long clients come before the first measurement, in milliseconds, so that caches and the heap reach their usual size. */
  readonly warmUpMs: number;
  /** The number of concurrent clients. */
  readonly atOnce: number;
  readonly seed: number;
  /** Makes the server leak on purpose. */
  readonly leak?: readonly Leak[];
  readonly report?: (line: string) => void;
}

/** A measurement while no client is connected and no object is in memory. */
export interface Level {
  /** The memory that JavaScript objects use, in MiB. */
  readonly heapMib: number;
  /** The resident memory of workerd, in MiB. workerd keeps the memory that it needed at its busiest moment. */
  readonly memoryMib: number;
  readonly descriptors: number;
}

export interface Soak {
  /** The number of clients after the warm-up, by their action. */
  readonly clients: ReadonlyMap<string, number>;
  readonly before: Level;
  readonly after: Level;
  /** The data that all objects store at the end. */
  readonly left: { readonly objects: number; readonly rows: number; readonly alarms: number };
  /** Values that have not returned to their initial level, and responses that no client may receive. Empty if there are none. */
  readonly findings: readonly string[];
}

/** The tolerated growth of the heap, in MiB: compiled code, and garbage that was not collected yet. */
const HEAP_MIB_MAX = 4;
/** The tolerated number of additional descriptors, because workerd keeps some connections to itself and to Node open. */
const DESCRIPTORS_MAX = 16;
/** The time after which every session has expired and every idle object has left memory, in milliseconds. Objects stay for ten seconds. */
const SETTLE_MS = 16_000;
/** How long the last alarms may take, in milliseconds. */
const ALARMS_MS = 60_000;
/** The maximum number of findings that are kept. */
const FINDINGS_MAX = 20;

export async function soak(options: SoakOptions): Promise<Soak> {
  const inspectorPort = await choosePort();
  await using worker = await startWorker({
    inspectorPort,
    entry: "scripts/soak/worker.ts",
    root: ROOT,
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys(), ...(options.leak ? { LEAK: options.leak } : {}) },
  });
  return await new Run(worker, inspectorPort, options).all();
}

class Run {
  readonly #worker: TestWorker;
  readonly #inspectorPort: number;
  readonly #options: SoakOptions;
  readonly #random: Random;
  readonly #findings: string[] = [];
  #clients = new Map<string, number>();

  constructor(worker: TestWorker, inspectorPort: number, options: SoakOptions) {
    this.#inspectorPort = inspectorPort;
    this.#worker = worker;
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  async all(): Promise<Soak> {
    const { forMs, warmUpMs, report } = this.#options;
    await this.#clientsFor(warmUpMs);
    const before = await this.#settled();
    report?.(`after the warm-up: ${describe(before)}`);
    this.#clients = new Map();
    await this.#clientsFor(forMs);
    const after = await this.#settled();
    report?.(`at the end: ${describe(after)}`);
    const left = await this.#left();
    this.#compare(before, after, left);
    return { clients: this.#clients, before, after, left, findings: this.#findings };
  }

  /** Runs a fixed number of clients concurrently. Each client that ends is replaced by another one. */
  async #clientsFor(ms: number): Promise<void> {
    const untilMs = Date.now() + ms;
    const place = async () => {
      while (Date.now() < untilMs) await this.#client();
    };
    await Promise.all(Array.from({ length: this.#options.atOnce }, place));
  }

  async #client(): Promise<void> {
    const names = [...CLIENTS.keys()];
    const name = names[this.#random.int(0, names.length - 1)] ?? "";
    this.#clients.set(name, (this.#clients.get(name) ?? 0) + 1);
    try {
      await CLIENTS.get(name)?.({ url: this.#worker.url("/mcp"), random: this.#random });
    } catch (error) {
      const what = error instanceof Unexpected ? error.message : String(error).slice(0, 300);
      this.#find(`a client that ${name}: ${what}`);
    }
  }

  /** Waits until no session is alive and no object in memory. */
  async #settled(): Promise<Level> {
    this.#options.report?.(`${[...this.#clients.values()].reduce((sum, each) => sum + each, 0)} clients have left`);
    await pause(SETTLE_MS);
    const descriptors = readdirSync(`/proc/${this.#worker.pid}/fd`).length;
    return { heapMib: await heapMib(this.#worker, this.#inspectorPort), memoryMib: this.#memoryMib(), descriptors };
  }

  #memoryMib(): number {
    const status = readFileSync(`/proc/${this.#worker.pid}/status`, "utf8");
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  }

  /** Counts what all objects store. Waits for an object whose alarm is about to run. */
  async #left(): Promise<Soak["left"]> {
    const ids = await this.#worker.objects("McpObject");
    const untilMs = Date.now() + ALARMS_MS;
    let [rows, alarms] = [0, 0];
    for (const id of ids) {
      let stored = await this.#stored(id);
      while (stored.rows + stored.alarms > 0 && Date.now() < untilMs) {
        await pause(500);
        stored = await this.#stored(id);
      }
      rows += stored.rows;
      alarms += stored.alarms;
    }
    return { objects: ids.length, rows, alarms };
  }

  async #stored(id: string): Promise<{ rows: number; alarms: number }> {
    const { keys, tables, alarmAtMs } = await this.#worker.storage("McpObject", id);
    const rows = Object.values(tables).reduce((sum, each) => sum + each.length, Object.keys(keys).length);
    return { rows, alarms: alarmAtMs === undefined ? 0 : 1 };
  }

  #compare(before: Level, after: Level, { rows, alarms }: Soak["left"]): void {
    const grown = after.heapMib - before.heapMib;
    if (grown > HEAP_MIB_MAX) this.#find(`memory grew by ${grown.toFixed(1)} MiB, from ${before.heapMib} MiB`);
    const opened = after.descriptors - before.descriptors;
    if (opened > DESCRIPTORS_MAX) this.#find(`${opened} descriptors more are open than before`);
    if (rows > 0) this.#find(`${rows} rows were not deleted`);
    if (alarms > 0) this.#find(`${alarms} alarms are set`);
  }

  #find(what: string): void {
    if (this.#findings.length < FINDINGS_MAX) this.#findings.push(what);
  }
}

function describe({ heapMib, memoryMib, descriptors }: Level): string {
  return `a heap of ${heapMib} MiB, ${memoryMib} MiB resident, ${descriptors} descriptors`;
}
