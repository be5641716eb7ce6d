/**
 * Many sessions of many principals at once, with equal request ids, while objects are evicted. Each answer, progress and
 * question contains the principal and a mark of its session, so a message that reaches the wrong one is found.
 */
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Random } from "../chaos/random.ts";
import { initialize, type Members } from "../http/messages.ts";
import { ModernClient, Reading, readAnswer } from "./client.ts";

export interface Tenants {
  readonly sessions: number;
  /** Answers that were compared. */
  readonly answers: number;
  /** Requests with the session or task of another principal. */
  readonly foreign: number;
  readonly evictions: number;
  readonly findings: readonly string[];
}

export interface TenantsOptions {
  readonly principals: number;
  readonly sessions: number;
  readonly seed: number;
}

const CONTENT = { "content-type": "application/json", accept: "application/json, text/event-stream" };
/** Sessions that run at the same time. */
const CONCURRENT = 48;
/** Sessions between two evictions. */
const EVICT_EVERY = 10;

class Run {
  readonly #worker: TestWorker;
  readonly #options: TenantsOptions;
  readonly #random: Random;
  readonly #findings: string[] = [];
  /** The latest sessions and tasks, for attempts of others. */
  readonly #latest: { readonly user: string; readonly path: string; readonly id: string }[] = [];
  #next = 0;
  #answers = 0;
  #foreign = 0;
  #evictions = 0;

  constructor(worker: TestWorker, options: TenantsOptions) {
    this.#worker = worker;
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  async all(): Promise<Tenants> {
    const { sessions } = this.#options;
    const worker = async () => {
      while (this.#next < sessions) {
        this.#next += 1;
        const number = this.#next;
        await this.#session(number);
        if (number % EVICT_EVERY === 0) await this.#evict();
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT }, worker));
    const [answers, foreign, evictions, findings] = [this.#answers, this.#foreign, this.#evictions, this.#findings];
    return { sessions, answers, foreign, evictions, findings };
  }

  /** Evicts all objects of an endpoint that are not in use at the moment. */
  async #evict(): Promise<void> {
    await this.#worker.evict(this.#random.chance(0.5) ? "McpObject" : "SharedObject");
    this.#evictions += 1;
  }

  async #session(number: number): Promise<void> {
    const { principals } = this.#options;
    const user = `user-${number % principals}`;
    const mark = `mark-${number}`;
    const path = this.#random.chance(0.5) ? "/mcp" : "/shared";
    const headers = { ...CONTENT, "x-user": user };
    const capabilities = { elicitation: {} };
    const opened = await this.#post(path, headers, initialize("2025-11-25", 1, capabilities));
    await opened.text();
    const id = opened.headers.get("Mcp-Session-Id") ?? "";
    const session = { ...headers, "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
    await this.#tryOthers(user, path);
    this.#latest.push({ user, path, id });
    if (this.#latest.length > 100) this.#latest.shift();
    await Promise.all([
      this.#echo(path, session, user, mark),
      this.#ask(path, session, user, mark),
      this.#modern(path, user, mark),
    ]);
    const ended = await fetch(this.#worker.url(path), { method: "DELETE", headers: session });
    await ended.body?.cancel();
  }

  #post(path: string, headers: Record<string, string>, body: object): Promise<Response> {
    return fetch(this.#worker.url(path), { method: "POST", headers, body: JSON.stringify(body) });
  }

  /** Calls with an id that every session uses. */
  async #echo(path: string, session: Record<string, string>, user: string, mark: string): Promise<void> {
    const params = { name: "echo", arguments: { mark }, _meta: { progressToken: "same" } };
    const response = await this.#post(path, session, { jsonrpc: "2.0", id: 7, method: "tools/call", params });
    this.#compare(await response.text(), user, mark, "echo");
  }

  async #ask(path: string, session: Record<string, string>, user: string, mark: string): Promise<void> {
    const params = { name: "ask", arguments: { mark } };
    const stream = new Reading(
      await this.#post(path, session, { jsonrpc: "2.0", id: 8, method: "tools/call", params }),
    );
    const asked = /"id":("[^"]+"|\d+),"method":"elicitation\/create"/;
    await stream.has("a question", ({ raw }) => asked.test(raw) || raw.includes('"result"'));
    const [, id] = asked.exec(stream.raw) ?? [];
    if (id === undefined) return this.#find(`no question for ${user} ${mark}: ${stream.raw}`);
    const result = { action: "accept", content: { text: `answer-${mark}` } };
    await (await this.#post(path, session, { jsonrpc: "2.0", id: JSON.parse(id), result })).text();
    await stream.has("an answer", ({ raw }) => raw.includes("accept") || raw.includes('"error"'));
    if (!stream.raw.includes(`accept answer-${mark}`)) this.#find(`another answer for ${user} ${mark}: ${stream.raw}`);
    this.#compare(stream.raw, user, mark, "ask");
  }

  /** A modern call, and one that runs once under a key that every principal uses. */
  async #modern(path: string, user: string, mark: string): Promise<void> {
    const client = new ModernClient(this.#worker.url(path));
    const headers = { "x-user": user };
    const plain = await readAnswer(client.call("echo", { mark }, { id: 7, headers }));
    this.#compare(plain.raw, user, mark, "modern");
    const meta: Members = { "mcp-edge/idempotencyKey": `key of ${mark.slice(-1)}` };
    const once = await readAnswer(client.call("once", { mark: `of-${user}` }, { id: 7, headers, meta }));
    this.#compare(once.raw, user, undefined, "once");
  }

  /** Uses the session of another principal, which must not exist for this one. */
  async #tryOthers(user: string, path: string): Promise<void> {
    const others = this.#latest.filter((each) => each.user !== user && each.path === path);
    const other = others[this.#random.int(0, Math.max(0, others.length - 1))];
    if (!other) return;
    this.#foreign += 1;
    const headers = { ...CONTENT, "x-user": user, "mcp-session-id": other.id, "mcp-protocol-version": "2025-11-25" };
    const params = { name: "echo", arguments: { mark: "foreign" } };
    const response = await this.#post(path, headers, { jsonrpc: "2.0", id: 7, method: "tools/call", params });
    await response.text();
    if (response.status !== 404) this.#find(`${response.status} for the session of ${other.user} used by ${user}`);
  }

  /** Every principal and mark in a text must be the expected one, and be there. */
  #compare(text: string, user: string, mark: string | undefined, what: string): void {
    this.#answers += 1;
    const wrong = [...text.matchAll(/user-\d+|mark-\d+/g)]
      .map(([each]) => each)
      .filter((each) => each !== user && each !== mark);
    if (wrong.length > 0) this.#find(`${what} of ${user} ${mark} contains ${wrong.join(", ")}`);
    else if (!text.includes(user)) this.#find(`${what} of ${user} ${mark} has no answer: ${text.slice(0, 300)}`);
  }

  #find(finding: string): void {
    if (this.#findings.length < 20) this.#findings.push(finding);
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
