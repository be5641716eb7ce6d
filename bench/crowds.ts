/** `npm run bench -- --crowds`: loads that users meet, on mcp-edge as README recommends it and on its durable peers. */
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { bundle } from "./bundle.ts";
import { Connection } from "./client.ts";
import { CONTESTANTS, type Contestant } from "./contestants.ts";
import { emitCall, initializeFor, openSession } from "./requests.ts";
import { Workerd } from "./workerd.ts";

type Say = (what: string) => void;
type Row = Readonly<Record<string, number | string>>;

/** Those with durable sessions. */
const NAMES = ["ours-readme", "sdk-v1-object", "mcp-agent"];

/** What became of calls. */
class Outcomes {
  served = 0;
  /** Answered with 429 or 503 and `Retry-After`. */
  refused = 0;
  /** Everything else: another status, a missing event or result, a broken connection. */
  lost = 0;
  slowestMs = 0;

  add(outcome: "served" | "refused" | "lost", ms: number): void {
    this[outcome] += 1;
    this.slowestMs = Math.max(this.slowestMs, ms);
  }
}

export async function crowds(say: Say, isQuick: boolean): Promise<Row[]> {
  const rows: Row[] = [];
  for (const name of NAMES) {
    const contestant = CONTESTANTS.find((one) => one.name === name) as Contestant;
    const { path } = await bundle(contestant);
    for (const [what, run] of Object.entries(CROWDS)) {
      await using workerd = await Workerd.start(contestant, path);
      const outcomes = new Outcomes();
      const memory = watchMemory(workerd);
      const startedAt = performance.now();
      const failed = await run(workerd, outcomes, isQuick).then(
        () => undefined,
        (error: unknown) => String(error).split("\n")[0],
      );
      const seconds = (performance.now() - startedAt) / 1000;
      const { served, refused, lost, slowestMs } = outcomes;
      const row = {
        what,
        name,
        served,
        refused,
        lost,
        perSecond: Math.round(served / seconds),
        slowestMs: Math.round(slowestMs),
        mebibytes: Math.round(memory.stop() / 2 ** 20),
        ...(failed === undefined ? {} : { failed }),
        ...(workerd.end === undefined ? {} : { ended: workerd.end }),
      };
      rows.push(row);
      say(
        Object.entries(row)
          .map((entry) => entry.join(" "))
          .join(", "),
      );
    }
  }
  return rows;
}

const CROWDS: Readonly<Record<string, (workerd: Workerd, outcomes: Outcomes, isQuick: boolean) => Promise<void>>> = {
  "64 calls that stream in one session": streaming,
  "1,000 sessions, each with a reader that waits 3 s": slowReaders,
  "10,000 clients that connect within a second": arrivals,
};

const EVENTS = { count: 100, pace: "timer" } as const;

/** 64 connections of one session repeat calls with 100 events, each 0 ms after the one before. */
async function streaming(workerd: Workerd, outcomes: Outcomes, isQuick: boolean): Promise<void> {
  const connections = await Promise.all(Array.from({ length: 64 }, () => Connection.open(workerd.port)));
  const [first] = connections as [Connection, ...Connection[]];
  const session = await openSession(first, workerd.contestant);
  const until = performance.now() + (isQuick ? 2_000 : 10_000);
  let id = 1;
  const run = async (connection: Connection) => {
    while (performance.now() < until) {
      id += 1;
      const startedAt = performance.now();
      const { status, head, body } = await connection.send(emitCall(session, EVENTS, id));
      const isWhole = status === 200 && countEvents(body) === EVENTS.count && body.includes('"result"');
      outcomes.add(isWhole ? "served" : isRefusal(head) ? "refused" : "lost", performance.now() - startedAt);
    }
  };
  try {
    await Promise.all(connections.map(run));
  } finally {
    for (const connection of connections) connection.close();
  }
}

/** Each session makes a call of 2,000 events at once, and its reader begins to read after 3 s. */
async function slowReaders(workerd: Workerd, outcomes: Outcomes, isQuick: boolean): Promise<void> {
  const count = isQuick ? 100 : 1_000;
  const sessions = [];
  const opener = await Connection.open(workerd.port);
  while (sessions.length < count) sessions.push(await openSession(opener, workerd.contestant));
  opener.close();
  await Promise.all(
    sessions.map(async (session) => {
      const startedAt = performance.now();
      const { text } = await exchange(workerd.port, emitCall(session, { count: 2_000 }), 3_000);
      const isWhole = countEvents(text) === 2_000 && text.includes('"result"');
      outcomes.add(isWhole ? "served" : isRefusal(text) ? "refused" : "lost", performance.now() - startedAt);
    }),
  );
}

/** Clients open a connection of their own and initialize, spread evenly over a second. */
async function arrivals(workerd: Workerd, outcomes: Outcomes, isQuick: boolean): Promise<void> {
  const count = isQuick ? 1_000 : 10_000;
  const request = initializeFor(workerd.contestant);
  await Promise.all(
    Array.from({ length: count }, async (_, number) => {
      await pause((number / count) * 1_000);
      const startedAt = performance.now();
      const { text } = await exchange(workerd.port, request, 0);
      const isServed = text.startsWith("HTTP/1.1 200") && text.includes('"protocolVersion"');
      outcomes.add(isServed ? "served" : isRefusal(text) ? "refused" : "lost", performance.now() - startedAt);
    }),
  );
}

/** Sends a request on a connection of its own, and returns everything that arrives within a minute. */
function exchange(port: number, request: Buffer, waitMs: number): Promise<{ readonly text: string }> {
  return new Promise((resolve) => {
    const parts: string[] = [];
    const socket: Socket = connect(port, "127.0.0.1");
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text: parts.join("") });
    };
    const timer = setTimeout(end, 60_000);
    socket.on("error", end);
    socket.on("close", end);
    socket.on("data", (bytes) => {
      parts.push(bytes.toString("latin1"));
      if (isComplete(parts)) end();
    });
    socket.once("connect", () => {
      socket.write(request);
      if (waitMs === 0) return;
      socket.pause();
      setTimeout(() => socket.resume(), waitMs);
    });
  });
}

/** Whether an answer has arrived: with its length, or up to the empty chunk. */
function isComplete(parts: string[]): boolean {
  const tail = (parts.at(-2) ?? "").slice(-7) + (parts.at(-1) ?? "");
  if (tail.endsWith("\r\n0\r\n\r\n")) return true;
  const [, length, body] =
    /^HTTP[\s\S]*?\r\ncontent-length: (\d+)[\s\S]*?\r\n\r\n([\s\S]*)$/i.exec(parts[0] ?? "") ?? [];
  return length !== undefined && (body?.length ?? 0) >= Number(length);
}

function countEvents(text: string): number {
  return text.match(/notifications\/progress/g)?.length ?? 0;
}

function isRefusal(head: string): boolean {
  return /^HTTP\/1.1 (429|503)[\s\S]*\r\nretry-after: \d/i.test(head);
}

/** Remembers the most memory that the process has had in use, also if it ends meanwhile. */
function watchMemory(workerd: Workerd): { stop(): number } {
  let most = workerd.residentBytes();
  const timer = setInterval(() => {
    most = Math.max(most, workerd.residentBytes());
  }, 100);
  return {
    stop() {
      clearInterval(timer);
      return most;
    },
  };
}
