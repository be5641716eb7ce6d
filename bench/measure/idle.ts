/** What sessions leave behind when nobody uses them, and what it takes to wake one. */
import { setTimeout as pause } from "node:timers/promises";
import { assertServed, openSession, type Session, sessionCall } from "../requests.ts";
import type { Figures } from "../scenarios.ts";
import { medianOf } from "../statistics.ts";
import type { Workerd } from "../workerd.ts";
import { each, withConnection } from "./load.ts";

/** workerd takes an object out of memory after 10 s without use. */
const SLEEPS_AFTER_MS = 12_000;
const WOKEN = 40;

export interface IdleFigures {
  readonly memory: Figures;
  readonly disk: Figures;
  readonly wake: Figures;
}

/**
 * Sessions twice over: workerd keeps the memory of objects that fell asleep for others, so what idle sessions weigh is
 * what the second half adds when all sleep. The contestants wait at the same time.
 */
export async function idle(workerds: readonly Workerd[], count: number, onStep: (what: string) => void) {
  const found = new Map<string, IdleFigures>();
  const fill = async (workerd: Workerd) => {
    const sessions: Session[] = [];
    await each(workerd, count, 16, async (connection) => {
      const session = await openSession(connection, workerd.contestant);
      assertServed(workerd.contestant, await connection.send(sessionCall(session)));
      sessions.push(session);
    });
    return sessions;
  };
  const empty = workerds.map((workerd) => ({ memory: workerd.residentBytes(), disk: workerd.diskBytes() }));
  const awake: number[] = [];
  for (const workerd of workerds) {
    onStep(workerd.contestant.name);
    await fill(workerd);
    awake.push(workerd.residentBytes());
  }
  onStep("waiting for all to sleep");
  await pause(SLEEPS_AFTER_MS);
  const half = workerds.map((workerd) => workerd.residentBytes());
  const sessions: Session[][] = [];
  for (const workerd of workerds) {
    onStep(workerd.contestant.name);
    sessions.push(await fill(workerd));
  }
  onStep("waiting for all to sleep");
  await pause(SLEEPS_AFTER_MS);
  for (const [place, workerd] of workerds.entries()) {
    const { memory = 0, disk = 0 } = empty[place] ?? {};
    const kib = (bytes: number, each: number) => bytes / 1024 / each;
    const memoryFigures = {
      value: kib(workerd.residentBytes() - (half[place] ?? 0), count),
      awakeKib: kib((awake[place] ?? 0) - memory, count),
    };
    const diskFigures = { value: kib(workerd.diskBytes() - disk, 2 * count) };
    onStep(`${workerd.contestant.name}: waking`);
    const wake = await wakeOf(workerd, sessions[place] ?? []);
    found.set(workerd.contestant.name, { memory: memoryFigures, disk: diskFigures, wake });
  }
  return found;
}

function wakeOf(workerd: Workerd, sessions: readonly Session[]): Promise<Figures> {
  return withConnection(workerd, async (connection) => {
    const first: number[] = [];
    for (const session of sessions.slice(0, WOKEN)) {
      const request = sessionCall(session);
      const startedAt = performance.now();
      assertServed(workerd.contestant, await connection.send(request));
      first.push(performance.now() - startedAt);
    }
    return { value: medianOf(first) };
  });
}
