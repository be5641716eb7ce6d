/**
 * Storage that refuses in the middle: nothing that was acknowledged is lost, nothing happens twice, and work continues when
 * the storage does.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { TestWorker } from "../../src/testing/index.ts";
import { ignoreLogs } from "../harness/logs.ts";
import type { Fault } from "../harness/platform-faults.ts";
import type { Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { type LegacyClient, ModernClient, type ReadAnswer, Reading, readAnswer } from "../worker/client.ts";
import { answersTo, TaskClient, textOf } from "../worker/task-client.ts";
import { bundleSwitching, bundleWorker } from "./bundle.ts";
import { accept, ada, KEY, openSession } from "./everything.ts";
import { startBuilds } from "./state.ts";

ignoreLogs(/^mcp-edge: /);
ignoreLogs(/SQLITE_FULL|spending cap|code was updated/);

let worker: TestWorker;
let tasks: TaskClient;

beforeAll(async () => {
  worker = await startBuilds(await bundleSwitching({ today: await bundleWorker() }));
  tasks = new TaskClient(worker.url("/all"), { headers: ada });
});
afterAll(() => worker?.stop());
beforeEach(() => inject());

const target = { url: (path: string) => worker.url(path) };

async function inject(...faults: Fault[]): Promise<void> {
  await fetch(worker.url("/__platform"), { method: "POST", body: JSON.stringify({ faults }) });
}

/** Refuses writes of a role. @param skip The number of writes that it still accepts. */
const refuseWrites = (where: string, skip = 0, times?: number) =>
  inject({ kind: "full", place: "write", where, skip, ...(times === undefined ? {} : { times }) });

const objects = () => worker.objects("AllObject");

/** Returns the objects that a function creates. */
async function createdBy<T>(work: () => Promise<T>): Promise<readonly [T, readonly string[]]> {
  const before = new Set(await objects());
  const result = await work();
  return [result, (await objects()).filter((id) => !before.has(id))];
}

const reset = async (ids: readonly string[]) => {
  for (const id of ids) await worker.abort("AllObject", id, "reset because its code was updated");
};
const errorIn = ({ messages }: ReadAnswer) => messages.at(-1)?.error as Members | undefined;
const unavailable = { code: -32603, message: "Objects are temporarily unavailable. Try again in 5 s." };

describe("a task", () => {
  // The writes of a task: its start and state when it is created, its state when a run begins, a step, and its end.
  test("does not report a result that could not be stored, and does not run its finished step again", async () => {
    await refuseWrites("task", 4);
    const [taskId, ids] = await createdBy(() => tasks.start("later", { how: "complete" }));
    await until("the result is refused", async () => (await usesOf("write task")) > 4);
    expect((await tasks.get(taskId)).status).toBe("working");
    await inject();
    const text = textOf(await tasks.reaches(taskId, "completed"));
    await reset(ids);
    expect(textOf(await tasks.get(taskId))).toBe(text);
  });

  test.each([
    [3, "its step", "complete", "completed"],
    [4, "its question", "ask", "input_required"],
  ] as const)("does not fail if, after %i writes, %s cannot be stored once", async (skip, _, how, status) => {
    await refuseWrites("task", skip, 1);
    const taskId = await tasks.start("later", { how });
    await until("it is refused", async () => (await usesOf("write task")) > skip);
    expect(await tasks.reaches(taskId, status)).not.toMatchObject({ result: { isError: true } });
  });

  test("does not fail because of runs that could not be stored, however many there are", async () => {
    await refuseWrites("task", 2);
    const [taskId, ids] = await createdBy(() => tasks.start("later", { how: "complete" }));
    for (let run = 0; run < 24; run += 1) {
      for (const id of ids) await worker.runAlarm("AllObject", id).catch(() => undefined);
      // Sets the alarm again.
      await tasks.get(taskId);
    }
    await inject();
    expect(textOf(await tasks.reaches(taskId, "completed"))).toMatch(/^done /);
  });

  test("does not keep an answer of which only a part could be stored", async () => {
    const [taskId, ids] = await createdBy(() => tasks.start("later", { how: "ask" }));
    const asked = await tasks.reaches(taskId, "input_required");
    await refuseWrites("task", 1);
    const answers = (name: string) => answersTo(asked, () => name);
    const refused = await tasks.error("tasks/update", { taskId, inputResponses: answers("Ada Lovelace") });
    expect(refused).toMatchObject(unavailable);
    const stored = await Promise.all(ids.map((id) => worker.storage("AllObject", id)));
    expect(JSON.stringify(stored)).not.toContain("Lovelace");
    await inject();
    await tasks.update(taskId, answers("Bea"));
    expect(textOf(await tasks.reaches(taskId, "completed"))).toMatch(/^Bea /);
  });

  test("leaves no data if it could not be stored", async () => {
    await refuseWrites("task", 1);
    const [error, ids] = await createdBy(() => tasks.error("tools/call", { name: "later", arguments: {} }));
    expect(error).toMatchObject(unavailable);
    await inject();
    const left = async () =>
      (await Promise.all(ids.map((id) => worker.storage("AllObject", id)))).map(({ keys }) => keys);
    await until("its alarm has deleted it", async () =>
      (await left()).every((keys) => Object.keys(keys).every((key) => !key.startsWith("start/"))),
    );
  });

  test("does not report its questions as cancelled before its cancellation is stored", async () => {
    const samples = async () => (await readAnswer(new ModernClient(worker.url("/all")).call("samples"))).text ?? "";
    const taskId = await tasks.start("later", { how: "sample" });
    await tasks.reaches(taskId, "input_required");
    await refuseWrites("task");
    expect(await tasks.error("tasks/cancel", { taskId })).toMatchObject(unavailable);
    expect(await samples()).toBe("");
    await inject();
    await tasks.cancel(taskId);
    await until("the question is reported", async () => (await samples()) === "cancelled");
  });

  test("can be read although its alarm cannot be set", async () => {
    const taskId = await tasks.start("later", { how: "ask" });
    await tasks.reaches(taskId, "input_required");
    await inject({ kind: "spending-limit", place: "sql", where: "task" });
    expect((await tasks.get(taskId)).status).toBe("input_required");
  });
});

/** Returns how often the kit has used a place of the platform. */
async function usesOf(place: string): Promise<number> {
  const response = await fetch(worker.url("/__platform"), { method: "POST", body: "{}" });
  return ((await response.json()) as { used: Record<string, number> }).used[place] ?? 0;
}

describe("a call with a key", () => {
  const pay = (key: string) =>
    readAnswer(new ModernClient(worker.url("/all")).call("pay", {}, { meta: { [KEY]: key }, headers: ada }));

  test("has an outcome for a repetition if its storage soon accepts the outcome again", async () => {
    await refuseWrites("once", 1, 3);
    const key = crypto.randomUUID();
    const { text } = await pay(key);
    expect(text).toMatch(/^paid /);
    expect((await pay(key)).text).toBe(text);
  });

  test("returns its outcome to its caller if it can never be stored", { tags: "long", timeout: 60_000 }, async () => {
    await refuseWrites("once", 1);
    const key = crypto.randomUUID();
    expect((await pay(key)).text).toMatch(/^paid /);
    await inject();
    // It is not known whether the call has ended, so it does not run again.
    expect(errorIn(await pay(key))).toMatchObject({ data: { reason: "interrupted" } });
  });
});

describe("a session", () => {
  const callOf = (session: LegacyClient) => readAnswer(session.call("plain"));

  test("accepts an answer that could not be stored when it is sent again", async () => {
    const [asking, ids] = await createdBy(async () => {
      const session = await openSession(target, { elicitation: { form: {} } });
      const stream = new Reading(await session.call("ask", { count: 1 }, { progressToken: "q" }));
      await stream.has("a question", ({ messages }) => messages.some(({ method }) => method === "elicitation/create"));
      return { session, stream };
    });
    const { session, stream } = asking;
    const question = stream.messages.find(({ method }) => method === "elicitation/create")?.id;
    await reset(ids);
    await refuseWrites("session");
    const answer = () => session.send({ jsonrpc: "2.0", id: question, result: accept("Ada") });
    await until("it is refused", async () => (await answer()).status === 503);
    await inject();
    expect((await answer()).status).toBe(202);
    await stream.has("the end", ({ isOver }) => isOver);
    expect(textOf(stream.messages.at(-1) ?? {})).toBe("Ada 1");
  });

  test("continues if its end could not be stored", async () => {
    const session = await openSession(target);
    await readAnswer(session.request("resources/subscribe", { uri: "test://a" }));
    await refuseWrites("session");
    expect((await session.delete()).status).toBe(503);
    await inject();
    expect((await callOf(session)).text).toBe("plain");
    expect((await session.delete()).status).toBe(204);
    expect((await callOf(session)).status).toBe(404);
  });

  test("does not acknowledge a change that could not be stored, even if it is sent again", async () => {
    const session = await openSession(target);
    await callOf(session);
    await refuseWrites("session");
    for (let time = 0; time < 2; time += 1) {
      const refused = await readAnswer(session.request("logging/setLevel", { level: "error" }));
      expect(errorIn(refused)).toMatchObject(unavailable);
    }
  });
});

describe("a hub", () => {
  test("does not use objects whose number could not be stored", async () => {
    const sessions = [await openSession(target), await openSession(target)] as const;
    for (const session of sessions) await readAnswer(session.request("resources/subscribe", { uri: "test://a" }));
    const stop = new AbortController();
    const { signal } = stop;
    const readings = [new Reading(await sessions[0].get({ signal }))];
    await refuseWrites("hub");
    const refused = await sessions[1].get({ signal });
    expect(refused.status).not.toBe(200);
    await refused.body?.cancel();
    await inject();
    readings.push(new Reading(await sessions[1].get({ signal })));
    // A stream of each root, of which one knows the number of objects only from its storage.
    await reset(["hub:0", "hub:1"]);
    const heard = (reading: Reading) =>
      reading.messages.some(({ method }) => method === "notifications/resources/updated");
    await until("both have heard", async () => {
      await readAnswer(sessions[0].call("touch"));
      return readings.every(heard);
    });
    stop.abort();
  });
});

const DAY_MS = 24 * 60 * 60_000;

// The last test, because it moves the clock.
test("an isolate can read the sealing keys although a new key that is due cannot be stored", async () => {
  const session = await openSession(target);
  await worker.advance(20 * DAY_MS);
  await worker.restart();
  await refuseWrites("keys");
  expect((await readAnswer(session.call("plain"))).text).toBe("plain");
});
