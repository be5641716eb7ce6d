/** Streams a call that reports progress many times, and resumes it after it has finished. */
import { emitCall, openSession, resume } from "../requests.ts";
import type { Figures } from "../scenarios.ts";
import type { Workerd } from "../workerd.ts";
import { withConnection } from "./load.ts";

/** Matches the end of each contestant's call. */
const RESULT = /"result":\s*\{"content"/;

/** Makes one call in a new session and returns the milliseconds to its first and last event. */
export function progress(workerd: Workerd, count: number): Promise<Figures> {
  return withConnection(workerd, async (connection) => {
    const session = await openSession(connection, workerd.contestant);
    const startedAt = performance.now();
    let firstMs: number | undefined;
    const answer = await connection.send(emitCall(session, count), (bytes) => {
      if (firstMs === undefined && bytes.includes("notifications/progress")) firstMs = performance.now() - startedAt;
    });
    const lastMs = performance.now() - startedAt;
    assertWhole(workerd, answer.body, count, "A stream");
    return { value: lastMs, firstMs: firstMs ?? Number.NaN };
  });
}

/** Returns the milliseconds from a GET with the first event's id to the result. */
export function resumed(workerd: Workerd, count: number): Promise<Figures> {
  return withConnection(workerd, async (connection) => {
    const session = await openSession(connection, workerd.contestant);
    const { body } = await connection.send(emitCall(session, count));
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
    assertWhole(workerd, again, count * 0.9, "A resumed stream");
    return { value: lastMs };
  });
}

function assertWhole(workerd: Workerd, body: string, countMin: number, what: string): void {
  const events = body.split("notifications/progress").length - 1;
  if (events >= countMin && RESULT.test(body)) return;
  throw new Error(`${what} of ${workerd.contestant.name} had ${events} events: ${body.slice(-300)}`);
}
