/**
 * Many sessions of many principals at once, with equal request ids, while objects are evicted: calls, progress, questions of
 * both eras, tasks, stored events, results of calls that run once, and cached results. All of them contain the principal and
 * a mark of the session, so a message that reaches the wrong one is found. The rows of shared objects are read as well.
 */
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Random } from "../chaos/random.ts";
import { isCut, type Judge, type Left, namesIn, Tenant } from "./tenant.ts";

export interface Tenants {
  readonly sessions: number;
  /** Responses, events and refusals that were compared. */
  readonly compared: number;
  /** Sessions, events, tasks and questions of another principal that were tried. */
  readonly foreign: number;
  /** Rows of the log that were read. */
  readonly rows: number;
  readonly evictions: number;
  /** What was not compared, because its connection was cut. */
  readonly unanswered: readonly string[];
  readonly findings: readonly string[];
}

export interface TenantsOptions {
  readonly principals: number;
  readonly sessions: number;
  readonly seed: number;
  /** Receives the number of sessions that have ended. */
  readonly onProgress?: (ended: number) => void;
}

/** Sessions that run at the same time. */
const CONCURRENT = 48;
/** Evictions of all objects, each of which takes longer the more objects there are. */
const EVICTIONS = 50;
/** Principals that share an object have equal last digits. */
const TEAMS = 10;

class Run implements Judge {
  readonly #worker: TestWorker;
  readonly #options: TenantsOptions;
  readonly #random: Random;
  readonly #findings: string[] = [];
  readonly #unanswered: string[] = [];
  /** What the latest sessions left. */
  readonly #latest: Left[] = [];
  #next = 0;
  #ended = 0;
  #compared = 0;
  #foreign = 0;
  #rows = 0;
  #evictions = 0;

  constructor(worker: TestWorker, options: TenantsOptions) {
    this.#worker = worker;
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  async all(): Promise<Tenants> {
    const { sessions, onProgress } = this.#options;
    const every = Math.max(10, Math.floor(sessions / EVICTIONS));
    const work = async () => {
      while (this.#next < sessions) {
        this.#next += 1;
        const number = this.#next;
        await this.#session(number);
        if (number % every === 0) await this.#tryToEvict();
        this.#ended += 1;
        onProgress?.(this.#ended);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT }, work));
    for (let team = 0; team < TEAMS; team += 1) await this.#readRows(`session:team ${team}`);
    const [foreign, rows, evictions, findings] = [this.#foreign, this.#rows, this.#evictions, this.#findings];
    return { sessions, compared: this.#compared, foreign, rows, evictions, unanswered: this.#unanswered, findings };
  }

  unanswered(what: string): void {
    this.#unanswered.push(what);
  }

  compared(): void {
    this.#compared += 1;
  }

  find(finding: string): void {
    if (this.#findings.length < 20) this.#findings.push(finding);
  }

  async #session(number: number): Promise<void> {
    const { principals } = this.#options;
    const user = `user-${number % principals}`;
    // Every principal uses both endpoints.
    const path = (number + Math.floor(number / principals)) % 2 === 0 ? "/mcp" : "/shared";
    const tenant = new Tenant(user, `mark-${number}`, { path, url: this.#worker.url(path) }, this);
    await tenant.open();
    await tenant.act();
    const others = this.#latest.filter((each) => each.user !== user && each.path === path);
    const other = others[this.#random.int(0, Math.max(0, others.length - 1))];
    if (other) {
      this.#foreign += 4;
      await tenant.tryOther(other);
    }
    this.#latest.push(tenant.left());
    if (this.#latest.length > 100) this.#latest.shift();
    // Some sessions stay open, so that others can try them and their rows stay in shared objects.
    if (number % 3 !== 0) await tenant.close();
  }

  /** The runtime cuts a request to an object that is evicted at the same time. */
  async #tryToEvict(): Promise<void> {
    try {
      await this.#evict();
    } catch (error) {
      if (!isCut(error)) throw error;
      this.unanswered("an eviction");
    }
  }

  /** Evicts all objects of an endpoint that are not in use at the moment, after it has read the rows of a shared one. */
  async #evict(): Promise<void> {
    await this.#readRows(`session:team ${this.#random.int(0, TEAMS - 1)}`);
    await this.#worker.evict(this.#random.chance(0.5) ? "McpObject" : "SharedObject");
    this.#evictions += 1;
  }

  /** Every row of a session must have the marks and the principal of this session only. */
  async #readRows(name: string): Promise<void> {
    const [table] = await this.#worker.sql("SharedObject", name, "SELECT name FROM sqlite_master WHERE name = 'event'");
    if (!table) return;
    const query = "SELECT stream.session, event.frames FROM event JOIN stream ON stream.id = event.stream";
    const rows = await this.#worker.sql("SharedObject", name, query);
    const names = new Map<unknown, Set<string>>();
    for (const { session, frames } of rows) {
      const own = names.get(session) ?? new Set();
      for (const each of namesIn(String(frames))) own.add(each);
      names.set(session, own);
    }
    this.#rows += rows.length;
    for (const [session, own] of names) {
      if (own.size > 2) this.find(`the rows of session ${session} in ${name} contain ${[...own].join(", ")}`);
    }
  }
}

/** Runs the sessions, and returns what reached the wrong principal. */
export async function runTenants(options: TenantsOptions): Promise<Tenants> {
  const objects = ["McpObject", "SharedObject"];
  const worker = await startWorker({ entry: "test/worker/fixtures/tenants.ts", objects });
  try {
    return await new Run(worker, options).all();
  } finally {
    await worker.stop();
  }
}
