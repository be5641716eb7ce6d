/**
 * Ten processes over two isolates refresh the same token at the same time, while the object of the user is evicted and workerd
 * is killed. There must be one rotation, and every process must hold a live token.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { NODE } from "../oracle/node.ts";
import { signIn } from "./authorization.ts";
import { ModernClient } from "./client.ts";

const PROCESSES = 10;
const CLIENT = { client_id: "known", redirect_uri: "https://known.example/callback" };

interface Outcome {
  readonly status: number;
  readonly text: string;
  readonly attempts: number;
}

export interface StormReport {
  readonly repetitions: number;
  readonly refreshes: number;
  /** Requests that were lost and sent again. */
  readonly repeated: number;
  /** Descriptions of what went wrong. */
  readonly findings: readonly string[];
}

/** Runs repetitions, each with the refresh token that the one before has returned. */
export async function runRefreshStorm(repetitions: number): Promise<StormReport> {
  await using worker = await startWorker({
    entry: "test/worker/fixtures/authorization-server.ts",
    root: join(import.meta.dirname, "../.."),
    objects: { MCP: "McpObject" },
    bindings: { UPSTREAM: "http://127.0.0.1:1" },
    twin: true,
  });
  const processes = await Promise.all(Array.from({ length: PROCESSES }, startProcess));
  const findings: string[] = [];
  let [repeated, token] = [0, (await signIn(worker.origin, CLIENT)).refresh_token];
  try {
    for (let repetition = 1; repetition <= repetitions; repetition += 1) {
      const outcomes = await repeat(worker, processes, token, repetition);
      repeated += outcomes.reduce((sum, { attempts }) => sum + attempts - 1, 0);
      const refused = outcomes.filter(({ status }) => status !== 200);
      for (const { status, text } of refused) findings.push(`${repetition}: ${status} ${text}`);
      const issued = new Set(
        outcomes.map(({ text }) => (JSON.parse(text) as { refresh_token?: string }).refresh_token),
      );
      if (issued.size !== 1) findings.push(`${repetition}: ${issued.size} rotations`);
      const dead = await countDead(worker, outcomes);
      if (dead > 0) findings.push(`${repetition}: ${dead} access tokens are not accepted`);
      const [next] = issued;
      if (next === undefined || next === token) findings.push(`${repetition}: no rotation`);
      token = next ?? token;
    }
  } finally {
    for (const child of processes) child.disconnect();
  }
  return { repetitions, refreshes: repetitions * PROCESSES, repeated, findings };
}

async function startProcess(): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, "fixtures/refreshing-process.ts"), { execPath: NODE, stdio: "inherit" });
  await once(child, "message");
  return child;
}

async function repeat(
  worker: TestWorker,
  processes: readonly ChildProcess[],
  token: string,
  repetition: number,
): Promise<readonly Outcome[]> {
  let answered = 0;
  let onFirst: () => void = () => undefined;
  const first = new Promise<void>((resolve) => {
    onFirst = resolve;
  });
  const outcomes = processes.map(async (child, place) => {
    const outcome = once(child, "message") as Promise<[Outcome]>;
    child.send({ url: worker.url("/token"), token, headers: { "X-Twin": place % 2 === 0 ? "yes" : "no" } });
    const [found] = await outcome;
    answered += 1;
    if (answered === 1) onFirst();
    return found;
  });
  // Workerd is killed while the first responses are made, or after the first one has arrived.
  if (repetition % 2 === 0) await first;
  else await worker.evict("MCP");
  await worker.restart();
  const found = await Promise.all(outcomes);
  await worker.evict("MCP");
  return found;
}

/** Returns how many of the processes hold an access token that is not accepted. */
async function countDead(worker: TestWorker, outcomes: readonly Outcome[]): Promise<number> {
  const statuses = await Promise.all(
    outcomes.map(async ({ text }) => {
      const { access_token = "" } = JSON.parse(text) as { access_token?: string };
      const headers = { authorization: `Bearer ${access_token}` };
      const response = await new ModernClient(worker.url("/mcp")).call("who", {}, { headers });
      await response.body?.cancel();
      return response.status;
    }),
  );
  return statuses.filter((status) => status !== 200).length;
}
