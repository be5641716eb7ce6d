/** Lets clients come and go for a while, and looks whether the server is back where it was afterwards. */
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
  /** Milliseconds during which clients come, after the warm-up. */
  readonly forMs: number;
  /** Milliseconds of the same before the first measurement, in which caches and the heap grow to their size. */
  readonly warmUpMs: number;
  /** Clients at the same time. */
  readonly atOnce: number;
  readonly seed: number;
  /** Makes the server leak on purpose. */
  readonly leak?: readonly Leak[];
  readonly report?: (line: string) => void;
}

/** What is measured while no client is connected and no object is in memory. */
export interface Level {
  /** What objects of JavaScript use. */
  readonly heapMib: number;
  /** The resident memory of workerd, which keeps what it needed at its busiest moment. */
  readonly memoryMib: number;
  readonly descriptors: number;
}

export interface Soak {
  /** Clients that came after the warm-up, by what they did. */
  readonly clients: ReadonlyMap<string, number>;
  readonly before: Level;
  readonly after: Level;
  /** What all objects store in the end. */
  readonly left: { readonly objects: number; readonly rows: number; readonly alarms: number };
  /** What is not back where it was, and answers that no client may get. Empty if all is well. */
  readonly findings: readonly string[];
}

/** MiB by which the heap may differ: compiled code, and garbage that was not collected yet. */
const HEAP_MIB_MAX = 4;
/** workerd keeps some connections to itself and to Node open. */
const DESCRIPTORS_MAX = 16;
/** Milliseconds after which every session has expired and every idle object has left memory: ten seconds after its last use. */
const SETTLE_MS = 16_000;
/** Milliseconds in which the last alarms may run. */
const ALARMS_MS = 60_000;
/** Findings that are kept. */
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

  /** Each place is taken by one client after the other. */
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

  /** Adds up what all objects store. An object whose alarm is about to run gets the time for it. */
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
