/** Random handlers in sessions and as tasks, through a storm. */
import { setTimeout as pause } from "node:timers/promises";
import { EventSourceParserStream } from "eventsource-parser/stream";
import type { JSONRPCRequest } from "../../src/core/index.ts";
import type { Json } from "../features/peer.ts";
import { CONTENT, initialize, isMembers, type Members, notification, request } from "../http/messages.ts";
import { ABLE, type Case, textOf } from "../properties/replay-drive.ts";
import { Person, runStraight } from "../properties/replay-person.ts";
import type { Place } from "../properties/replay-runs.ts";
import type { Script } from "../properties/replay-script.ts";
import { type Attempt, judgeAttempt, Storm } from "./replay-storm.ts";
import { TASKS, TaskClient } from "./task-client.ts";

const VERSION = "2025-11-25";
const CALL = "call";

/** What one attempt gave; undefined: it was lost before its client knew how to come back to it. */
type Given = Promise<Json | undefined>;

async function runStormy(storm: Storm, script: Script, personSeed: number, run: (attempt: Attempt) => Given) {
  const before = storm.interruptions;
  const isInterrupted = before % 2 === 1;
  for (;;) {
    const attempt = storm.begin();
    try {
      const result = await run(attempt);
      if (!result) continue;
      const wasInterrupted = isInterrupted || storm.interruptions > before;
      judgeAttempt(textOf(result), await runStraight(script, new Person(personSeed)), attempt, wasInterrupted);
      return;
    } finally {
      storm.forget(attempt);
    }
  }
}

// Sessions

/** A legacy client that comes back to its stream whenever that is lost. */
class SessionCall {
  readonly #storm: Storm;
  readonly #person: Person;
  readonly #answered = new Set<unknown>();
  #headers: Record<string, string> = {};
  #cursor: string | undefined;
  #result: Json | undefined;
  #error: Members | undefined;
  readonly #lossesBefore: number;

  constructor(storm: Storm, person: Person) {
    this.#storm = storm;
    this.#lossesBefore = storm.losses;
    this.#person = person;
  }

  async run(script: Script, attempt: string): Given {
    const url = this.#storm.url("/sessions");
    const opened = await this.#post(initialize(VERSION, "hello", ABLE), 200);
    this.#headers = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": VERSION };
    await this.#post(notification("notifications/initialized"), 202);
    const body = JSON.stringify(request("tools/call", { name: "run", arguments: { script, attempt } }, CALL));
    const headers = { ...(CONTENT as Record<string, string>), ...this.#headers };
    const begun = await fetch(url, { method: "POST", headers, body }).catch(() => undefined);
    if (!begun?.ok) return undefined;
    if (begun.headers.get("content-type")?.startsWith("application/json")) {
      const answer = (await begun.json().catch(() => undefined)) as Members | undefined;
      if (answer) this.#take(answer);
    } else await this.#read(begun);
    while (!(this.#result || this.#error) && this.#cursor !== undefined) await this.#comeBack(url, this.#cursor);
    if (this.#error && !this.#wasGivenUp(this.#error)) throw new Error(JSON.stringify(this.#error));
    return this.#result;
  }

  /**
   * Whether the call was lost so often that it is not run again: its first run and three more, without coming further in
   * any of them. On a slow machine there may be no time between two losses.
   */
  #wasGivenUp({ error }: Members): boolean {
    const { data } = error as { data?: { reason?: string } };
    return data?.reason === "interrupted" && this.#storm.losses - this.#lossesBefore >= 4;
  }

  async #comeBack(url: string, cursor: string): Promise<void> {
    const headers = { accept: "text/event-stream", ...this.#headers, "last-event-id": cursor };
    const stream = await this.#storm.insist(async () => {
      const response = await fetch(url, { headers });
      if (response.status >= 500) throw new Error(`GET: ${response.status} ${await response.text()}`);
      return response;
    });
    if (!stream.ok) throw new Error(`GET: ${stream.status} ${await stream.text()}`);
    await this.#read(stream);
    if (!this.#result) await pause(20);
  }

  /** Until it ends or is lost. */
  async #read(response: Response): Promise<void> {
    const events = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    try {
      for await (const { id, data } of events ?? []) {
        if (id !== undefined) this.#cursor = id;
        if (data !== "") this.#take(JSON.parse(data) as Members);
      }
    } catch {
      // It was lost.
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

  #post(message: unknown, expected: number): Promise<Response> {
    const headers = { ...(CONTENT as Record<string, string>), ...this.#headers };
    return this.#storm.insist(async () => {
      const body = JSON.stringify(message);
      const response = await fetch(this.#storm.url("/sessions"), { method: "POST", headers, body });
      const text = await response.text();
      if (response.status === expected) return response;
      throw new Error(`POST: ${response.status} ${text}`);
    });
  }
}

/** Legacy sessions: the handler waits in memory, and is run again where its object was lost. */
export async function openSessions(seed: number): Promise<Place> {
  const storm = await Storm.start(seed, ["MCP_SESSION"]);
  return {
    run: ({ script, personSeed }) =>
      runStormy(storm, script, personSeed, ({ id }) => new SessionCall(storm, new Person(personSeed)).run(script, id)),
    close: () => storm.stop(),
  };
}

// Tasks

/** A client that begins a task, looks at it, and answers some of what it asks. */
class TaskCall {
  readonly #storm: Storm;
  readonly #client: TaskClient;
  readonly #person: Person;
  readonly #said = new Map<string, unknown>();

  constructor(storm: Storm, path: string, person: Person) {
    this.#storm = storm;
    this.#client = new TaskClient(storm.url(path), { capabilities: { ...ABLE, extensions: { [TASKS]: {} } } });
    this.#person = person;
  }

  async run(tool: string, script: Script, attempt: string): Given {
    for (let more: Members = {}; ; ) {
      const args = { script, attempt } as unknown as Members;
      const result = await this.#client.call(tool, args, more).catch(() => undefined);
      if (!result) return undefined;
      if (result.resultType === "task") return this.#finish(String(result.taskId));
      if (result.resultType !== "input_required") return result as Json;
      more = { requestState: result.requestState, inputResponses: this.#answers(result, () => true) };
    }
  }

  async #finish(taskId: string): Promise<Json> {
    for (let look = 0; ; look += 1) {
      const task = await this.#storm.insist(() => this.#client.get(taskId));
      if (task.status === "completed") return task.result as Json;
      if (task.status === "failed" || task.status === "cancelled") throw new Error(JSON.stringify(task));
      if (task.status === "input_required") {
        const answers = this.#answers(task, (at) => (at + look) % 3 > 0 || look % 4 === 0);
        await this.#storm.insist(() => this.#client.update(taskId, answers));
      } else await pause(Math.min(5 + 5 * look, 100));
    }
  }

  /** The same answer however often it is sent. */
  #answers({ inputRequests }: Members, picks: (at: number) => boolean): Members {
    const asked = Object.entries(inputRequests as Record<string, { method: string; params: Members }>);
    for (const [key, question] of asked) if (!this.#said.has(key)) this.#said.set(key, this.#person.answer(question));
    const picked = asked.filter((_, at) => picks(at));
    return Object.fromEntries(picked.map(([key]) => [key, this.#said.get(key)])) as Members;
  }
}

/** Tasks, some of which begin where the handler says so, and some of which are cut after each step. */
export async function openTasks(seed: number): Promise<Place> {
  const storm = await Storm.start(seed, ["MCP_TASK", "SLICED_TASK"]);
  return {
    run: ({ script, personSeed, choices: [choice = 0] }: Case) => {
      const path = choice % 3 === 0 ? "/sliced" : "/tasks";
      const isLater = choice % 4 === 0;
      const whole: Script = isLater ? { do: "sequence", parts: [script, { do: "task" }, script] } : script;
      return runStormy(storm, whole, personSeed, ({ id }) => {
        return new TaskCall(storm, path, new Person(personSeed)).run(isLater ? "run_later" : "run", whole, id);
      });
    },
    close: () => storm.stop(),
  };
}
