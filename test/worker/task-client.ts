/** A client that uses tasks: it calls, polls, and answers questions. */
import { setTimeout as delay } from "node:timers/promises";
import { CAPABILITIES_KEY, type Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { ModernClient, type ReadAnswer, readAnswer } from "./client.ts";

export const TASKS = "io.modelcontextprotocol/tasks";
export const ABLE: Members = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: {},
  extensions: { [TASKS]: {} },
};

export interface TaskClientOptions {
  readonly token?: string;
  readonly capabilities?: Members;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

export class TaskClient {
  readonly url: string;
  readonly options: TaskClientOptions;

  constructor(url: string, options: TaskClientOptions = {}) {
    this.url = url;
    this.options = options;
  }

  /** The same tasks at another address, or as another caller. */
  as(options: TaskClientOptions, url = this.url): TaskClient {
    return new TaskClient(url, options);
  }

  request(
    method: string,
    params: Members = {},
    headers: Readonly<Record<string, string | undefined>> = {},
  ): Promise<ReadAnswer> {
    const { token, capabilities = ABLE, headers: own } = this.options;
    const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const options = { meta: { [CAPABILITIES_KEY]: capabilities }, headers: { ...bearer, ...own, ...headers } };
    return readAnswer(new ModernClient(this.url).request(method, params, options));
  }

  async result(method: string, params: Members = {}, headers: Readonly<Record<string, string>> = {}): Promise<Members> {
    const { messages, raw } = await this.request(method, params, headers);
    const result = messages.at(-1)?.result;
    if (result === undefined) throw new Error(`${method} has no result: ${raw}`);
    return result as Members;
  }

  async error(method: string, params: Members = {}, headers: Readonly<Record<string, string>> = {}): Promise<Members> {
    const { messages, raw } = await this.request(method, params, headers);
    const error = messages.at(-1)?.error;
    if (error === undefined) throw new Error(`${method} has no error: ${raw}`);
    return error as Members;
  }

  call(name: string, args: Members = {}, more: Members = {}): Promise<Members> {
    return this.result("tools/call", { name, arguments: args, ...more });
  }

  /** Calls a tool that becomes a task. @returns The task's id. */
  async start(name: string, args: Members = {}, more: Members = {}): Promise<string> {
    const result = await this.call(name, args, more);
    if (result.resultType !== "task") throw new Error(`no task: ${JSON.stringify(result)}`);
    return String(result.taskId);
  }

  get(taskId: string): Promise<Members> {
    return this.result("tasks/get", { taskId });
  }

  update(taskId: string, inputResponses: Members): Promise<Members> {
    return this.result("tasks/update", { taskId, inputResponses });
  }

  cancel(taskId: string): Promise<Members> {
    return this.result("tasks/cancel", { taskId });
  }

  /** Polls until the task has one of the statuses. Fails if it ended otherwise. */
  async reaches(taskId: string, ...statuses: readonly string[]): Promise<Members> {
    let task: Members = {};
    let reads = 0;
    await until(`the task is ${statuses.join(" or ")}`, async () => {
      // A task that takes seconds is read less often, because rates() limits the requests of a caller.
      if (++reads > 20) await delay(100);
      task = await this.get(taskId);
      const status = String(task.status);
      if (statuses.includes(status)) return true;
      if (ENDS.includes(status)) throw new Error(`the task ended otherwise: ${JSON.stringify(task)}`);
      return false;
    });
    return task;
  }

  /** Polls until the task is finished, and answers its questions with names. @returns Its text. */
  async finish(taskId: string, answer: (message: string) => string = (message) => message): Promise<string> {
    for (let round = 0; round < 50; round += 1) {
      const task = await this.reaches(taskId, "completed", "input_required");
      if (task.status === "completed") return textOf(task);
      await this.update(taskId, answersTo(task, answer));
    }
    throw new Error("it asks forever");
  }
}

const ENDS = ["completed", "failed", "cancelled"];

/** Answers to all forms that a task asks. @param field The field of the form. */
export function answersTo({ inputRequests }: Members, answer: (message: string) => string, field = "name"): Members {
  const asked = Object.entries(inputRequests as Record<string, { params: { message: string } }>);
  const accept = (text: string) => ({ action: "accept", content: { [field]: text } });
  return Object.fromEntries(asked.map(([key, { params }]) => [key, accept(answer(params.message))]));
}

export function textOf({ result }: Members): string {
  const { content } = result as { content: readonly { text: string }[] };
  return content[0]?.text ?? "";
}

/** The keys of a task's questions. */
export function keysOf({ inputRequests }: Members): string[] {
  return Object.keys((inputRequests ?? {}) as Members);
}
