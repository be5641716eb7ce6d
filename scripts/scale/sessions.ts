/**
 * Fills one workerd with idle sessions and open streams, measures its memory, and checks that all of them still answer.
 */
import { execFileSync } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { type HttpStream, newKeys, openStream, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { ROOT } from "../tools.ts";

export interface ScaleOptions {
  /** Sessions that are initialized and have made one call. */
  readonly sessions: number;
  /** GET streams, each of a different one of these sessions. */
  readonly streams: number;
  /** Milliseconds to wait before measuring: workerd hibernates idle objects after 10 s. */
  readonly settleMs: number;
  /** Returns the address to use instead of the Worker's, such as that of a proxy in front of it. */
  readonly by?: (url: string) => Promise<string>;
  /** Called after each step with its description. */
  readonly onStep?: (what: string) => void;
}

/** Resident memory of workerd in bytes. workerd keeps the memory of hibernated objects for others that wake up. */
export interface Weights {
  /** With one session. */
  readonly empty: number;
  /** With the sessions that have streams, settled: their objects hibernate, their streams are open. */
  readonly streaming: number;
  /** With all sessions, right after their calls. */
  readonly used: number;
  /** Right after all sessions have answered a ping, so that few objects hibernate again. */
  readonly awake: number;
  /** After all objects have hibernated again. */
  readonly asleep: number;
  /** After all sessions have answered once more and hibernated again. */
  readonly again: number;
}

export interface Scale extends Weights {
  /** Number of sessions that answered both pings. */
  readonly pings: number;
  /** Number of streams that received the final notification. */
  readonly heard: number;
}

/** Number of concurrent requests. */
const AT_ONCE = 40;
const CONTENT = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

export async function scaleOf({ sessions, streams, settleMs, by, onStep }: ScaleOptions): Promise<Scale> {
  await using worker = await startWorker({
    entry: "scripts/scale/sessions-worker.ts",
    root: ROOT,
    objects: ["McpObject"],
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
    await Promise.all(open.map((stream) => stream.waitFor("the notification", told).catch(() => undefined)));
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

/** Runs a function `times` times, at most `AT_ONCE` at the same time. */
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

/** Returns how many of the sessions answer a ping. */
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
