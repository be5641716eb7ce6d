/** Throughput and latency of single requests, and of opening sessions. */
import type { Contestant } from "../contestants.ts";
import {
  assertServed,
  modernCall,
  modernList,
  openSession,
  type Session,
  sessionCall,
  sessionList,
  statelessCall,
} from "../requests.ts";
import type { Figures } from "../scenarios.ts";
import type { Workerd } from "../workerd.ts";
import { each, load, withConnection } from "./load.ts";

const CONNECTIONS = 16;

/** Measures one slice of a scenario. */
export type SliceOf = (workerd: Workerd, ms: number) => Promise<Figures>;

/** How one slice of each scenario is measured. Sessions are opened once per process. */
export const SLICES: Readonly<Record<string, SliceOf>> = {
  "modern-call": (workerd, ms) => loaded(workerd, async () => [modernCall()], ms),
  "modern-list": (workerd, ms) => loaded(workerd, async () => [modernList()], ms),
  "stateless-call": (workerd, ms) => loaded(workerd, async () => [statelessCall(workerd.contestant)], ms),
  "session-call": (workerd, ms) => loaded(workerd, async () => callsOf(await sessionsOf(workerd)), ms),
  "session-list": (workerd, ms) => loaded(workerd, async () => (await sessionsOf(workerd)).map(sessionList), ms),
  "shared-session": (workerd, ms) => loaded(workerd, async () => sharedCallsOf(await sessionsOf(workerd)), ms),
  "new-session": newSessions,
};

/** Whether a contestant takes part in a scenario. */
export function takesPart({ hasModern, hasStateless, sessions }: Contestant, scenario: string): boolean {
  if (scenario.startsWith("modern")) return hasModern;
  return scenario.startsWith("stateless") ? hasStateless : sessions !== undefined;
}

function callsOf(sessions: readonly Session[]): Buffer[] {
  return sessions.map((session) => sessionCall(session));
}

/** A call for each connection, all in the first session. */
function sharedCallsOf([session]: readonly Session[]): Buffer[] {
  return Array.from({ length: CONNECTIONS }, (_, place) => sessionCall(session as Session, place + 1));
}

async function loaded(workerd: Workerd, requestsOf: () => Promise<Buffer[]>, ms: number): Promise<Figures> {
  const requests = await requestsOf();
  await withConnection(workerd, async (connection) =>
    assertServed(workerd.contestant, await connection.send(requests[0] as Buffer)),
  );
  const many = await load(workerd, requests, CONNECTIONS, ms);
  const one = await load(workerd, requests, 1, ms / 2);
  return {
    value: many.perSecond,
    cpuUs: many.cpuUs,
    p50Ms: many.p50Ms,
    p99Ms: many.p99Ms,
    aloneP50Ms: one.p50Ms,
    aloneP99Ms: one.p99Ms,
  };
}

async function newSessions(workerd: Workerd, ms: number): Promise<Figures> {
  const until = performance.now() + ms;
  const startedAt = performance.now();
  let opened = 0;
  await each(workerd, CONNECTIONS, CONNECTIONS, async (connection) => {
    while (performance.now() < until) {
      const session = await openSession(connection, workerd.contestant);
      assertServed(workerd.contestant, await connection.send(sessionCall(session)));
      opened += 1;
    }
  });
  return { value: opened / ((performance.now() - startedAt) / 1000) };
}

const opened = new WeakMap<Workerd, Promise<Session[]>>();

/** One session per connection. They are used continuously, so their objects stay awake. */
function sessionsOf(workerd: Workerd): Promise<Session[]> {
  const known = opened.get(workerd);
  if (known) return known;
  const sessions = withConnection(workerd, async (connection) => {
    const list: Session[] = [];
    while (list.length < CONNECTIONS) list.push(await openSession(connection, workerd.contestant));
    return list;
  });
  opened.set(workerd, sessions);
  return sessions;
}
