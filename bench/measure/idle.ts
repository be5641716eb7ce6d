/** The memory and disk that idle sessions take, and the time to wake one. */
import { setTimeout as pause } from "node:timers/promises";
import { assertServed, openSession, type Session, sessionCall } from "../requests.ts";
import type { Figures } from "../scenarios.ts";
import { medianOf } from "../statistics.ts";
import type { Workerd } from "../workerd.ts";
import { each, withConnection } from "./load.ts";

/** workerd evicts an object after 10 s without use. */
const SLEEPS_AFTER_MS = 12_000;
const WOKEN = 40;
/** Number of batches of sessions before measuring, and number of measured batches. */
const SETTLING = 3;
const COUNTED = 3;

export interface IdleFigures {
  readonly memory: Figures;
  readonly disk: Figures;
  readonly wake: Figures;
}

/**
 * Opens batches of sessions, and waits until each batch has hibernated before it opens the next. workerd keeps the
 * memory of hibernated objects for others, and its heap first grows to what a batch takes while awake. The memory of
 * idle sessions is therefore what later batches add once all have hibernated. All contestants wait at the same time.
 *
 * @param isQuick Uses one batch to settle and one to measure.
 */
export async function idle(
  workerds: readonly Workerd[],
  count: number,
  isQuick: boolean,
  onStep: (what: string) => void,
) {
  const found = new Map<string, IdleFigures>();
  const [settling, counted] = isQuick ? [1, 1] : [SETTLING, COUNTED];
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
  /** Indexed by batch, then by contestant. */
  const awake: number[][] = [];
  const asleep: number[][] = [];
  let sessions: Session[][] = [];
  for (let lot = 1; lot <= settling + counted; lot += 1) {
    onStep(`lot ${lot} of ${settling + counted}`);
    sessions = [];
    awake.push([]);
    for (const workerd of workerds) {
      sessions.push(await fill(workerd));
      awake.at(-1)?.push(workerd.residentBytes());
    }
    onStep("waiting for all to sleep");
    await pause(SLEEPS_AFTER_MS);
    asleep.push(workerds.map((workerd) => workerd.residentBytes()));
  }
  for (const [place, workerd] of workerds.entries()) {
    const { memory = 0, disk = 0 } = empty[place] ?? {};
    const kib = (bytes: number, each: number) => bytes / 1024 / each;
    const added = (asleep.at(-1)?.[place] ?? 0) - (asleep[settling - 1]?.[place] ?? 0);
    const memoryFigures = {
      // The heap can also have shrunk.
      value: Math.max(0, kib(added, counted * count)),
      firstLotKib: kib((asleep[0]?.[place] ?? 0) - memory, count),
      awakeKib: kib((awake[0]?.[place] ?? 0) - memory, count),
    };
    const diskFigures = { value: kib(workerd.diskBytes() - disk, (settling + counted) * count) };
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
