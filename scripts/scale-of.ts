/** Fills one workerd with idle sessions and open streams, weighs it, and sees that every one of them still answers. */
import { execFileSync } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { type HttpStream, newKeys, openStream, startWorker, type TestWorker } from "../src/testing/index.ts";

export interface ScaleOptions {
  /** Sessions that are initialized and have made one call. */
  readonly sessions: number;
  /** GET streams, of as many of these sessions. */
  readonly streams: number;
  /** Milliseconds to wait before weighing: workerd puts idle objects to sleep after 10 s. */
  readonly settleMs: number;
  /** What stands between, such as a tap: the address to use in place of the Worker's. */
  readonly by?: (url: string) => Promise<string>;
  /** Told what is done. */
  readonly onStep?: (what: string) => void;
}

/** Resident memory of workerd, in bytes. What objects that fell asleep leave it keeps for those that wake. */
export interface Weights {
  /** With one session. */
  readonly empty: number;
  /** With the sessions that have streams, settled: their objects sleep, their streams are open. */
  readonly streaming: number;
  /** With all sessions, right after their calls. */
  readonly used: number;
  /** When all have just answered a ping: in so short a time that few sleep again. */
  readonly awake: number;
  /** Then settled. */
  readonly asleep: number;
  /** When all have answered once more, and settled. */
  readonly again: number;
}

export interface Scale extends Weights {
  /** Sessions that answered their pings. */
  readonly pings: number;
  /** Streams that heard the notice in the end. */
  readonly heard: number;
}

/** Requests at once. */
const AT_ONCE = 40;
const CONTENT = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

export async function scaleOf({ sessions, streams, settleMs, by, onStep }: ScaleOptions): Promise<Scale> {
  await using worker = await startWorker({
    entry: "scripts/scale-worker.ts",
    root: `${import.meta.dirname}/..`,
    objects: { MCP_SESSION: "McpSession", MCP_HUB: "McpHub" },
    bindings: { MCP_KEYS: newKeys() },
  });
  const url = by ? await by(worker.url("/mcp")) : worker.url("/mcp");
  const ids = [await openSession(url)];
  const empty = residentOf(worker);
  const open: HttpStream[] = [];
  try {
    await each(streams, async (place) => {
      if (place > 0) ids[place] = await openSession(url);
      const stream = await openStream(url, { headers: headersOf(ids[place]) });
      open.push(stream);
      await stream.waitFor("the first event", ({ events }) => events.length > 0);
    });
    onStep?.(`${open.length} streams are open`);
    await pause(settleMs);
    const streaming = residentOf(worker);

    await each(sessions - ids.length, async () => ids.push(await openSession(url)));
    const used = residentOf(worker);
    onStep?.(`${ids.length} sessions are open`);

    const first = await pinged(url, ids);
    const awake = residentOf(worker);
    onStep?.(`${first} sessions have answered`);
    await pause(settleMs);
    const asleep = residentOf(worker);
    const pings = await pinged(url, ids);
    onStep?.(`${pings} sessions have answered again`);
    await pause(settleMs);
    const again = residentOf(worker);

    await (await post(url, { id: 2, method: "tools/call", params: { name: "change" } }, ids[0])).text();
    const told = ({ messages }: HttpStream) => JSON.stringify(messages).includes("notifications/tools/list_changed");
    await Promise.all(open.map((stream) => stream.waitFor("the notice", told).catch(() => undefined)));
    return {
      empty,
      streaming,
      used,
      awake,
      asleep,
      again,
      pings: Math.min(first, pings),
      heard: open.filter(told).length,
    };
  } finally {
    for (const stream of open) stream.cut();
  }
}

/** Runs something so many times, a few at once. */
async function each(times: number, run: (place: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < times) {
      next += 1;
      await run(next - 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function openSession(url: string): Promise<string> {
  const clientInfo = { name: "scale", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const opened = await post(url, { id: 0, method: "initialize", params });
  await opened.text();
  const id = opened.headers.get("Mcp-Session-Id") ?? undefined;
  if (id === undefined) throw new Error(`No session: ${opened.status}`);
  await (await post(url, { method: "notifications/initialized" }, id)).text();
  const called = await post(url, { id: 1, method: "tools/call", params: { name: "plain" } }, id);
  if (called.status !== 200) throw new Error(`A call was answered ${called.status}: ${await called.text()}`);
  await called.text();
  return id;
}

/** How many of the sessions answer a ping. */
async function pinged(url: string, ids: readonly string[]): Promise<number> {
  let answered = 0;
  await each(ids.length, async (place) => {
    const answer = await post(url, { id: 1, method: "ping" }, ids[place]);
    const hasResult = "result" in ((await answer.json()) as object);
    if (answer.status === 200 && hasResult) answered += 1;
  });
  return answered;
}

function post(url: string, message: object, id?: string): Promise<Response> {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  return fetch(url, { method: "POST", headers: { ...CONTENT, ...headersOf(id) }, body });
}

function headersOf(id: string | undefined): Record<string, string> {
  return id === undefined ? {} : { "Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-11-25" };
}

function residentOf({ pid }: TestWorker): number {
  return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) * 1024;
}
