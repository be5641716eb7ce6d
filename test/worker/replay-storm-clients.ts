/**
 * The clients of random handlers in sessions and as tasks. They run in Node, or within the Worker that they call: there
 * nothing but objects can be lost, and a run costs a fraction.
 */
import { createParser } from "eventsource-parser";
import type { JSONRPCRequest } from "../../src/core/index.ts";
import type { Json } from "../features/peer.ts";
import {
  CAPABILITIES_KEY,
  CONTENT,
  initialize,
  isMembers,
  type Members,
  meta,
  notification,
  request,
  standardHeaders,
} from "../http/messages.ts";
import type { Case } from "../properties/replay-drive.ts";
import { ABLE, Person, textOf } from "../properties/replay-person.ts";
import type { Script } from "../properties/replay-script.ts";

export type SentHeaders = Readonly<Record<string, string>>;

/** The head of a response. Its body can be read once. */
export interface Reply {
  readonly status: number;
  header(name: string): string | undefined;
  /** Rejects if the response is lost. */
  text(): Promise<string>;
  /** Throws if the response is lost. */
  chunks(): AsyncGenerator<string, void, undefined>;
}

/** The Worker, as a client reaches it. */
export interface Surroundings {
  /** Sends a message by POST; without one, a GET. */
  send(path: string, headers: SentHeaders, message?: unknown): Promise<Reply>;
  /** Repeats what fails while the Worker or an object is not there. */
  insist<T>(work: () => Promise<T>): Promise<T>;
  /** Returns the number of times that an attempt has lost its object or the process. */
  lossesOf(attempt: string): Promise<number>;
}

export type StormPlace = "sessions" | "tasks";

/**
 * Runs one attempt at a case. Resolves with the result; with undefined if the attempt was lost before its client could
 * resume it.
 */
export function runAttempt(place: StormPlace, around: Surroundings, each: Case, attempt: string): Given {
  const person = new Person(each.personSeed);
  const script = scriptOf(place, each);
  if (place === "sessions") return new SessionCall(around, person, attempt).run(script);
  const [choice = 0] = each.choices;
  // In the second, a run ends with each step.
  const call = new TaskCall(around, choice % 3 === 0 ? "/sliced" : "/tasks", person, attempt);
  return call.run(isLater(each) ? "run_later" : "run", script);
}

/** The script that runs for a case: some tasks begin only where the handler says so. */
export function scriptOf(place: StormPlace, each: Case): Script {
  const { script } = each;
  return place === "tasks" && isLater(each) ? { do: "sequence", parts: [script, { do: "task" }, script] } : script;
}

function isLater({ choices: [choice = 0] }: Case): boolean {
  return choice % 4 === 0;
}

type Given = Promise<Json | undefined>;

const VERSION = "2025-11-25";
const CALL = "call";
const JSON_HEADERS = CONTENT as SentHeaders;
const TASKS = "io.modelcontextprotocol/tasks";

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A legacy client that resumes its stream whenever it is lost. */
class SessionCall {
  readonly #around: Surroundings;
  readonly #person: Person;
  readonly #attempt: string;
  readonly #answered = new Set<unknown>();
  #headers: SentHeaders = {};
  #cursor: string | undefined;
  #result: Json | undefined;
  #error: Members | undefined;

  constructor(around: Surroundings, person: Person, attempt: string) {
    this.#around = around;
    this.#person = person;
    this.#attempt = attempt;
  }

  async run(script: Script): Given {
    const opened = await this.#post(initialize(VERSION, "hello", ABLE), 200);
    this.#headers = { "mcp-session-id": opened.header("mcp-session-id") ?? "", "mcp-protocol-version": VERSION };
    await this.#post(notification("notifications/initialized"), 202);
    const call = request("tools/call", { name: "run", arguments: { script, attempt: this.#attempt } }, CALL);
    const begun = await this.#send(call).catch(() => undefined);
    if (!begun) return undefined;
    if (begun.status !== 200) {
      await begun.text().catch(() => undefined);
      return undefined;
    }
    if (isJson(begun)) {
      const answer = await begun.text().catch(() => undefined);
      if (answer !== undefined) this.#take(JSON.parse(answer) as Members);
    } else await this.#read(begun);
    while (!(this.#result || this.#error) && this.#cursor !== undefined) await this.#comeBack(this.#cursor);
    if (this.#error && !(await this.#wasGivenUp(this.#error))) throw new Error(JSON.stringify(this.#error));
    return this.#result;
  }

  /**
   * Whether the call was lost so often that it is not run again: after its first run and three more without progress in
   * any of them. On a slow machine there may be no time between two losses.
   */
  async #wasGivenUp({ error }: Members): Promise<boolean> {
    const { data } = error as { data?: { reason?: string } };
    return data?.reason === "interrupted" && (await this.#around.lossesOf(this.#attempt)) >= 4;
  }

  async #comeBack(cursor: string): Promise<void> {
    const headers = { accept: "text/event-stream", ...this.#headers, "last-event-id": cursor };
    const stream = await this.#around.insist(async () => {
      const response = await this.#around.send("/sessions", headers);
      if (response.status >= 500) throw await refusalOf("GET", response);
      return response;
    });
    if (stream.status !== 200) throw await refusalOf("GET", stream);
    await this.#read(stream);
    if (!this.#result) await pause(20);
  }

  /** Reads until the stream ends or is lost. */
  async #read(response: Reply): Promise<void> {
    const parser = createParser({
      onEvent: ({ id, data }) => {
        if (id !== undefined) this.#cursor = id;
        if (data !== "") this.#take(JSON.parse(data) as Members);
      },
    });
    const chunks = response.chunks();
    for (;;) {
      const next = await chunks.next().catch(() => undefined);
      if (!next || next.done) return;
      parser.feed(next.value);
    }
  }

  #take(message: Members): void {
    if (message.method === undefined && message.id === CALL) {
      if (isMembers(message.result)) this.#result = message.result;
      else this.#error = message;
    }
    if (typeof message.method !== "string" || message.id === undefined || this.#answered.has(message.id)) return;
    this.#answered.add(message.id);
    const result = this.#person.answer(message as unknown as JSONRPCRequest);
    void this.#post({ jsonrpc: "2.0", id: message.id, result }, 202);
  }

  #send(message: unknown): Promise<Reply> {
    return this.#around.send("/sessions", { ...JSON_HEADERS, ...this.#headers }, message);
  }

  #post(message: unknown, expected: number): Promise<Reply> {
    return this.#around.insist(async () => {
      const response = await this.#send(message);
      if (response.status !== expected) throw await refusalOf("POST", response);
      await response.text();
      return response;
    });
  }
}

const TASK_META = meta({ [CAPABILITIES_KEY]: { ...ABLE, extensions: { [TASKS]: {} } } });

/** A client that starts a task, polls it, and answers some of its questions. */
class TaskCall {
  readonly #around: Surroundings;
  readonly #path: string;
  readonly #person: Person;
  readonly #attempt: string;
  readonly #said = new Map<string, unknown>();

  constructor(around: Surroundings, path: string, person: Person, attempt: string) {
    this.#around = around;
    this.#path = path;
    this.#person = person;
    this.#attempt = attempt;
  }

  async run(tool: string, script: Script): Given {
    for (let more: Members = {}; ; ) {
      const call = { name: tool, arguments: { script, attempt: this.#attempt }, ...more };
      const result = await this.#request("tools/call", call).catch(() => undefined);
      if (!result) return undefined;
      if (result.resultType === "task") return this.#finish(String(result.taskId));
      if (result.resultType !== "input_required")
        return (await this.#wasNotMade(result)) ? undefined : (result as Json);
      more = { requestState: result.requestState, inputResponses: this.#answers(result, () => true) };
    }
  }

  /** Whether the object was lost before the task existed, which the client sees as a failed call. */
  async #wasNotMade(result: Members): Promise<boolean> {
    const isFailure = /^Tool "run(_later)?" failed\. Reference: /.test(textOf(result as Json));
    return isFailure && (await this.#around.lossesOf(this.#attempt)) > 0;
  }

  async #finish(taskId: string): Promise<Json> {
    for (let [look, idle] = [0, 0]; ; look += 1) {
      const task = await this.#around.insist(() => this.#request("tasks/get", { taskId }));
      if (task.status === "completed") return task.result as Json;
      if (task.status === "failed" || task.status === "cancelled") throw new Error(JSON.stringify(task));
      if (task.status === "input_required") {
        const inputResponses = this.#answers(task, (at) => (at + look) % 3 > 0 || look % 4 === 0);
        await this.#around.insist(() => this.#request("tasks/update", { taskId, inputResponses }));
        idle = 0;
      } else {
        await pause(Math.min(20 * 5 ** idle, 1_000));
        idle += 1;
      }
    }
  }

  /** Returns the result. Rejects for an error or an incomplete reply. */
  async #request(method: string, params: Members): Promise<Members> {
    const message = request(method, { ...params, _meta: TASK_META });
    const headers = { ...JSON_HEADERS, ...standardHeaders(message) } as SentHeaders;
    const reply = await this.#around.send(this.#path, headers, message);
    const text = await reply.text();
    const last = isJson(reply) ? (JSON.parse(text) as unknown) : lastOf(text);
    if (isMembers(last) && isMembers(last.result)) return last.result;
    throw new Error(`${method} has no result: ${reply.status} ${JSON.stringify(last)}`);
  }

  /** Gives the same answer to a question however many times it is sent. */
  #answers({ inputRequests }: Members, picks: (at: number) => boolean): Members {
    const asked = Object.entries(inputRequests as Record<string, { method: string; params: Members }>);
    for (const [key, question] of asked) if (!this.#said.has(key)) this.#said.set(key, this.#person.answer(question));
    const picked = asked.filter((_, at) => picks(at));
    return Object.fromEntries(picked.map(([key]) => [key, this.#said.get(key)])) as Members;
  }
}

async function refusalOf(method: string, response: Reply): Promise<Error> {
  return new Error(`${method}: ${response.status} ${await response.text()}`);
}

function isJson(reply: Reply): boolean {
  return reply.header("content-type")?.startsWith("application/json") === true;
}

/** The last message of a stream. */
function lastOf(text: string): unknown {
  let last: unknown;
  const onEvent = ({ data }: { readonly data: string }) => {
    if (data !== "") last = JSON.parse(data);
  };
  createParser({ onEvent }).feed(text);
  return last;
}
