/** A Worker behind a proxy, on which scripts with our client run one after the other. */
import { setTimeout as delay } from "node:timers/promises";
import { type CuttableProxy, startProxy } from "../../src/testing/proxy.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import type { ClientsScript } from "./client-script.ts";
import { HANG_MS } from "./peer.ts";
import type { Tally } from "./tally.ts";

type Struck = ClientsScript["faults"][number];

export class ClientWorld {
  readonly #workerd: Workerd;
  readonly #proxy: CuttableProxy;
  /** Objects of earlier scripts. */
  readonly #known = new Set<string>();
  #restarting: Promise<void> = Promise.resolve();

  private constructor(workerd: Workerd, proxy: CuttableProxy) {
    this.#workerd = workerd;
    this.#proxy = proxy;
  }

  static async start(): Promise<ClientWorld> {
    const workerd = await Workerd.start({
      entry: "test/chaos/fixtures/client-chaos.ts",
      objects: { McpObject: "McpObject", EFFECTS: "Effects" },
      bindings: { MCP_KEYS: newKeys() },
    });
    return new ClientWorld(workerd, await startProxy(workerd.origin));
  }

  /** The endpoint, through the proxy that is cut. */
  get url(): string {
    return this.#proxy.url("/mcp");
  }

  async stop(): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
    await this.#workerd.stop();
  }

  /** The number of runs of a call. */
  async runsOf(key: string): Promise<number> {
    await this.#restarting;
    const response = await fetch(`${this.#workerd.origin}/effects/${key}`);
    return Number(await response.text());
  }

  /** Injects a fault. Resolves when it has happened. */
  async strike({ fault, amount }: Struck, tally: Tally): Promise<void> {
    if (fault === "kill") {
      tally.count("kills");
      // One after the other, because they use the same port.
      this.#restarting = this.#restarting.then(() => this.#workerd.worker.restart());
      return this.#restarting;
    }
    if (fault === "hibernate" || fault === "close" || fault === "abort") {
      await this.#restarting;
      // A kill may come between; and eviction waits for calls, some of which wait for later events.
      const work = this.#strikeObjects(fault, tally).catch(() => undefined);
      return Promise.race([work, delay(HANG_MS, undefined, { ref: false })]);
    }
    tally.count("cuts");
    if (fault === "cut") this.#proxy.cut(amount % 2 === 0 ? "fin" : "rst");
    if (fault === "bytes") this.#proxy.cutAfter(amount);
    if (fault === "refuse") {
      this.#proxy.refuse(true);
      await delay(amount / 3);
      this.#proxy.refuse(false);
    }
  }

  async #strikeObjects(fault: "hibernate" | "close" | "abort", tally: Tally): Promise<void> {
    for (const id of await this.#workerd.worker.objects("McpObject")) {
      if (this.#known.has(id)) continue;
      tally.count(fault === "abort" ? "aborts" : "evictions");
      if (fault === "abort") await this.#workerd.worker.abort("McpObject", id);
      else await this.#workerd.worker.evict("McpObject", id, { webSockets: fault });
    }
  }

  /** Ends the faults that last. */
  async heal(): Promise<void> {
    await this.#restarting;
    this.#proxy.cutAfter(undefined);
    this.#proxy.refuse(false);
  }

  /** Called when a script is over: its objects are spared by the next one. */
  async leave(): Promise<void> {
    for (const id of await this.#workerd.worker.objects("McpObject")) this.#known.add(id);
  }
}
