/**
 * Runs a script with our client and checks these rules:
 *
 * - Every call ends within two minutes: with its result, or with an error that says whether it may have run.
 * - A call that has a result ran exactly once, and the result is that of this run.
 * - A call that failed ran at most once; if the error says that it did not run (`mayHaveRun: false`), not at all.
 * - Without a fault every call has its result.
 * - Afterwards every client can be used, and clients that listen are notified of a change.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type Client, ClientError, type ClientEvent, connect, McpError } from "../../src/client/index.ts";
import { type ClientScript, type ClientsScript, clientsScriptOf, type PayLane } from "./client-script.ts";
import { ClientWorld } from "./client-world.ts";
import { Tally } from "./tally.ts";

/** A longer wait counts as hanging: a restart takes 12 s on a busy machine, and a call that it interrupted 10 s more. */
const HANG_MS = 120_000;

export interface ClientSeedsOptions {
  readonly first: number;
  readonly count: number;
  /** The number of concurrent Workers. */
  readonly worlds: number;
  readonly report: (text: string) => void;
}

/** Runs the scripts of many seeds. A violation is reported with its seed, its script and its trace. */
export async function runClientSeeds(
  { first, count, worlds, report }: ClientSeedsOptions,
  tally: Tally,
): Promise<void> {
  let next = first;
  const work = async () => {
    const world = await ClientWorld.start();
    try {
      while (next < first + count) {
        const run = new ClientRun(clientsScriptOf(next++), world);
        await run.play();
        tally.add(run.tally);
        const { violations } = run.tally;
        if (violations.length > 0) report(`${JSON.stringify(run.script)}\n${run.lines.join("\n")}`);
        for (const { violation, what } of violations) report(`  ${violation}: ${what}`);
      }
    } finally {
      await world.stop();
    }
  };
  await Promise.all(Array.from({ length: Math.min(worlds, count) }, work));
}

interface Joined {
  readonly name: string;
  readonly script: ClientScript;
  readonly client: Client;
  /** Changes of the tools that it has heard of. */
  heard: number;
}

/** How a call ended: with a result, or with an error. */
interface Outcome {
  readonly key: string;
  readonly said?: string;
  readonly error?: unknown;
}

class ClientRun {
  readonly script: ClientsScript;
  readonly tally = new Tally();
  /** What happened, with its time. */
  readonly lines: string[] = [];
  readonly #world: ClientWorld;
  readonly #startedAtMs = Date.now();

  constructor(script: ClientsScript, world: ClientWorld) {
    this.script = script;
    this.#world = world;
    this.tally.count("seeds");
  }

  async play(): Promise<void> {
    const { clients, faults } = this.script;
    const joined = await Promise.all(clients.map((script, index) => this.#join(script, index)));
    const calls = joined.flatMap((each) => each.script.calls.map((lane, index) => this.#call(each, lane, index)));
    const strikes = faults.map(async (fault) => {
      await delay(fault.atMs);
      this.#trace(fault.fault);
      await this.#world.strike(fault, this.tally);
      this.#trace(`${fault.fault} is done`);
    });
    // Bytes are cut until the end, so a call could not end before.
    await Promise.all([...strikes, delay(800)]);
    await this.#world.heal();
    for (const outcome of await Promise.all(calls)) await this.#check(outcome);
    for (const each of joined) await this.#checkUse(each);
    for (const { client } of joined) await client.close();
    await this.#world.leave();
  }

  async #join(script: ClientScript, index: number): Promise<Joined> {
    const name = `${this.script.seed}.${index + 1}`;
    const onEvent = (event: ClientEvent) => {
      if (event.type !== "handler-failed") this.#trace(`${name} ${JSON.stringify(event)}`);
    };
    const options = {
      name,
      version: "1.0.0",
      protocolVersions: [script.version],
      onEvent,
      timeoutMs: HANG_MS,
      probeTimeoutMs: HANG_MS,
    };
    const onToolsChanged = () => {
      joined.heard += 1;
    };
    const all = script.listens ? { ...options, onToolsChanged } : options;
    // A connection that an earlier script has cut may still be in the pool of fetch.
    const client = await connect(this.#world.url, all).catch(() => connect(this.#world.url, all));
    const joined: Joined = { name, script, client, heard: 0 };
    return joined;
  }

  async #call({ client, name }: Joined, { atMs, steps }: PayLane, index: number): Promise<Outcome> {
    await delay(atMs);
    const key = `${name}.${index + 1}`;
    this.tally.count("calls");
    const called = client.callTool("pay", { key, steps }, { totalTimeoutMs: HANG_MS });
    const outcome = await called.then(
      ({ content }) => ({ key, said: JSON.stringify(content) }),
      (error: unknown) => ({ key, error }),
    );
    this.#trace(`${key} ${"error" in outcome ? String(outcome.error) : "has a result"}`);
    return outcome;
  }

  async #check({ key, said, error }: Outcome): Promise<void> {
    const runs = await this.#world.runsOf(key);
    if (runs > 1) this.tally.violate("duplicated", `${key} ran ${runs} times`);
    if (said !== undefined) {
      this.tally.count("results");
      if (runs === 1 && said.includes(`${key} ran 1`)) return;
      this.tally.violate("broken", `${key} ran ${runs} times, and its result is ${said}`);
    } else {
      if (this.script.faults.length === 0) this.tally.violate("broken", `${key} failed without a fault: ${error}`);
      const problem = this.#problemOf(error, runs);
      if (problem !== undefined) this.tally.violate("broken", `${key} ran ${runs} times, and ${problem}`);
    }
  }

  /** Returns what is wrong with the error of a call, if anything is. */
  #problemOf(error: unknown, runs: number): string | undefined {
    if (McpError.is(error)) {
      const { reason } = (error.data ?? {}) as { reason?: unknown };
      // A request that was on its way to an object that was reset: the server reports it with a reference.
      this.tally.count(reason === "internal" ? "errors" : "interrupted");
      const isClear = reason === "interrupted" || reason === "internal";
      return isClear ? undefined : `the server answers ${error.code} ${error.message}`;
    }
    if (!ClientError.is(error)) return `it has no error of the client: ${error}`;
    this.tally.count("unknown");
    if (error.code === "timeout" || error.code === "total-timeout") return `it hangs: ${error.message}`;
    return !error.mayHaveRun && runs > 0 ? `${error.code} says that it did not run: ${error.message}` : undefined;
  }

  /** Without faults, a client that was disturbed works as before. */
  async #checkUse(joined: Joined): Promise<void> {
    const { client, name, script } = joined;
    const deadline = Date.now() + HANG_MS;
    try {
      await client.callTool("pay", { key: `${name}.last`, steps: [] }, { totalTimeoutMs: HANG_MS });
    } catch (error) {
      this.tally.violate("broken", `${name} cannot be used any more: ${error}`);
      return;
    }
    const before = joined.heard;
    while (script.listens && joined.heard === before) {
      if (Date.now() > deadline) return this.tally.violate("lost", `${name} hears of no change any more`);
      await client.callTool("touch").catch(() => undefined);
      await delay(50);
    }
  }

  #trace(what: string): void {
    this.lines.push(`${String(Date.now() - this.#startedAtMs).padStart(6)} ms  ${what}`);
  }
}
