/** The time from the start of a process to its first answer. */
import type { Bundle } from "../bundle.ts";
import type { Contestant } from "../contestants.ts";
import { assertServed, modernCall, openSession, sessionCall, statelessCall } from "../requests.ts";
import type { Figures } from "../scenarios.ts";
import { Workerd } from "../workerd.ts";
import { withConnection } from "./load.ts";

export async function start(contestant: Contestant, { path }: Bundle): Promise<Figures> {
  const startedAt = performance.now();
  await using workerd = await Workerd.start(contestant, path);
  return await withConnection(workerd, async (connection) => {
    const request = contestant.hasModern
      ? modernCall()
      : contestant.hasStateless
        ? statelessCall(contestant)
        : sessionCall(await openSession(connection, contestant));
    assertServed(contestant, await connection.send(request));
    return { value: performance.now() - startedAt };
  });
}
