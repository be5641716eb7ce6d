/** A client of 2025-11-25 that uses tasks: it calls, polls, waits for results, and answers questions meanwhile. */
import type { Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { LegacyClient, Reading, readAnswer } from "./client.ts";

export const RELATED = "io.modelcontextprotocol/related-task";
export const ABLE: Members = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** Returns the result or the error for a question. */
export type Answer = (question: Members) => Members;

export interface OpenOptions {
  readonly token?: string;
  readonly version?: string;
  readonly capabilities?: Members;
}

export class OwnTaskClient {
  readonly session: LegacyClient;

  private constructor(session: LegacyClient) {
    this.session = session;
  }

  static async open(url: string, { capabilities = ABLE, ...options }: OpenOptions = {}): Promise<OwnTaskClient> {
    return new OwnTaskClient(await LegacyClient.open(url, { capabilities, ...options }));
  }

  /** The same session at another address. */
  at(url: string): OwnTaskClient {
    return new OwnTaskClient(this.session.at(url));
  }

  async last(method: string, params: Members = {}): Promise<Members> {
    const { messages, raw } = await readAnswer(this.session.request(method, params));
    const last = messages.at(-1);
    if (last === undefined) throw new Error(`${method} has no answer: ${raw}`);
    return last;
  }

  async result(method: string, params: Members = {}): Promise<Members> {
    const { result, error } = await this.last(method, params);
    if (result === undefined) throw new Error(`${method} has no result: ${JSON.stringify(error)}`);
    return result as Members;
  }

  async error(method: string, params: Members = {}): Promise<Members> {
    const { error, result } = await this.last(method, params);
    if (error === undefined) throw new Error(`${method} has no error: ${JSON.stringify(result)}`);
    return error as Members;
  }

  /** Calls a tool as a task. */
  create(name: string, args: Members = {}, task: Members = {}): Promise<Members> {
    return this.result("tools/call", { name, arguments: args, task });
  }

  /** Starts a tool as a task. @returns The task's id. */
  async start(name: string, args: Members = {}, task: Members = {}): Promise<string> {
    const created = (await this.create(name, args, task)).task as Members;
    return String(created.taskId);
  }

  get(taskId: string): Promise<Members> {
    return this.result("tasks/get", { taskId });
  }

  /** Polls until the task has the status. */
  async reaches(taskId: string, status: string): Promise<Members> {
    let task: Members = {};
    await until(`the task is ${status}; it was ${JSON.stringify(task)}`, async () => {
      task = await this.get(taskId);
      return task.status === status;
    });
    return task;
  }

  /** Requests the result without reading it to its end. */
  async open(taskId: string): Promise<Reading> {
    return new Reading(await this.session.request("tasks/result", { taskId }));
  }

  async answer(question: Members, answer: Members): Promise<void> {
    const { status } = await this.session.send({ jsonrpc: "2.0", id: question.id, ...answer });
    if (status !== 202) throw new Error(`the answer was not taken: ${status}`);
  }

  /** Waits for the result and answers questions until it arrives. @returns All messages. */
  async finish(taskId: string, answer: Answer = nameIt): Promise<readonly Members[]> {
    const response = await this.session.request("tasks/result", { taskId });
    if (response.headers.get("content-type")?.startsWith("application/json")) {
      return [(await response.json()) as Members];
    }
    const reading = new Reading(response);
    for (const answered = new Set<unknown>(); ; ) {
      const isNew = ({ method, id }: Members) => method !== undefined && id !== undefined && !answered.has(id);
      await reading.has("a question, or the end", ({ messages, isOver }) => isOver || messages.some(isNew));
      const questions = reading.messages.filter(isNew);
      for (const question of questions) {
        answered.add(question.id);
        await this.answer(question, answer(question));
      }
      if (questions.length === 0) return reading.messages;
    }
  }
}

/** Answers a form with its own message. */
export function nameIt({ params }: Members): Members {
  return { result: { action: "accept", content: { name: (params as Members).message } } };
}

export function textOf(messages: readonly Members[]): string {
  const { content } = (messages.at(-1)?.result ?? {}) as { content?: readonly { text: string }[] };
  return content?.[0]?.text ?? JSON.stringify(messages.at(-1));
}

export function methodsOf(messages: readonly Members[]): unknown[] {
  return messages.map(({ method }) => method);
}
