// @module-tag long
/**
 * What happens when the platform refuses: a modern stateless call continues, everything else ends with an error that says so,
 * and continues when the platform does. The table is in docs/guides/deploys.md.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { TestWorker } from "../../src/testing/index.ts";
import { ignoreLogs } from "../harness/logs.ts";
import { type Fault, type FaultKind, SPENDING_LIMIT } from "../harness/platform-faults.ts";
import type { Members } from "../http/messages.ts";
import { LegacyClient, ModernClient, type ReadAnswer, readAnswer } from "../worker/client.ts";
import { TaskClient } from "../worker/task-client.ts";
import { bundleSwitching, bundleWorker } from "./bundle.ts";
import { ada, KEY } from "./everything.ts";
import { startBuilds } from "./state.ts";

ignoreLogs(/^mcp-edge: /);
ignoreLogs(/spending cap|overloaded|code was updated|Network connection lost|SQLITE_FULL/);

let worker: TestWorker;
let session: LegacyClient;

beforeAll(async () => {
  worker = await startBuilds(await bundleSwitching({ today: await bundleWorker() }));
  session = await LegacyClient.open(worker.url("/roomy"));
  expect((await play(session)).status).toBe(200);
});
afterAll(() => worker?.stop());
beforeEach(() => inject());

async function inject(...faults: Fault[]): Promise<void> {
  await fetch(worker.url("/__platform"), { method: "POST", body: JSON.stringify({ faults }) });
}

const steps = [{ kind: "say", count: 2, size: 10, turns: false }];
const play = (client: LegacyClient | ModernClient, progressToken?: string) =>
  readAnswer(client.call("play", { key: "k", steps }, { progressToken }));
const modern = () => new ModernClient(worker.url("/roomy"));
const errorIn = ({ messages }: ReadAnswer) => messages.at(-1)?.error as Members | undefined;

const KINDS: readonly FaultKind[] = ["spending-limit", "overloaded", "reset", "unreachable", "full"];
/** The faults of a call of an object. A full database refuses only writes. */
const CALL_KINDS = KINDS.filter((kind) => kind !== "full");

describe.each(KINDS)("%s", (kind) => {
  test("does not affect a stateless call, wherever it occurs", async () => {
    for (const place of ["call", "sql", "write", "setAlarm"] as const) await inject({ kind, place });
    await inject(...(["call", "sql", "write", "setAlarm"] as const).map((place) => ({ kind, place })));
    expect(await play(modern())).toMatchObject({ status: 200, text: "k 2" });
  });
});

describe.each(CALL_KINDS)("%s in a call of an object", (kind) => {
  test("refuses requests of a session with 503 and the time of the next try, and the session continues", async () => {
    await inject({ kind, place: "call", where: "session" });
    const refused = await session.call("play", { key: "k", steps });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await refused.text()).toContain("Sessions are temporarily unavailable.");
    expect((await session.get()).status).toBe(503);
    expect((await session.delete()).status).toBe(503);
    await inject();
    expect((await play(session)).text).toBe("k 2");
  });

  test("fails a call with a key and the start of a task with an error that says when to try again", async () => {
    await inject({ kind, place: "call", where: "once" }, { kind, place: "call", where: "task" });
    const client = new ModernClient(worker.url("/all"));
    const meta = { [KEY]: crypto.randomUUID() };
    const unavailable = { code: -32603, message: "Objects are temporarily unavailable. Try again in 5 s." };
    expect(errorIn(await readAnswer(client.call("pay", {}, { meta, headers: ada })))).toMatchObject(unavailable);
    const tasks = new TaskClient(worker.url("/all"), { headers: ada });
    expect(await tasks.error("tools/call", { name: "later", arguments: {} })).toMatchObject(unavailable);
    await inject();
    const [one, other] = [await pay(client, meta), await pay(client, meta)];
    expect(one).toMatch(/^paid /);
    expect(other).toBe(one);
  });

  test("refuses requests that cannot be counted with 503", async () => {
    await inject({ kind, place: "call", where: "rates" });
    const refused = await new ModernClient(worker.url("/all")).call("plain", {}, { headers: ada });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    await refused.body?.cancel();
  });

  test("does not fail a call that publishes a notification", async () => {
    await inject({ kind, place: "call", where: "hub" });
    const { text } = await readAnswer(modern().call("touch"));
    expect(text).toBe("touched");
  });
});

test("a single reset is not noticed by a call that can be repeated", async () => {
  await inject({ kind: "reset", place: "call", where: "task/read", times: 1 });
  const tasks = new TaskClient(worker.url("/all"), { headers: ada });
  const id = await tasks.start("later", { how: "complete" });
  expect((await tasks.reaches(id, "completed")).status).toBe("completed");
});

async function pay(client: ModernClient, meta: Members): Promise<string | undefined> {
  return (await readAnswer(client.call("pay", {}, { meta, headers: ada }))).text;
}

describe.each(["spending-limit", "full"] as const)("%s in the storage of an object", (kind) => {
  const place = kind === "full" ? "write" : "sql";

  test("ends a call that streams with an error that does not end the session", async () => {
    await inject({ kind, place, where: "session" });
    const answer = await play(session, "p");
    expect(errorIn(answer), answer.raw).toBeDefined();
    expect(answer.status).not.toBe(404);
    await inject();
    expect((await play(session, "p")).text).toBe("k 2");
  });

  test("does not acknowledge a task that could not be stored", async () => {
    await inject({ kind, place, where: "task" });
    const tasks = new TaskClient(worker.url("/all"), { headers: ada });
    expect(await tasks.error("tools/call", { name: "later", arguments: {} })).toMatchObject({ code: -32603 });
  });

  test("does not run a call with a key whose claim could not be stored", async () => {
    await inject({ kind, place, where: "once" });
    const client = new ModernClient(worker.url("/all"));
    const meta = { [KEY]: crypto.randomUUID() };
    expect(errorIn(await readAnswer(client.call("pay", {}, { meta, headers: ada })))).toMatchObject({ code: -32603 });
    await inject();
    expect(await pay(client, meta)).toMatch(/^paid /);
  });
});

test("a refused alarm fails the start of a task, and nothing is acknowledged", async () => {
  await inject({ kind: "spending-limit", place: "setAlarm", where: "task" });
  const tasks = new TaskClient(worker.url("/all"), { headers: ada });
  const error = await tasks.error("tools/call", { name: "later", arguments: {} });
  expect(error).toMatchObject({ code: -32603 });
  expect(JSON.stringify(error)).not.toContain(SPENDING_LIMIT);
});

test("alarms that run seven days late do not end a task that waits for an answer", async () => {
  const tasks = new TaskClient(worker.url("/all"), { headers: ada });
  const id = await tasks.start("later", { how: "ask" });
  await tasks.reaches(id, "input_required");
  await worker.advance(7 * 24 * 60 * 60_000);
  expect((await tasks.get(id)).status).toBe("input_required");
  const fresh = await LegacyClient.open(worker.url("/roomy"));
  expect((await play(fresh, "p")).text).toBe("k 2");
});
