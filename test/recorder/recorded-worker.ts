/** A Worker on workerd, recorded as in `mcp-edge dev`, with the tail Worker and the proxy. */
import { createHmac } from "node:crypto";
import { connect } from "node:net";
import { build } from "esbuild";
import { RecordingProxy } from "../../src/node/record/proxy/recording-proxy.ts";
import type { Entry } from "../../src/recorder/entry.ts";
import { Recorder, type RecorderOptions } from "../../src/recorder/recorder.ts";
import type { TailEvent } from "../../src/recorder/tail/tail-event.ts";
import { prepare, type WorkerOptions } from "../../src/testing/configuration.ts";
import { until } from "../../src/testing/until.ts";
import { TestWorker } from "../../src/testing/worker.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

/** The tail Worker, which uses a service instead of the network. */
const TAIL = `
import { createTail } from "./src/recorder/tail/tail.ts";
export default createTail(async (events, env) => {
  await env.REPORTS.fetch("http://reports/", { method: "POST", body: JSON.stringify(events) });
});`;

/** A recorded Worker. */
export interface RecordedWorker extends AsyncDisposable {
  readonly worker: TestWorker;
  readonly recorder: Recorder;
  readonly proxy: RecordingProxy;
  /** Returns the URL of a path behind the proxy. */
  url(path: string): string;
  /** Returns the newest entry that meets a condition, once the tail Worker has reported the end of its invocation. */
  entry(what: string, isFound: (entry: Entry) => boolean): Promise<Entry>;
}

let tail: Promise<string> | undefined;

function bundleTail(): Promise<string> {
  tail ??= build({
    stdin: { contents: TAIL, resolveDir: ROOT, loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
  }).then(({ outputFiles }) => outputFiles[0]?.text ?? "");
  return tail;
}

/** Starts a recorded Worker. */
export async function startRecorded(
  options: WorkerOptions,
  recorderOptions: Partial<RecorderOptions> = {},
): Promise<RecordedWorker> {
  const hash = (text: string) => createHmac("sha256", "test").update(text).digest("hex");
  const recorder = new Recorder({ contents: false, endpointPath: "/mcp", hash, ...recorderOptions });
  const prepared = await prepare({ root: ROOT, ...options });
  const report = async (request: { json(): Promise<unknown> }) => {
    recorder.takeTail((await request.json()) as TailEvent[]);
    return new Response(null, { status: 204 });
  };
  const [first, ...others] = prepared.workers;
  const tailWorker = {
    name: "recorder",
    modules: true,
    script: await bundleTail(),
    compatibilityDate: "2025-01-01",
    serviceBindings: { REPORTS: report },
  };
  const workers = [{ ...first, streamingTails: ["recorder"] }, ...others, tailWorker];
  const worker = new TestWorker({ ...prepared, workers }, ROOT);
  await worker.restart();
  const port = Number(new URL(worker.origin).port);
  const proxy = new RecordingProxy({
    recorder,
    connect: () => connect({ host: "127.0.0.1", port, allowHalfOpen: true }),
    inside: (_, response) => response.writeHead(404).end(),
    hasTail: true,
  });
  const own = await proxy.listen(["127.0.0.1"], 0);
  return {
    worker,
    recorder,
    proxy,
    url: (path) => new URL(path, `http://127.0.0.1:${own}`).href,
    entry: (what, isFound) => findEntry(recorder, what, isFound),
    async [Symbol.asyncDispose]() {
      await proxy.close();
      await worker.stop();
    },
  };
}

async function findEntry(recorder: Recorder, what: string, isFound: (entry: Entry) => boolean): Promise<Entry> {
  const find = () => [...recorder.entries()].findLast(isFound);
  const isEnded = ({ invocations }: Entry) => invocations.some(({ parent, endedAtMs }) => !parent && endedAtMs);
  await until(what, () => {
    const found = find();
    return found !== undefined && isEnded(found);
  });
  return find() as Entry;
}
