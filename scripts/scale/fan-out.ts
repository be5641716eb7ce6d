/** Opens many listening streams on one workerd and measures how long a notification takes to reach the last of them. */
import { readFileSync } from "node:fs";
import { type HttpStream, newKeys, openStream, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { ROOT } from "../tools.ts";

export interface FanOutOptions {
  readonly streams: number;
  /** The maximum number of streams of one object. */
  readonly streamsMax: number;
  readonly publications: number;
}

/** The measurements. Times are in milliseconds, and include the work of the client in a separate process on the same machine. */
export interface FanOut {
  /** The number of objects to which streams are connected at the end. */
  readonly objects: number;
  /** The time from the first request to the last acknowledgement. */
  readonly attachMs: number;
  /** The CPU time of workerd for each opened stream, in the objects and the Worker. */
  readonly attachCpuMs: number;
  /** The time from each publication until the median stream and the last stream are notified. */
  readonly medianMs: readonly number[];
  readonly lastMs: readonly number[];
  /** The CPU time of workerd for each stream and publication, in the objects and the Worker. */
  readonly cpuMs: number;
  /** The time until the objects have sent a notification to the Worker. One object computes for about this long. */
  readonly sentMs: number;
  /** The number of streams that received every notification. */
  readonly heard: number;
}

/** Number of concurrent requests. */
const AT_ONCE = 40;
const HEADERS = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen" };
const LISTEN = {
  jsonrpc: "2.0",
  id: 1,
  method: "subscriptions/listen",
  params: {
    notifications: { toolsListChanged: true },
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
};

export async function fanOutOf({ streams, streamsMax, publications }: FanOutOptions): Promise<FanOut> {
  await using worker = await startWorker({
    entry: "scripts/scale/fan-out-worker.ts",
    root: ROOT,
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys(), STREAMS_MAX: String(streamsMax) },
  });
  const open: HttpStream[] = [];
  try {
    const [before, beganMs] = [cpuOf(worker), performance.now()];
    await attach(worker, streams, open);
    const attachMs = performance.now() - beganMs;
    const attached = cpuOf(worker);
    const times: number[][] = [];
    for (let at = 1; at <= publications; at += 1) times.push(await publish(worker, open, at));
    const cpuMs = (cpuOf(worker) - attached) / publications / streams;
    const sentMs = Number(await (await fetch(worker.url("/timed"), { method: "POST" })).json());
    await Promise.all(
      open.map((stream) => stream.waitFor("the last", ({ messages }) => messages.length > publications + 1)),
    );
    const hubs = await worker.objects("McpObject", "hub");
    const told = open.filter(({ messages }) => messages.length > publications + 1);
    return {
      objects: hubs.length,
      attachMs,
      attachCpuMs: (attached - before) / streams,
      medianMs: times.map((all) => all[all.length >> 1] ?? Number.NaN),
      lastMs: times.map((all) => all.at(-1) ?? Number.NaN),
      cpuMs,
      sentMs,
      heard: told.length,
    };
  } finally {
    for (const stream of open) stream.cut();
  }
}

async function attach(worker: TestWorker, streams: number, open: HttpStream[]): Promise<void> {
  const work = async () => {
    while (open.length < streams) {
      // Reserves the index before the first await.
      const at = open.push(undefined as unknown as HttpStream) - 1;
      const stream = await openStream(worker.url("/mcp"), { body: LISTEN, headers: HEADERS });
      open[at] = stream;
      await stream.waitFor("the acknowledgement", ({ messages }) => messages.length > 0);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** Publishes once and returns the milliseconds after which each stream was notified, ascending. */
async function publish(worker: TestWorker, open: readonly HttpStream[], number: number): Promise<number[]> {
  const beganMs = performance.now();
  const all = open.map(async (stream) => {
    await stream.waitFor("the notification", ({ messages }) => messages.length > number);
    return performance.now() - beganMs;
  });
  const published = await fetch(worker.url("/publish"), { method: "POST" });
  if (published.status !== 204) throw new Error(`Publishing was answered ${published.status}.`);
  return (await Promise.all(all)).sort((a, b) => a - b);
}

/** Returns the CPU time of workerd so far, in milliseconds. NaN if the system does not report it. */
function cpuOf({ pid }: TestWorker): number {
  try {
    const [user, system] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ").slice(11, 13) ?? [];
    return (Number(user) + Number(system)) * 10;
  } catch {
    return Number.NaN;
  }
}
