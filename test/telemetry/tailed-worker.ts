/** A Worker on workerd, whose spans a tail Worker receives. */
import { build } from "esbuild";
import { isObject } from "../../src/core/protocol/jsonrpc.ts";
import type { TailEvent } from "../../src/recorder/tail/tail-event.ts";
import { prepare, type WorkerOptions } from "../../src/testing/configuration.ts";
import { until } from "../../src/testing/until.ts";
import { TestWorker } from "../../src/testing/worker.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

const TAIL = `
import { createTail } from "./src/recorder/tail/tail.ts";
export default createTail(async (events, env) => {
  await env.REPORTS.fetch("http://reports/", { method: "POST", body: JSON.stringify(events) });
});`;

/** A span that the Worker has recorded. */
export interface TailedSpan {
  readonly name: string;
  readonly trace: string;
  readonly isInObject: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isClosed: boolean;
}

export class TailedWorker {
  readonly worker: TestWorker;
  readonly #events: TailEvent[];

  constructor(worker: TestWorker, events: TailEvent[]) {
    this.worker = worker;
    this.#events = events;
  }

  /** Returns the spans with MCP's attributes, once there are `count` that have ended, and removes all events. */
  async take(count: number): Promise<TailedSpan[]> {
    let found: TailedSpan[] = [];
    await until(`${count} spans have ended`, () => {
      found = this.#spans().filter(({ isClosed, attributes }) => isClosed && "mcp.method.name" in attributes);
      return found.length >= count;
    });
    this.#events.length = 0;
    return found;
  }

  #spans(): TailedSpan[] {
    const objects = new Set(
      this.#events.flatMap(({ event, invocation }) => (event.type === "onset" && event.isObject ? [invocation] : [])),
    );
    return this.#events.flatMap(({ event, invocation, trace }) => {
      if (event.type !== "spanOpen") return [];
      const own = this.#events.filter((each) => each.invocation === invocation && each.span === event.spanId);
      const values = own.flatMap((each) => (each.event.type === "attributes" ? Object.entries(each.event.values) : []));
      const isClosed = own.some((each) => each.event.type === "spanClose");
      const attributes = Object.fromEntries(values);
      return [{ name: event.name, trace, isInObject: objects.has(invocation), attributes, isClosed }];
    });
  }
}

/** Starts a Worker with a tail Worker. */
export async function startTailed(options: WorkerOptions): Promise<TailedWorker> {
  const prepared = await prepare({ root: ROOT, ...options });
  const events: TailEvent[] = [];
  const report = async (request: { json(): Promise<unknown> }) => {
    const sent = await request.json();
    if (Array.isArray(sent) && sent.every(isObject)) events.push(...(sent as unknown as TailEvent[]));
    return new Response(null, { status: 204 });
  };
  const { outputFiles } = await build({
    stdin: { contents: TAIL, resolveDir: ROOT, loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
  });
  const [first, ...others] = prepared.workers;
  const tail = {
    name: "tail",
    modules: true,
    script: outputFiles[0]?.text ?? "",
    compatibilityDate: "2025-01-01",
    serviceBindings: { REPORTS: report },
  };
  const workers = [{ ...first, streamingTails: ["tail"] }, ...others, tail];
  const worker = new TestWorker({ ...prepared, workers }, ROOT);
  await worker.restart();
  return new TailedWorker(worker, events);
}
