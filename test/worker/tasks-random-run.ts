/** One random handler as a task with random interruptions: the runner, the interruptions, and the counting server. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestWorker } from "../../src/testing/index.ts";
import type { Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { Person } from "../properties/replay-person.ts";
import type { Script } from "../properties/replay-script.ts";
import type { Counted } from "./fixtures/tasks-random.ts";
import { type TaskClient, textOf } from "./task-client.ts";

export interface Interruption {
  /** While the task is created, while an answer is sent, while it waits for one, or at any time. */
  readonly during: "create" | "update" | "wait" | "anything";
  readonly afterMs: number;
  readonly how: "killed" | "evicted" | "reset";
}

/** The events of a run, in order. An interruption is over when the Worker is available again. */
export type Happened = Counted | { readonly what: "interrupted" } | { readonly what: "over" };

/** A server outside of the Worker that records what steps do. */
export async function startCounter(): Promise<Counter> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      const heard = JSON.parse(body) as Happened;
      counter.happened.push(heard);
      counter.open += 1;
      response.on("close", () => {
        counter.open -= 1;
      });
      // The effect is done, but the step has no result yet.
      setTimeout(() => response.end(), heard.what === "done" ? counter.happened.length % 12 : 0);
    });
  });
  // With the default, the server may close an idle connection just as a step reuses it, and the step fails.
  server.keepAliveTimeout = 600_000;
  const counter: Counter = {
    happened: [],
    open: 0,
    url: "",
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(counter, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

export interface Counter {
  readonly url: string;
  readonly happened: Happened[];
  /** Number of reports that were received without a response yet. */
  open: number;
  stop(): Promise<void>;
}

/** A task finishes long before, including interruptions. */
const DEADLINE_MS = 60_000;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Runs a handler to its end, whatever is interrupted. */
export class RandomRun {
  readonly #worker: TestWorker;
  readonly #binding: string;
  readonly #counter: Counter;
  readonly #client: TaskClient;
  readonly #left: Interruption[];
  readonly #seed: number;
  #person: Person;
  /** One interruption at a time. */
  #interrupting: Promise<void> = Promise.resolve();
  #begun = 0;
  #isInterrupting = false;
  #taskId: string | undefined;
  /** The attempt that created the task: earlier ones lost the answer with the task's id, so they have no client. */
  attempt = "";
  readonly abandoned: string[] = [];

  constructor(
    surroundings: {
      readonly worker: TestWorker;
      readonly binding: string;
      readonly counter: Counter;
      readonly client: TaskClient;
    },
    interruptions: readonly Interruption[],
    seed: number,
  ) {
    this.#worker = surroundings.worker;
    this.#binding = surroundings.binding;
    this.#counter = surroundings.counter;
    this.#client = surroundings.client;
    this.#left = [...interruptions];
    this.#seed = seed;
    this.#person = new Person(seed);
  }

  get interruptions(): number {
    return this.#begun;
  }

  /** @returns The outcome of the handler as text. */
  async run(tool: string, script: Script): Promise<string> {
    const begun = await this.#create(tool, script);
    if ("text" in begun) return begun.text;
    this.#taskId = begun.taskId;
    const others = this.#left.filter(({ during }) => during === "anything");
    const disturbed = (async () => {
      for (const each of others) await this.#interrupt(each);
    })();
    // Its rejection is handled below.
    disturbed.catch(() => undefined);
    const text = await this.#finish(begun.taskId);
    await disturbed;
    return text;
  }

  async #create(tool: string, script: Script): Promise<{ taskId: string } | { text: string }> {
    for (;;) {
      this.attempt = crypto.randomUUID();
      this.#person = new Person(this.#seed);
      const beside = this.#take("create");
      const [created] = await Promise.all([this.#unlessLost(() => this.#begin(tool, script)), beside]);
      if (created) return created;
      this.abandoned.push(this.attempt);
    }
  }

  /** A handler that starts on the request may be asked there, and may end there. */
  async #begin(tool: string, script: Script): Promise<{ taskId: string } | { text: string }> {
    const args = { script, attempt: this.attempt };
    for (let more: Members = {}; ; ) {
      const result = await this.#client.call(tool, args as unknown as Members, more);
      if (result.resultType === "task") return { taskId: String(result.taskId) };
      if (result.resultType !== "input_required") return { text: textOf({ result }) };
      more = { requestState: result.requestState, inputResponses: this.#answer(result, () => true) };
    }
  }

  async #finish(taskId: string): Promise<string> {
    const deadline = Date.now() + DEADLINE_MS;
    const said = new Map<string, unknown>();
    let task: Members | undefined;
    for (let look = 0; Date.now() < deadline; look += 1) {
      task = (await this.#unlessLost(() => this.#client.get(taskId))) ?? task;
      if (task?.status === "completed") return textOf(task);
      if (task?.status === "failed" || task?.status === "cancelled") break;
      if (task?.status === "input_required") {
        // Answers to some of the questions, and one to an unknown question.
        const answers = this.#answer(task, (at) => (at + look) % 3 > 0 || look % 4 === 0, said);
        const stranger = look % 5 === 0 ? { stranger: { action: "decline" } } : {};
        // As the platform does it: to an idle object.
        await this.#take("wait");
        const beside = this.#take("update");
        const update = () => this.#client.update(taskId, { ...answers, ...stranger } as Members);
        await Promise.all([this.#unlessLost(update), beside]);
      } else await pause(5);
    }
    throw new Error(`The task did not finish: ${JSON.stringify(task)}`);
  }

  /** Gives the same answer to a question however many times it is sent. */
  #answer({ inputRequests }: Members, picks: (at: number) => boolean, said = new Map<string, unknown>()): Members {
    const asked = Object.entries(inputRequests as Record<string, { method: string; params: Members }>);
    const picked = asked.filter((_, at) => picks(at));
    return Object.fromEntries(
      picked.map(([key, question]) => {
        if (!said.has(key)) said.set(key, this.#person.answer(question));
        return [key, said.get(key)];
      }),
    );
  }

  /** Returns the result of a request; undefined if an interruption came between. Nothing else may fail. */
  async #unlessLost<T>(request: () => Promise<T>): Promise<T | undefined> {
    const before = this.#begun;
    const isDuring = this.#isInterrupting;
    try {
      return await request();
    } catch (error) {
      if (!isDuring && before === this.#begun) throw error;
      await this.#interrupting;
      return undefined;
    }
  }

  /** The next interruption of a kind, if there is one. */
  #take(during: Interruption["during"]): Promise<void> | undefined {
    const at = this.#left.findIndex((each) => each.during === during);
    const [found] = at < 0 ? [] : this.#left.splice(at, 1);
    return found && this.#interrupt({ ...found, afterMs: found.afterMs % 25 });
  }

  async #interrupt({ afterMs, how }: Interruption): Promise<void> {
    await pause(afterMs);
    this.#interrupting = this.#interrupting.then(async () => {
      this.#begun += 1;
      this.#isInterrupting = true;
      this.#counter.happened.push({ what: "interrupted" });
      await this.#lose(how);
      // Sent through the Worker, so it arrives after everything that the lost run had sent.
      await fetch(this.#worker.url("/over"));
      this.#isInterrupting = false;
    });
    await this.#interrupting;
  }

  async #lose(how: Interruption["how"]): Promise<void> {
    const object = this.#taskId && Buffer.from(this.#taskId, "base64url").toString("hex");
    // Before a client knows the task, its object cannot be named.
    if (how === "killed" || object === undefined) await this.#worker.restart();
    else if (how === "evicted") {
      await this.#evict(object);
    } else await this.#worker.abort(this.#binding, object);
  }

  /**
   * Evicts the object once its run is over and its reports are answered: workerd cannot evict it before, and gives up.
   */
  async #evict(object: string): Promise<void> {
    const isAtRest = async () => {
      const { alarmAtMs } = await this.#worker.storage(this.#binding, object);
      return alarmAtMs !== undefined && this.#counter.open === 0;
    };
    // Twice, so that anything still in transit the first time has arrived.
    for (let time = 0; time < 2; time += 1) await until("the run is over", isAtRest);
    await this.#worker.storage(this.#binding, object);
    await this.#worker.evict(this.#binding, object).catch(async (error: unknown) => {
      if (!String(error).includes("active references")) throw error;
      // It is still sending, so it is lost with its process instead.
      await this.#worker.restart();
    });
  }
}
