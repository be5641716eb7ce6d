/** The cost of a session call on Cloudflare: requests to objects and rows written. */
import { bundle } from "../bundle.ts";
import type { Connection } from "../client.ts";
import type { Contestant } from "../contestants.ts";
import { openSession, sessionCall } from "../requests.ts";
import type { Figures } from "../scenarios.ts";
import { Workerd } from "../workerd.ts";
import { withConnection } from "./load.ts";

const CALLS = 20;
const ASK = Buffer.from("GET /counts HTTP/1.1\r\nHost: localhost\r\n\r\n");

export async function counts(contestant: Contestant): Promise<Figures> {
  const { path } = await bundle(contestant, { counter: "calls" });
  await using workerd = await Workerd.start(contestant, path);
  return await withConnection(workerd, async (connection) => {
    const session = await openSession(connection, contestant);
    const request = sessionCall(session);
    await connection.send(request);
    const before = await ask(connection);
    for (let call = 0; call < CALLS; call += 1) await connection.send(request);
    const after = await ask(connection);
    return { value: (after.requests - before.requests) / CALLS, rows: (after.rows - before.rows) / CALLS };
  });
}

async function ask(connection: Connection): Promise<{ requests: number; rows: number }> {
  return JSON.parse((await connection.send(ASK)).body) as { requests: number; rows: number };
}
