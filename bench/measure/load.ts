/** Sends requests one after the other on each of several connections for a given time. */
import { Connection } from "../client.ts";
import type { Workerd } from "../workerd.ts";

export interface Slice {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Microseconds of workerd's CPU time per request. */
  readonly cpuUs: number;
}

/** Each connection repeats one request. Connections take the requests in turn. */
export async function load(
  workerd: Workerd,
  requests: readonly Buffer[],
  connectionCount: number,
  ms: number,
): Promise<Slice> {
  const connections = await openConnections(workerd, connectionCount);
  const latencies: number[] = [];
  const cpuBefore = workerd.cpuMicroseconds();
  const startedAt = performance.now();
  const until = startedAt + ms;
  const run = async (connection: Connection, place: number) => {
    const request = requests[place % requests.length] as Buffer;
    for (let now = performance.now(); now < until; ) {
      const { status } = await connection.send(request);
      if (status !== 200) throw new Error(`${workerd.contestant.name} answered ${status} under load.`);
      const after = performance.now();
      latencies.push(after - now);
      now = after;
    }
  };
  try {
    await Promise.all(connections.map(run));
  } finally {
    for (const connection of connections) connection.close();
  }
  const seconds = (performance.now() - startedAt) / 1000;
  latencies.sort((a, b) => a - b);
  return {
    perSecond: latencies.length / seconds,
    p50Ms: latencies[Math.floor(latencies.length * 0.5)] ?? Number.NaN,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
    cpuUs: (workerd.cpuMicroseconds() - cpuBefore) / latencies.length,
  };
}

export async function withConnection<T>(workerd: Workerd, run: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.open(workerd.port);
  try {
    return await run(connection);
  } finally {
    connection.close();
  }
}

/** Runs a function `times` times, spread over the connections. */
export async function each(
  workerd: Workerd,
  times: number,
  connectionCount: number,
  run: (connection: Connection) => Promise<unknown>,
): Promise<void> {
  const connections = await openConnections(workerd, Math.min(times, connectionCount));
  let left = times;
  const work = async (connection: Connection) => {
    while (left > 0) {
      left -= 1;
      await run(connection);
    }
  };
  try {
    await Promise.all(connections.map(work));
  } finally {
    for (const connection of connections) connection.close();
  }
}

function openConnections(workerd: Workerd, count: number): Promise<Connection[]> {
  return Promise.all(Array.from({ length: count }, () => Connection.open(workerd.port)));
}
