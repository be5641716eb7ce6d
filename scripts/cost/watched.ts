/** A Worker whose objects are watched from outside: workerd reports each invocation of an object to a streaming tail. */
import { prepare, type WorkerOptions } from "../../src/testing/configuration.ts";
import { TestWorker } from "../../src/testing/worker.ts";
import { ROOT } from "../tools.ts";

/** One invocation of an object. */
export interface Invocation {
  /** The id of the object. */
  readonly object: string;
  /** Why it was invoked: `fetch`, `jsrpc`, `alarm` or `hibernatableWebSocket`. */
  readonly cause: string;
  readonly beganAtMs: number;
  /** When it ended, with everything that it passed to `waitUntil`. Undefined while it runs. */
  endedAtMs: number | undefined;
}

/** A running Worker, and the invocations of its objects so far. */
export interface Watched extends AsyncDisposable {
  readonly worker: TestWorker;
  readonly invocations: readonly Invocation[];
}

interface Reported {
  readonly invocation: string;
  readonly atMs: number;
  readonly event: {
    readonly type: string;
    readonly durableObjectId?: string;
    readonly info?: { readonly type: string };
  };
}

const TAIL = `export default {
  async tailStream(onset, env) {
    const report = ({ invocationId: invocation, timestamp, event }) => {
      const body = JSON.stringify({ invocation, atMs: new Date(timestamp).getTime(), event });
      return env.REPORTS.fetch("http://reports/", { method: "POST", body });
    };
    await report(onset);
    return { outcome: report };
  },
};`;

/** Starts a Worker that is watched. */
export async function startWatched(options: WorkerOptions): Promise<Watched> {
  const prepared = await prepare({ ...options, root: ROOT });
  const found = new Map<string, Invocation>();
  const report = async (request: { json(): Promise<unknown> }) => {
    const { invocation, atMs, event } = (await request.json()) as Reported;
    const known = found.get(invocation);
    if (known) known.endedAtMs = atMs;
    else if (event.durableObjectId !== undefined) {
      const cause = event.info?.type ?? "unknown";
      found.set(invocation, { object: event.durableObjectId, cause, beganAtMs: atMs, endedAtMs: undefined });
    }
    return new Response(null, { status: 204 });
  };
  const tail = { name: "tail", modules: true, script: TAIL, compatibilityDate: "2026-10-20" };
  const [first, ...others] = prepared.workers;
  const workers = [
    { ...first, streamingTails: ["tail"] },
    ...others,
    { ...tail, serviceBindings: { REPORTS: report } },
  ];
  const worker = new TestWorker({ ...prepared, workers }, ROOT);
  await worker.restart();
  return {
    worker,
    get invocations() {
      return [...found.values()];
    },
    [Symbol.asyncDispose]: () => worker.stop(),
  };
}
