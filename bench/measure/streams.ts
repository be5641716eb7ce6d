/** Streams a call that reports progress many times, and resumes it after it has finished. */
import type { Answer, Connection } from "../client.ts";
import type { Contestant } from "../contestants.ts";
import {
  assertServed,
  type Events,
  emitCall,
  modernEmitCall,
  openSession,
  resume,
  type Session,
  sessionCall,
} from "../requests.ts";
import type { Figures } from "../scenarios.ts";
import type { Workerd } from "../workerd.ts";
import { withConnection } from "./load.ts";

/** Matches the end of each contestant's call. */
const RESULT = /"result":\s*\{[^{]*"content"/;

const IN_ONE_TURN: Events = { count: 1_000 };
const AWAITED: Events = { count: 1_000, pace: "await" };
const TIMED: Events = { count: 200, pace: "timer" };

interface StreamScenario {
  takes(contestant: Contestant): boolean;
  measure(workerd: Workerd): Promise<Figures>;
}

/** The floors emit everything in one turn. */
const hasPace = ({ name }: Contestant) => !name.startsWith("floor");
const hasSessions = ({ sessions }: Contestant) => sessions !== undefined;

/** The scenarios of streams, in the order in which they are measured in each round. */
export const STREAMS: Readonly<Record<string, StreamScenario>> = {
  "last-event": { takes: hasSessions, measure: (workerd) => progress(workerd, IN_ONE_TURN) },
  resume: { takes: ({ resumes = false }) => resumes, measure: (workerd) => resumed(workerd, IN_ONE_TURN) },
  "awaited-modern": {
    takes: (contestant) => contestant.hasModern && hasPace(contestant),
    measure: (workerd) => modernProgress(workerd, AWAITED),
  },
  awaited: {
    takes: (contestant) => hasSessions(contestant) && hasPace(contestant),
    measure: (workerd) => progress(workerd, AWAITED),
  },
  "resume-awaited": {
    takes: (contestant) => contestant.resumes === true && hasPace(contestant),
    measure: (workerd) => resumed(workerd, AWAITED),
  },
  "timed-modern": {
    takes: (contestant) => contestant.hasModern && hasPace(contestant),
    measure: (workerd) => modernProgress(workerd, TIMED),
  },
  timed: {
    takes: (contestant) => hasSessions(contestant) && hasPace(contestant),
    measure: (workerd) => progress(workerd, TIMED),
  },
};

/** Opens a session and makes a plain call in it, so that its object exists before the measured call. */
async function openUsedSession(connection: Connection, { contestant }: Workerd): Promise<Session> {
  const session = await openSession(connection, contestant);
  assertServed(contestant, await connection.send(sessionCall(session)));
  return session;
}

/** Makes one call in a used session and returns the milliseconds to its first and last event. */
export function progress(workerd: Workerd, events: Events): Promise<Figures> {
  return withConnection(workerd, async (connection) => {
    const session = await openUsedSession(connection, workerd);
    return timed(workerd, events, (onBytes) => connection.send(emitCall(session, events), onBytes));
  });
}

/** The same for a modern call. */
function modernProgress(workerd: Workerd, events: Events): Promise<Figures> {
  return withConnection(workerd, (connection) =>
    timed(workerd, events, (onBytes) => connection.send(modernEmitCall(events), onBytes)),
  );
}

async function timed(
  workerd: Workerd,
  { count }: Events,
  send: (onBytes: (bytes: Buffer) => void) => Promise<Answer>,
): Promise<Figures> {
  const startedAt = performance.now();
  let firstMs: number | undefined;
  const answer = await send((bytes) => {
    if (firstMs === undefined && bytes.includes("notifications/progress")) firstMs = performance.now() - startedAt;
  });
  const lastMs = performance.now() - startedAt;
  assertWhole(workerd, answer.body, count, "A stream");
  return { value: lastMs, firstMs: firstMs ?? Number.NaN };
}

/** Returns the milliseconds from a GET with the first event's id to the result. */
export function resumed(workerd: Workerd, events: Events): Promise<Figures> {
  return withConnection(workerd, async (connection) => {
    const session = await openUsedSession(connection, workerd);
    const { body } = await connection.send(emitCall(session, events));
    const firstId = /^id: (.+?)\r?\n/m.exec(body)?.[1];
    if (firstId === undefined) throw new Error(`${workerd.contestant.name} gave its events no ids.`);
    const startedAt = performance.now();
    const parts: string[] = [];
    let tail = "";
    // Some contestants leave the stream open after its result.
    const again = await new Promise<string>((resolve, reject) => {
      const take = (bytes: Buffer) => {
        const part = bytes.toString("latin1");
        parts.push(part);
        tail = (tail + part).slice(-1_000);
        if (RESULT.test(tail)) resolve(parts.join(""));
      };
      connection.send(resume(session, firstId), take).then(({ body }) => resolve(body), reject);
    });
    const lastMs = performance.now() - startedAt;
    // A chunk boundary may split a method name.
    assertWhole(workerd, again, events.count * 0.9, "A resumed stream");
    return { value: lastMs };
  });
}

function assertWhole(workerd: Workerd, body: string, countMin: number, what: string): void {
  const events = body.split("notifications/progress").length - 1;
  if (events >= countMin && RESULT.test(body)) return;
  throw new Error(`${what} of ${workerd.contestant.name} had ${events} events: ${body.slice(-300)}`);
}
