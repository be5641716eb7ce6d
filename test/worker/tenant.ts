/** What one tenant does with its session, and what it then compares. Every principal and mark in a text must be its own. */
import { CAPABILITIES_KEY, initialize, type Members } from "../http/messages.ts";
import { ModernClient, type ReadAnswer, Reading, readAnswer } from "./client.ts";
import { answersTo, TaskClient, textOf } from "./task-client.ts";

/**
 * Each request has a connection of its own: the server closes one that was idle for some seconds, and on a busy machine
 * a client may use it just then.
 */
const ALONE = { connection: "close" };
/** The maximum number of attempts of a tenant to open its session. */
const OPEN_ATTEMPTS = 5;
const CONTENT = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** What a tenant left for others to try. */
export interface Left {
  readonly user: string;
  readonly path: string;
  readonly url: string;
  readonly sessionId: string;
  /** An event of a stream of the session. */
  readonly eventId: string;
  readonly taskId: string;
  /** The state of a question that waits for its answer, and the mark of its call. */
  readonly state: unknown;
  readonly mark: string;
}

/** Receives what reached the wrong principal, and counts what was compared. */
export interface Judge {
  compared(): void;
  find(finding: string): void;
  /** A connection was cut before its response, so there was nothing to compare. */
  unanswered(what: string): void;
}

export class Tenant {
  readonly user: string;
  readonly mark: string;
  readonly path: string;
  readonly #url: string;
  readonly #judge: Judge;
  readonly #client: ModernClient;
  readonly #headers: Readonly<Record<string, string>>;
  #session: Record<string, string> = {};
  #eventId = "";
  #taskId = "";
  #state: unknown;

  constructor(user: string, mark: string, { path, url }: Pick<Left, "path" | "url">, judge: Judge) {
    this.user = user;
    this.#headers = { ...ALONE, "x-user": user };
    this.mark = mark;
    this.path = path;
    this.#url = url;
    this.#judge = judge;
    this.#client = new ModernClient(url);
  }

  /** Opens the session, again if the connection is cut: without a session there is nothing to compare. */
  async open(): Promise<void> {
    for (let attempts = 0; this.#sessionId() === "" && attempts < OPEN_ATTEMPTS; attempts += 1)
      await this.#attempt("initialize", this.#open());
  }

  async #open(): Promise<void> {
    const opened = await this.#post({ ...CONTENT, ...this.#headers }, initialize("2025-11-25", 1, { elicitation: {} }));
    await opened.text();
    this.#session = this.#sessionHeaders(opened.headers.get("Mcp-Session-Id") ?? "");
  }

  /** Uses the session, tasks and questions at the same time. */
  async act(): Promise<void> {
    await Promise.all([
      this.#attempt("echo", this.#echo()),
      this.#attempt("ask", this.#ask()),
      this.#attempt("modern", this.#modern()),
      this.#attempt("question", this.#question()),
      this.#attempt("background", this.#background()),
      this.#attempt("cached", this.#cached()),
    ]);
  }

  async #attempt(what: string, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (!isCut(error)) throw error;
      this.#judge.unanswered(`${what} (${this.path})`);
    }
  }

  left(): Left {
    return {
      user: this.user,
      path: this.path,
      url: this.#url,
      sessionId: this.#sessionId(),
      eventId: this.#eventId,
      taskId: this.#taskId,
      state: this.#state,
      mark: this.mark,
    };
  }

  close(): Promise<void> {
    return this.#attempt("DELETE", this.#close());
  }

  async #close(): Promise<void> {
    const ended = await fetch(this.#url, { method: "DELETE", headers: this.#session });
    await ended.body?.cancel();
  }

  /** Uses what another principal left, all of which must be refused. */
  tryOther(other: Left): Promise<void> {
    return this.#attempt("foreign", this.#tryOther(other));
  }

  async #tryOther(other: Left): Promise<void> {
    const call = {
      jsonrpc: "2.0",
      id: 7,
      method: "tools/call",
      params: { name: "echo", arguments: { mark: "foreign" } },
    };
    const session = await this.#post(this.#sessionHeaders(other.sessionId), call);
    this.#refused(session.status === 404, "session", other, await session.text());
    const headers = { ...this.#session, accept: "text/event-stream", "last-event-id": other.eventId };
    const stream = await fetch(this.#url, { headers });
    const events = stream.status === 400 ? await stream.text() : "";
    await stream.body?.cancel().catch(() => undefined);
    this.#refused(stream.status === 400, "events", other, events);
    const task = await this.#ofTask("tasks/get", { taskId: other.taskId });
    this.#refused(task.messages.at(-1)?.error !== undefined, "task", other, task.raw);
    const resumed = await this.#answer(other.mark, other.state);
    this.#refused(resumed.messages.at(-1)?.error !== undefined, "question", other, resumed.raw);
  }

  #refused(isRefused: boolean, what: string, other: Left, text: string): void {
    this.#judge.compared();
    if (!isRefused) this.#judge.find(`the ${what} of ${other.user} used by ${this.user}: ${text.slice(0, 300)}`);
    if (text.includes(other.user)) this.#judge.find(`the refusal for ${this.user} names ${other.user}: ${text}`);
  }

  #sessionId(): string {
    return this.#session["mcp-session-id"] ?? "";
  }

  #sessionHeaders(id: string): Record<string, string> {
    return { ...CONTENT, ...this.#headers, "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
  }

  #post(headers: Record<string, string>, body: object): Promise<Response> {
    return fetch(this.#url, { method: "POST", headers, body: JSON.stringify(body) });
  }

  /** Calls with an id that every session uses. */
  async #echo(): Promise<void> {
    const params = { name: "echo", arguments: { mark: this.mark }, _meta: { progressToken: "same" } };
    const response = await this.#post(this.#session, { jsonrpc: "2.0", id: 7, method: "tools/call", params });
    this.#compare(await response.text(), "echo");
  }

  /** Answers a question in the middle of a call, and then reads the stored events of the call again. */
  async #ask(): Promise<void> {
    const params = { name: "ask", arguments: { mark: this.mark } };
    const stream = new Reading(
      await this.#post(this.#session, { jsonrpc: "2.0", id: 8, method: "tools/call", params }),
    );
    const asked = /"id":("[^"]+"|\d+),"method":"elicitation\/create"/;
    await stream.has("a question", ({ raw }) => asked.test(raw) || raw.includes('"result"'));
    const [, id] = asked.exec(stream.raw) ?? [];
    if (id === undefined) return this.#judge.find(`no question for ${this.user} ${this.mark}: ${stream.raw}`);
    const result = { action: "accept", content: { text: `answer-${this.mark}` } };
    await (await this.#post(this.#session, { jsonrpc: "2.0", id: JSON.parse(id), result })).text();
    await stream.has("an answer", ({ raw }) => raw.includes("accept") || raw.includes('"error"'));
    if (!stream.raw.includes(`accept answer-${this.mark}`))
      this.#judge.find(`${this.mark} has another answer: ${stream.raw}`);
    this.#compare(stream.raw, "ask");
    this.#eventId = stream.ids[0] ?? "";
    const headers = { ...this.#session, accept: "text/event-stream", "last-event-id": this.#eventId };
    const replayed = await (await fetch(this.#url, { headers })).text();
    this.#compare(replayed, "events that were stored");
  }

  /** A modern call, and a call that runs once under a key that every principal uses. */
  async #modern(): Promise<void> {
    const headers = this.#headers;
    const plain = await readAnswer(this.#client.call("echo", { mark: this.mark }, { id: 7, headers }));
    this.#compare(plain.raw, "modern");
    const meta: Members = { "mcp-edge/idempotencyKey": `key of ${this.mark.slice(-1)}` };
    const once = await readAnswer(this.#client.call("once", { mark: `of-${this.user}` }, { id: 7, headers, meta }));
    this.#compare(once.raw, "once", "");
  }

  /** A question of a modern call, whose state the client sends back. */
  async #question(): Promise<void> {
    const asked = await this.#answer(this.mark, undefined);
    this.#compare(asked.raw, "modern question");
    const result = asked.messages.at(-1)?.result as Members | undefined;
    this.#state = result;
    const answered = await this.#answer(this.mark, result);
    this.#compare(answered.raw, "modern answer");
    if (!answered.raw.includes(`accept answer-${this.mark}`))
      this.#judge.find(`${this.mark} has no answer: ${answered.raw}`);
  }

  /** Calls the tool that asks. @param asked The result with its question, to answer it. */
  #answer(mark: string, asked: unknown): Promise<ReadAnswer> {
    const { inputRequests, requestState } = (asked ?? {}) as Members;
    const accept = { action: "accept", content: { text: `answer-${mark}` } };
    const inputResponses = Object.fromEntries(
      Object.keys((inputRequests ?? {}) as Members).map((key) => [key, accept]),
    );
    const more = asked === undefined ? {} : { requestState, inputResponses };
    const options = { id: 9, headers: this.#headers, meta: { [CAPABILITIES_KEY]: { elicitation: {} } } };
    return readAnswer(this.#client.request("tools/call", { name: "ask", arguments: { mark }, ...more }, options));
  }

  /** A task that asks a question. */
  async #background(): Promise<void> {
    const started = await this.#ofTask("tools/call", { name: "background", arguments: { mark: this.mark } });
    const { taskId } = (started.messages.at(-1)?.result ?? {}) as { taskId?: string };
    if (taskId === undefined) return this.#judge.find(`no task for ${this.user} ${this.mark}: ${started.raw}`);
    this.#taskId = taskId;
    const tasks = new TaskClient(this.#url, { headers: this.#headers });
    const asking = await tasks.reaches(taskId, "input_required");
    this.#compare(JSON.stringify(asking), "question of a task");
    await tasks.update(
      taskId,
      answersTo(asking, () => `answer-${this.mark}`, "text"),
    );
    const done = await tasks.reaches(taskId, "completed");
    this.#compare(JSON.stringify(done), "task");
    if (!textOf(done).endsWith(`answer-${this.mark}`)) this.#judge.find(`the task of ${this.mark} has another answer`);
  }

  #ofTask(method: string, params: Members): Promise<ReadAnswer> {
    return new TaskClient(this.#url, { headers: this.#headers }).request(method, params);
  }

  /** Reads a resource whose result is kept for each principal. */
  async #cached(): Promise<void> {
    const headers = this.#headers;
    for (let time = 0; time < 2; time += 1) {
      const read = await readAnswer(
        this.#client.request("resources/read", { uri: "tenants://mine" }, { id: 7, headers }),
      );
      this.#compare(read.raw, "cache entry", "");
    }
  }

  /** Every principal and mark in a text must be the expected one, and occur. */
  #compare(text: string, what: string, mark = this.mark): void {
    this.#judge.compared();
    const wrong = namesIn(text).filter((each) => each !== this.user && each !== mark);
    if (wrong.length > 0) this.#judge.find(`${what} of ${this.user} ${mark} contains ${wrong.join(", ")}`);
    else if (!text.includes(this.user))
      this.#judge.find(`${what} of ${this.user} ${mark} is missing: ${text.slice(0, 300)}`);
  }
}

/** Whether the connection of a request was cut: fetch rejects with a TypeError. */
export function isCut(error: unknown): boolean {
  return error instanceof TypeError && /fetch failed|terminated/.test(error.message);
}

/** The principals and marks in a text. */
export function namesIn(text: string): string[] {
  return [...text.matchAll(/user-\d+|mark-\d+/g)].map(([each]) => each);
}
