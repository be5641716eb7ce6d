/** `npm run bench -- --grow`: how the cost of mcp-edge grows with tools, events, sessions and subscriptions. */
import { readFileSync } from "node:fs";
import { bundle } from "./bundle.ts";
import { Connection } from "./client.ts";
import { CONTESTANTS, type Contestant } from "./contestants.ts";
import { each, load, withConnection } from "./measure/load.ts";
import { progress, resumed } from "./measure/streams.ts";
import { assertServed, listen, modernCall, modernList, openSession, sessionCall, toolsChanged } from "./requests.ts";
import { Workerd } from "./workerd.ts";

type Say = (what: string) => void;
type Row = Readonly<Record<string, number | string>>;

/** A stream that has not received the notification by then is counted as having missed it. */
const HEARD_WITHIN_MS = 20_000;
/** File descriptors that workerd uses for other things than connections: files, timers, its port. */
const SPARE_DESCRIPTORS = 100;

export async function grow(say: Say, isQuick: boolean): Promise<Row[]> {
  const rows: Row[] = [];
  const add = (row: Row) => {
    rows.push(row);
    say(
      Object.entries(row)
        .map(([name, value]) => `${name} ${typeof value === "number" ? Number(value.toFixed(2)) : value}`)
        .join(", "),
    );
  };
  const most = isQuick ? 1_000 : 10_000;
  const steps = (from: number, to: number) =>
    [from, 10, 100, 1_000, 10_000, 100_000].filter((n, i) => (i === 0 || n > from) && n <= to);
  for (const tools of steps(1, 1_000)) add(await withTools(tools));
  await using workerd = await startOurs();
  for (const events of steps(10, isQuick ? 10_000 : 100_000)) add(await withEvents(workerd, events));
  for (const sessions of steps(1, most)) add(await withSessions(workerd, sessions));
  for (const subscriptions of steps(1, most)) add(await withSubscriptions(Math.min(subscriptions, streamsMax())));
  return rows;
}

/** The number of connections that one workerd can hold here: each takes two file descriptors. */
function streamsMax(): number {
  const descriptors = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return Math.floor((Number(descriptors ?? Number.POSITIVE_INFINITY) - SPARE_DESCRIPTORS) / 2);
}

/** Measures whether calls slow down with tools that they do not use. They must not. */
async function withTools(tools: number): Promise<Row> {
  await using workerd = await startOurs(tools);
  const startedAt = performance.now();
  await withConnection(workerd, (connection) => connection.send(modernList()));
  const firstListMs = performance.now() - startedAt;
  await load(workerd, [modernCall()], 16, 500);
  const call = await load(workerd, [modernCall()], 16, 1_000);
  const list = await load(workerd, [modernList()], 16, 1_000);
  return { tools, firstListMs, callsPerSecond: call.perSecond, listsPerSecond: list.perSecond, listCpuUs: list.cpuUs };
}

async function withEvents(workerd: Workerd, events: number): Promise<Row> {
  const { value: lastMs, firstMs = Number.NaN } = await progress(workerd, { count: events });
  const { value: resumeMs } = await resumed(workerd, { count: events }).catch(() => ({ value: Number.NaN }));
  return { events, firstMs, lastMs, resumeMs };
}

async function withSessions(workerd: Workerd, sessions: number): Promise<Row> {
  const residentBefore = workerd.residentBytes();
  const opened = { requests: [] as Buffer[] };
  const startedAt = performance.now();
  await each(workerd, sessions, 16, async (connection) => {
    const request = sessionCall(await openSession(connection, workerd.contestant));
    assertServed(workerd.contestant, await connection.send(request));
    opened.requests.push(request);
  });
  const openMs = (performance.now() - startedAt) / sessions;
  const call = await load(workerd, opened.requests.slice(0, 16), 16, 1_000);
  return {
    sessions,
    openMs,
    callsPerSecond: call.perSecond,
    awakeKibEach: (workerd.residentBytes() - residentBefore) / 1024 / sessions,
  };
}

/** Measures how long a notification takes to reach the first and the last of the streams. */
async function withSubscriptions(subscriptions: number): Promise<Row> {
  await using workerd = await startOurs();
  const connections: Connection[] = [];
  const heardAt: number[] = [];
  let heard = () => undefined as undefined | boolean;
  const residentBefore = workerd.residentBytes();
  try {
    while (connections.length < subscriptions) {
      const connection = await Connection.open(workerd.port);
      connections.push(connection);
      await new Promise<void>((resolve, reject) => {
        const take = (bytes: Buffer) => {
          if (bytes.includes("subscriptions/acknowledged")) resolve();
          if (bytes.includes("notifications/tools/list_changed")) {
            heardAt.push(performance.now());
            heard();
          }
        };
        connection.listen(listen(), take).catch(reject);
      });
    }
    const kibEach = (workerd.residentBytes() - residentBefore) / 1024 / subscriptions;
    const all = new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), HEARD_WITHIN_MS);
      heard = () => {
        if (heardAt.length < subscriptions) return undefined;
        clearTimeout(timer);
        resolve(true);
        return true;
      };
    });
    const startedAt = performance.now();
    await withConnection(workerd, (connection) => connection.send(toolsChanged()));
    await all;
    const [first = Number.NaN] = heardAt;
    return {
      subscriptions,
      heard: heardAt.length,
      firstMs: first - startedAt,
      lastMs: (heardAt.at(-1) ?? Number.NaN) - startedAt,
      kibEach,
    };
  } finally {
    for (const connection of connections) connection.close();
  }
}

async function startOurs(tools = 53): Promise<Workerd> {
  const readme = CONTESTANTS.find(({ name }) => name === "ours-readme") as Contestant;
  const contestant = { ...readme, entry: "ours-grow" };
  const { path } = await bundle(contestant, { echoTools: tools - 1 || 1 });
  return Workerd.start(contestant, path);
}
