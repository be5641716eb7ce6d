/** Measures the costs of idle clients: which objects stay in memory, and what wakes them. */
import { setTimeout as pause } from "node:timers/promises";
import { openStream } from "../../src/testing/http-stream.ts";
import { newKeys, type TestWorker } from "../../src/testing/index.ts";
import { signIn } from "../../test/worker/authorization.ts";
import { LegacyClient, ModernClient } from "../../test/worker/client.ts";
import { TaskClient } from "../../test/worker/task-client.ts";
import { startWatched, type Watched } from "./watched.ts";

/** The time until an object without work has left memory, in milliseconds. The platform waits 10 s. */
export const ASLEEP_AFTER_MS = 16_000;

/** The time until workerd has reported an invocation, in milliseconds. */
const REPORTED_WITHIN_MS = 2_000;

/** The activity of the objects of an idle client during the measurement. */
export interface Idle {
  /** The objects that have served the client. */
  readonly objects: number;
  /** The number of these objects that were in memory at the beginning or at the end of the measurement. */
  readonly inMemory: number;
  /** The invocations of these objects during the measurement, by cause. */
  readonly wakeUps: Readonly<Record<string, number>>;
  /** The time for which they were awake, in milliseconds. */
  readonly awakeMs: number;
}

/** The measurements, by the description of the client in the document. */
export type IdleCounts = Readonly<Record<string, Idle>>;

/** An idle client: its actions before it is idle, and how its connections are closed. */
interface Shape {
  readonly what: string;
  readonly begin: (worker: TestWorker) => Promise<(() => void) | undefined>;
}

/** The number of streams that listen to a hub during the measurement. */
export const LISTENERS = 1_000;

const SHAPES: readonly Shape[] = [
  {
    what: "a caller that `rates()` has counted",
    begin: async (worker) => {
      await read(new ModernClient(worker.url("/mcp")).call("plain"));
      return undefined;
    },
  },
  {
    what: "a session that was opened, has made a call, and was left",
    begin: async (worker) => {
      const client = await LegacyClient.open(worker.url("/mcp"));
      await read(client.call("plain"));
      return undefined;
    },
  },
  {
    what: "an open GET stream",
    begin: async (worker) => {
      const client = await LegacyClient.open(worker.url("/mcp"));
      const leave = new AbortController();
      await begun(await client.get({ signal: leave.signal }));
      return () => leave.abort();
    },
  },
  {
    what: "an open stream of HTTP+SSE",
    begin: async (worker) => {
      const stream = await openStream(worker.url("/mcp"));
      await stream.waitFor("the endpoint", ({ events }) => events.length > 0);
      return () => stream.cut();
    },
  },
  {
    what: `${LISTENERS.toLocaleString("en-US")} listeners of a hub`,
    begin: async (worker) => {
      const leave = new AbortController();
      for (let count = 0; count < LISTENERS; count += 50) {
        await Promise.all(Array.from({ length: 50 }, () => listen(worker, leave.signal)));
      }
      return () => leave.abort();
    },
  },
  {
    what: "a call of a session that waits for a person's answer",
    begin: async (worker) => {
      const client = await LegacyClient.open(worker.url("/mcp"), { capabilities: { elicitation: {} } });
      const leave = new AbortController();
      await begun(await client.call("question", {}, { signal: leave.signal }));
      return () => leave.abort();
    },
  },
  {
    what: "a `tasks/result` of 2025-11-25 that waits for its task",
    begin: async (worker) => {
      const client = await LegacyClient.open(worker.url("/mcp"), { capabilities: { elicitation: {} } });
      const created = await client.request("tools/call", { name: "asks", arguments: {}, task: {} });
      const { result } = (await created.json()) as { result: { task: { taskId: string } } };
      const leave = new AbortController();
      const { taskId } = result.task;
      await begun(await client.request("tasks/result", { taskId }, { signal: leave.signal }));
      return () => leave.abort();
    },
  },
  {
    what: "a task that waits for an answer",
    begin: async (worker) => {
      const client = new TaskClient(worker.url("/mcp"));
      await client.reaches(await client.start("asks"), "input_required");
      return undefined;
    },
  },
];

const SIGNED_IN = "a user who has signed in at `authorizationServer()`";

/**
 * Starts every client, waits until its objects may have left memory, and measures them.
 *
 * @param watchMs The duration of the measurement, in milliseconds.
 */
export async function watchIdle(watchMs: number): Promise<IdleCounts> {
  const bindings = { MCP_KEYS: newKeys() };
  const objects = { MCP: "McpObject" };
  await using all = await startWatched({ entry: "scripts/cost/idle-worker.ts", objects, bindings });
  await using signing = await startWatched({ entry: "scripts/cost/sign-in-worker.ts", objects, bindings });
  const client = { client_id: "known", redirect_uri: "https://known.example/callback" };
  const shapes = [
    ...SHAPES.map((shape) => ({ ...shape, watched: all })),
    {
      what: SIGNED_IN,
      watched: signing,
      begin: ({ origin }: TestWorker) => signIn(origin, client).then(() => undefined),
    },
  ];
  const begun: { what: string; watched: Watched; ids: readonly string[]; end: (() => void) | undefined }[] = [];
  for (const { what, watched, begin } of shapes) {
    const before = watched.invocations.length;
    const end = await begin(watched.worker);
    await pause(REPORTED_WITHIN_MS);
    const ids = [...new Set(watched.invocations.slice(before).map(({ object }) => object))];
    begun.push({ what, watched, ids, end });
  }
  await pause(ASLEEP_AFTER_MS);
  const everywhere = new Map([all, signing].map((watched) => [watched, new Set<string>()]));
  for (const { watched, ids } of begun) for (const id of ids) everywhere.get(watched)?.add(id);
  const early = await findInMemory(everywhere);
  const fromMs = Date.now();
  await pause(watchMs);
  const toMs = Date.now();
  const inMemory = new Set([...early, ...(await findInMemory(everywhere))]);
  for (const { end } of begun) end?.();
  return Object.fromEntries(
    begun.map(({ what, watched, ids }) => {
      const awakeOnes = ids.filter((id) => inMemory.has(id)).length;
      return [what, { objects: ids.length, inMemory: awakeOnes, ...awake(watched, ids, fromMs, toMs) }];
    }),
  );
}

/** Returns the objects that are in memory. Evicting says so, and changes nothing for an object that is not. */
export async function findInMemory(
  everywhere: ReadonlyMap<Watched, ReadonlySet<string>>,
  binding = "MCP",
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [{ worker }, ids] of everywhere) {
    for (const id of ids) if ((await worker.evict(binding, id)) > 0) found.push(id);
  }
  return found;
}

/**
 * Invocations that began earlier are not counted: those of an object that was in memory are reported as such, and for a
 * request that was answered with a WebSocket, workerd reports no end although the object has hibernated.
 */
function awake({ invocations }: Watched, ids: readonly string[], fromMs: number, toMs: number) {
  const wakeUps: Record<string, number> = {};
  let awakeMs = 0;
  for (const { object, cause, beganAtMs, endedAtMs = toMs } of invocations) {
    if (!ids.includes(object) || beganAtMs > toMs || beganAtMs < fromMs) continue;
    awakeMs += Math.min(endedAtMs, toMs) - beganAtMs;
    wakeUps[cause] = (wakeUps[cause] ?? 0) + 1;
  }
  return { wakeUps, awakeMs };
}

async function read(response: Promise<Response>): Promise<void> {
  const { status, ...rest } = await response.then(async (each) => ({ status: each.status, text: await each.text() }));
  if (status !== 200) throw new Error(`${status} ${rest.text}`);
}

async function listen(worker: TestWorker, signal: AbortSignal): Promise<void> {
  const params = { notifications: { resourcesListChanged: true } };
  const options = { signal };
  await begun(await new ModernClient(worker.url("/mcp")).request("subscriptions/listen", params, options));
}

/** Waits for the first bytes of a stream, which is then left open. */
async function begun(response: Response): Promise<void> {
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  await response.body?.getReader().read();
}
