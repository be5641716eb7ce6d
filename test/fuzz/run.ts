/** Sends inputs generated from a seed to a server on workerd, and collects findings. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Random } from "../chaos/random.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { type Exchange, Exchanger } from "./exchange.ts";
import { findInvalidMessage, findProblem } from "./findings.ts";
import { Grammar, type Input } from "./grammar.ts";
import { LiveValues } from "./live.ts";

export interface FuzzOptions {
  readonly seed: number;
  readonly count: number;
  /** Number of concurrent requests. */
  readonly connections: number;
  /** One response in this many is checked against the schemas. */
  readonly checkEvery: number;
  /** Called from time to time with the progress. */
  readonly report?: (line: string) => void;
}

export interface FuzzResult {
  readonly count: number;
  /** Number of responses by status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Number of responses whose messages were checked against the schemas. */
  readonly checked: number;
  /** Number of inputs that were slower than a second once, but not when they were repeated. */
  readonly slowOnce: number;
  /** Descriptions of violations, with the input that caused them. */
  readonly findings: readonly string[];
  /** Memory of workerd in MiB, after the warm-up and at the end. */
  readonly memoryMib: { readonly before: number; readonly after: number };
}

/** How long a response may take until it counts as slow, in milliseconds. */
const SLOW_MS = 1_000;
/** A response is a finding if it is slow this many times in a row without other requests. */
const REPEATS = 3;
/** The number of findings that are kept. */
const FINDINGS_MAX = 40;
/** MiB by which memory may have grown: caches of bounded size, and a heap that was not compacted. */
export const MEMORY_MIB_MAX = 96;
/**
 * Inputs after which the heap has its final size and every cache is full, as measured. Fewer say nothing about memory.
 */
const WARM_UP = 250_000;
/** Milliseconds in which memory may return to its level: objects stay for ten seconds after their last request. */
const SETTLE_MS = 90_000;

export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const workerd = await Workerd.start({
    entry: "test/fuzz/fixtures/target.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
  try {
    return await new Run(workerd, options).all();
  } finally {
    await workerd.stop();
  }
}

class Run {
  readonly #workerd: Workerd;
  readonly #options: FuzzOptions;
  readonly #exchanger: Exchanger;
  readonly #live = new LiveValues();
  readonly #grammar: Grammar;
  readonly #statuses = new Map<number, number>();
  readonly #findings: string[] = [];
  readonly #slow: Input[] = [];
  #sent = 0;
  #checked = 0;

  constructor(workerd: Workerd, options: FuzzOptions) {
    this.#workerd = workerd;
    this.#options = options;
    this.#exchanger = new Exchanger(workerd.origin, options.connections);
    this.#grammar = new Grammar(new Random(options.seed), this.#live);
  }

  async all(): Promise<FuzzResult> {
    const { count } = this.#options;
    await this.#send(Math.min(count, Math.max(WARM_UP, count / 20)));
    const before = await this.#memory();
    await this.#send(count);
    const slowOnce = await this.#repeatSlow();
    this.#exchanger.close();
    await this.#readUnexpected();
    const after = await this.#settledMemory(before);
    if (after - before > MEMORY_MIB_MAX) this.#find(`memory grew from ${before} to ${after} MiB`);
    return {
      count: this.#sent,
      statuses: this.#statuses,
      checked: this.#checked,
      slowOnce,
      findings: this.#findings,
      memoryMib: { before, after },
    };
  }

  async #send(until: number): Promise<void> {
    const { connections } = this.#options;
    const worker = async () => {
      while (this.#sent < until) {
        this.#sent += 1;
        await this.#one(this.#grammar.next(), this.#sent);
      }
    };
    await Promise.all(Array.from({ length: connections }, worker));
  }

  async #one(input: Input, number: number): Promise<void> {
    const { checkEvery, count, report } = this.#options;
    const exchange = await this.#exchanger.send(input);
    this.#statuses.set(exchange.status, (this.#statuses.get(exchange.status) ?? 0) + 1);
    this.#live.harvest(exchange.headers, exchange.body);
    const problem =
      findProblem(input, exchange) ??
      (input.method !== "HEAD" && number % checkEvery === 0 ? this.#check(exchange) : undefined);
    if (problem !== undefined) this.#find(`input ${number}: ${problem}\n${describe(input)}`);
    if (exchange.waitedMs > SLOW_MS && !mayWait(input)) this.#slow.push(input);
    if (report && number % Math.ceil(count / 20) === 0) {
      report(`${number} of ${count}: ${this.#findings.length} findings, ${await this.#memory()} MiB`);
    }
  }

  #check(exchange: Exchange): string | undefined {
    this.#checked += 1;
    try {
      return findInvalidMessage(exchange);
    } catch (error) {
      // A stream that was left may end within an event; a complete response must be JSON.
      return exchange.isComplete ? `the answer is not JSON: ${String(error)}` : undefined;
    }
  }

  /** Repeats slow inputs without other requests, so that a busy machine is not a finding. */
  async #repeatSlow(): Promise<number> {
    let slowOnce = 0;
    for (const input of this.#slow.slice(0, 200)) {
      let slow = 0;
      for (let repeat = 0; repeat < REPEATS; repeat += 1) {
        const { waitedMs } = await this.#exchanger.send(input);
        if (waitedMs <= SLOW_MS) break;
        slow += 1;
      }
      if (slow === REPEATS) this.#find(`slower than ${SLOW_MS} ms ${REPEATS} times, alone\n${describe(input)}`);
      else slowOnce += 1;
    }
    return slowOnce;
  }

  async #readUnexpected(): Promise<void> {
    const response = await fetch(`${this.#workerd.origin}/unexpected`);
    for (const told of (await response.json()) as string[]) this.#find(`onError was called: ${told}`);
  }

  #find(finding: string): void {
    if (this.#findings.length < FINDINGS_MAX) this.#findings.push(finding);
  }

  /** Resident memory of workerd in MiB. */
  async #memory(): Promise<number> {
    const status = readFileSync(`/proc/${this.#workerd.pid}/status`, "utf8");
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  }

  /** Waits until memory is back to its level, at most `SETTLE_MS`. */
  async #settledMemory(before: number): Promise<number> {
    const endAtMs = Date.now() + SETTLE_MS;
    let memory = await this.#memory();
    while (memory - before > MEMORY_MIB_MAX && Date.now() < endAtMs) {
      await delay(2_000);
      // A request gives the garbage collector an opportunity to run.
      await fetch(`${this.#workerd.origin}/unexpected`).then((response) => response.text());
      memory = await this.#memory();
    }
    return memory;
  }
}

/** Requests that wait on purpose: for a task to end, or for a change. */
function mayWait({ rpc, body }: Input): boolean {
  return rpc === "tasks/result" || rpc === "batch" || (body?.includes("tasks/result") ?? false);
}

function describe({ method, path, headers, body }: Input): string {
  return `${method} ${path} ${JSON.stringify(headers)}\n${body?.subarray(0, 2_000).toString("utf8") ?? "(no body)"}`;
}
