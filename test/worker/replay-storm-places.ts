/** Random handlers in sessions and as tasks, with frequent losses. */
import type { IncomingMessage } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
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
import { ABLE, type Case, textOf } from "../properties/replay-drive.ts";
import { Person, runStraight } from "../properties/replay-person.ts";
import type { Place } from "../properties/replay-runs.ts";
import type { Script } from "../properties/replay-script.ts";
import { type Attempt, judgeAttempt, Storm } from "./replay-storm.ts";
import { readEvents, type SentHeaders, send, textOfReply } from "./replay-storm-http.ts";
import { TASKS } from "./task-client.ts";

const VERSION = "2025-11-25";
const CALL = "call";

/** The result of one attempt; undefined if it was lost before its client could resume it. */
type Given = Promise<Json | undefined>;

async function runStormy(
  storm: Storm,
  name: string,
  { script, personSeed }: Pick<Case, "script" | "personSeed">,
  run: (attempt: Attempt) => Given,
): Promise<void> {
  for (let time = 0; ; time += 1) {
    const attempt = storm.begin(`${name}.${time}`);
    try {
      const result = await run(attempt);
      if (!result) continue;
      judgeAttempt(textOf(result), await runStraight(script, new Person(personSeed)), attempt);
      return;
    } finally {
      storm.forget(attempt);
    }
  }
}

// Sessions

const JSON_HEADERS = CONTENT as SentHeaders;

/** A legacy client that resumes its stream whenever it is lost. */
class SessionCall {
  readonly #storm: Storm;
  readonly #person: Person;
  readonly #attempt: Attempt;
  readonly #answered = new Set<unknown>();
  #headers: SentHeaders = {};
  #cursor: string | undefined;
  #result: Json | undefined;
  #error: Members | undefined;

  constructor(storm: Storm, person: Person, attempt: Attempt) {
    this.#storm = storm;
    this.#person = person;
    this.#attempt = attempt;
  }

  async run(script: Script): Given {
    const opened = await this.#post(initialize(VERSION, "hello", ABLE), 200);
    this.#headers = { "mcp-session-id": String(opened.headers["mcp-session-id"]), "mcp-protocol-version": VERSION };
    await this.#post(notification("notifications/initialized"), 202);
    const call = request("tools/call", { name: "run", arguments: { script, attempt: this.#attempt.id } }, CALL);
    const begun = await this.#send(call).catch(() => undefined);
    if (!begun) return undefined;
    if (begun.statusCode !== 200) {
      begun.resume();
      return undefined;
    }
    if (begun.headers["content-type"]?.startsWith("application/json")) {
      const answer = await textOfReply(begun).catch(() => undefined);
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
    return data?.reason === "interrupted" && (await this.#storm.lossesOf(this.#attempt)) >= 4;
  }

  async #comeBack(cursor: string): Promise<void> {
    const headers = { accept: "text/event-stream", ...this.#headers, "last-event-id": cursor };
    const stream = await this.#storm.insist(async () => {
      const response = await send(this.#storm.url("/sessions"), headers);
      if (Number(response.statusCode) >= 500) throw await refusalOf("GET", response);
      return response;
    });
    if (stream.statusCode !== 200) throw await refusalOf("GET", stream);
    await this.#read(stream);
    if (!this.#result) await pause(20);
  }

  /** Reads until the stream ends or is lost. */
  async #read(response: IncomingMessage): Promise<void> {
    const lost = await readEvents(response, ({ id, data }) => {
      if (id !== undefined) this.#cursor = id;
      if (data !== "") this.#take(JSON.parse(data) as Members);
    }).catch((error: NodeJS.ErrnoException) => error);
    if (lost && lost.code !== "ECONNRESET") throw lost;
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

  #send(message: unknown): Promise<IncomingMessage> {
    return send(this.#storm.url("/sessions"), { ...JSON_HEADERS, ...this.#headers }, message);
  }

  #post(message: unknown, expected: number): Promise<IncomingMessage> {
    return this.#storm.insist(async () => {
      const response = await this.#send(message);
      if (response.statusCode !== expected) throw await refusalOf("POST", response);
      await textOfReply(response);
      return response;
    });
  }
}

async function refusalOf(method: string, response: IncomingMessage): Promise<Error> {
  return new Error(`${method}: ${response.statusCode} ${await textOfReply(response)}`);
}

/** Legacy sessions: the handler waits in memory, and runs again if its object was lost. */
export async function openSessions(seed: number): Promise<Place> {
  const storm = await Storm.start(seed);
  return {
    run: (each, name) => {
      const { script, personSeed } = each;
      return runStormy(storm, name, each, (attempt) => {
        return new SessionCall(storm, new Person(personSeed), attempt).run(script);
      });
    },
    close: () => storm.stop(),
    interrupted: () => storm.interrupted(),
  };
}

// Tasks

const TASK_META = meta({ [CAPABILITIES_KEY]: { ...ABLE, extensions: { [TASKS]: {} } } });

/** A client that starts a task, polls it, and answers some of its questions. */
class TaskCall {
  readonly #storm: Storm;
  readonly #path: string;
  readonly #person: Person;
  readonly #attempt: Attempt;
  readonly #said = new Map<string, unknown>();

  constructor(storm: Storm, path: string, person: Person, attempt: Attempt) {
    this.#storm = storm;
    this.#path = path;
    this.#person = person;
    this.#attempt = attempt;
  }

  async run(tool: string, script: Script): Given {
    for (let more: Members = {}; ; ) {
      const call = { name: tool, arguments: { script, attempt: this.#attempt.id }, ...more };
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
    return isFailure && (await this.#storm.lossesOf(this.#attempt)) > 0;
  }

  async #finish(taskId: string): Promise<Json> {
    for (let [look, idle] = [0, 0]; ; look += 1) {
      const task = await this.#storm.insist(() => this.#request("tasks/get", { taskId }));
      if (task.status === "completed") return task.result as Json;
      if (task.status === "failed" || task.status === "cancelled") throw new Error(JSON.stringify(task));
      if (task.status === "input_required") {
        const inputResponses = this.#answers(task, (at) => (at + look) % 3 > 0 || look % 4 === 0);
        await this.#storm.insist(() => this.#request("tasks/update", { taskId, inputResponses }));
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
    const reply = await send(this.#storm.url(this.#path), headers, message);
    let last: unknown;
    if (reply.headers["content-type"]?.startsWith("text/event-stream")) {
      await readEvents(reply, ({ data }) => {
        if (data !== "") last = JSON.parse(data);
      });
    } else last = JSON.parse(await textOfReply(reply));
    if (isMembers(last) && isMembers(last.result)) return last.result;
    throw new Error(`${method} has no result: ${reply.statusCode} ${JSON.stringify(last)}`);
  }

  /** Gives the same answer to a question however often it is sent. */
  #answers({ inputRequests }: Members, picks: (at: number) => boolean): Members {
    const asked = Object.entries(inputRequests as Record<string, { method: string; params: Members }>);
    for (const [key, question] of asked) if (!this.#said.has(key)) this.#said.set(key, this.#person.answer(question));
    const picked = asked.filter((_, at) => picks(at));
    return Object.fromEntries(picked.map(([key]) => [key, this.#said.get(key)])) as Members;
  }
}

/**
 * Tasks, some of which start as tasks only where the handler says so, and some of which are interrupted after each
 * step.
 */
export async function openTasks(seed: number): Promise<Place> {
  const storm = await Storm.start(seed);
  return {
    run: ({ script, personSeed, choices: [choice = 0] }, name) => {
      const path = choice % 3 === 0 ? "/sliced" : "/tasks";
      const isLater = choice % 4 === 0;
      const whole: Script = isLater ? { do: "sequence", parts: [script, { do: "task" }, script] } : script;
      return runStormy(storm, name, { script: whole, personSeed }, (attempt) => {
        const call = new TaskCall(storm, path, new Person(personSeed), attempt);
        return call.run(isLater ? "run_later" : "run", whole);
      });
    },
    close: () => storm.stop(),
    interrupted: () => storm.interrupted(),
  };
}
