/** Clients with tasks, connected to the servers of the task tests. Every message is checked. */
import { type Client, type ClientEvent, type ClientOptions, connect } from "../../../src/client/index.ts";
import { clientTasks, type Task } from "../../../src/client/tasks/index.ts";
import { newKeys, startWorker, type TestWorker } from "../../../src/testing/index.ts";
import { type HttpTap, startHttpTap } from "../../oracle/http-tap.ts";
import { ME } from "../places.ts";

export interface TaskVisit {
  readonly client: Client;
  readonly tap: HttpTap;
  readonly events: readonly ClientEvent[];
  /** The calls that became tasks. */
  readonly created: readonly Task[];
  /** The methods of the requests that were sent, in order. */
  methods(): string[];
}

/** The Worker with its endpoints, and the clients that a test connected. */
export class TaskLab {
  readonly worker: TestWorker;
  readonly #visits: TaskVisit[] = [];

  private constructor(worker: TestWorker) {
    this.worker = worker;
  }

  static async start(): Promise<TaskLab> {
    const objects = {
      MCP: "McpObject",
      SLICED: "SlicedObject",
      EACH: "EachObject",
      LASTING: "LastingObject",
      EFFECTS: "Effects",
    };
    const bindings = { MCP_KEYS: newKeys() };
    return new TaskLab(await startWorker({ entry: "test/worker/fixtures/tasks.ts", objects, bindings }));
  }

  /** Connects in one version. */
  async visit(version: string, options: Partial<ClientOptions> = {}): Promise<TaskVisit> {
    const tap = await startHttpTap(this.worker.url("/mcp"));
    const events: ClientEvent[] = [];
    const created: Task[] = [];
    const client = await connect(tap.url, {
      ...ME,
      protocolVersions: [version],
      use: [clientTasks({ onTask: (task) => created.push(task) })],
      onEvent: (event) => events.push(event),
      ...options,
    });
    const methods = () =>
      tap.exchanges.filter(({ method }) => method === "POST").map(({ requestBody }) => JSON.parse(requestBody).method);
    const visit = { client, tap, events, created, methods };
    this.#visits.push(visit);
    return visit;
  }

  /** Lets the handlers that hold for this key continue. */
  async release(key: string): Promise<void> {
    await fetch(this.worker.url(`/release/${key}`), { method: "POST" });
  }

  /** Closes the clients and checks their messages. */
  async leave(): Promise<void> {
    for (const { client, tap } of this.#visits.splice(0)) {
      await client.close();
      await tap.close();
      tap.oracle.expectClean();
    }
  }
}

export const newKey = () => crypto.randomUUID();

export const textOf = ({ content }: { readonly content: readonly unknown[] }) => (content[0] as { text: string }).text;
