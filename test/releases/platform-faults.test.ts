/**
 * What happens when the platform refuses: a modern stateless call continues, everything else ends with an error that says so,
 * and continues when the platform does. The table is in docs/guides/deploys.md.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { TestWorker } from "../../src/testing/index.ts";
import { ignoreLogs } from "../harness/logs.ts";
import { type Fault, type FaultKind, SPENDING_LIMIT } from "../harness/platform-faults.ts";
import type { Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { LegacyClient, ModernClient, type ReadAnswer, Reading, readAnswer } from "../worker/client.ts";
import { answersTo, TaskClient, textOf } from "../worker/task-client.ts";
import { bundleSwitching, bundleWorker } from "./bundle.ts";
import {
  ada,
  createUpload,
  IssuerBrowser,
  KEY,
  readFile,
  refresh,
  signIn as signInWith,
  upload,
} from "./everything.ts";
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
const signIn = async () => String((await signInWith(worker, new IssuerBrowser(worker))).refresh_token);
const errorIn = ({ messages }: ReadAnswer) => messages.at(-1)?.error as Members | undefined;

const KINDS: readonly FaultKind[] = ["spending-limit", "overloaded", "reset", "unreachable", "full"];
const unavailable = { code: -32603, message: "Objects are temporarily unavailable. Try again in 5 s." };
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

  test("refuses to read, answer and cancel a task, which then continues", async () => {
    const tasks = new TaskClient(worker.url("/all"), { headers: ada });
    const taskId = await tasks.start("later", { how: "ask" });
    const inputResponses = answersTo(await tasks.reaches(taskId, "input_required"), () => "Ada");
    await inject({ kind, place: "call", where: "task" });
    expect(await tasks.error("tasks/get", { taskId })).toMatchObject(unavailable);
    expect(await tasks.error("tasks/update", { taskId, inputResponses })).toMatchObject(unavailable);
    expect(await tasks.error("tasks/cancel", { taskId })).toMatchObject(unavailable);
    await inject();
    await tasks.update(taskId, inputResponses);
    expect(textOf(await tasks.reaches(taskId, "completed"))).toMatch(/^Ada /);
  });

  test("refuses a refresh of a token with 503 and keeps the grant", async () => {
    const token = await signIn();
    await inject({ kind, place: "call", where: "user" });
    await expect(refresh(worker, token)).rejects.toThrow(/^503 /);
    await inject();
    expect(await refresh(worker, token)).toMatchObject({ token_type: "Bearer" });
  });

  test("refuses uploads and downloads with 503, and calls that use files, and loses no file", async () => {
    const kept = await createUpload(worker);
    expect(await upload(worker, kept.url, "kept")).toBe(201);
    const made = await madeFile();
    const link = await createUpload(worker);
    await inject({ kind, place: "call", where: "files" });
    for (const [url, method] of [
      [link.url, "PUT"],
      [link.url, "GET"],
      [made, "GET"],
    ] as const)
      expect(await fileAnswer(url, method)).toEqual(FILE_REFUSED);
    const client = new ModernClient(worker.url("/all"));
    for (const [name, args] of [
      ["read_file", { kept: kept.file }],
      ["write_file", {}],
    ] as const)
      expect(errorIn(await readAnswer(client.call(name, args, { headers: ada })))).toMatchObject(unavailable);
    await inject();
    expect(await upload(worker, link.url, "sent again")).toBe(201);
    expect(await readFile(worker, link.file)).toBe("sent again");
    expect(await readFile(worker, kept.file)).toBe("kept");
    expect((await fileAnswer(made, "GET"))[2]).toBe("made");
  });

  test("does not fail initialize, which needs no object once the isolate has the sealing keys", async () => {
    await inject({ kind, place: "call" });
    expect((await LegacyClient.open(worker.url("/roomy"), { silent: true })).sessionId).toBeDefined();
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

test("a single reset is not noticed by an upload and a download", async () => {
  const link = await createUpload(worker);
  for (const [method, url] of [
    ["isFree", link.url],
    ["store", link.url],
    ["find", await madeFile()],
  ] as const) {
    await inject({ kind: "reset", place: "call", where: `files/${method}`, times: 1 });
    expect((await fileAnswer(url, method === "store" ? "PUT" : "GET"))[0]).toBe(method === "store" ? 201 : 200);
  }
});

const FILE_REFUSED = [503, "5", "Objects are temporarily unavailable. Try again in 5 s.\n"];

/** Requests a link of a file. Returns the status, Retry-After and the text. */
async function fileAnswer(link: string, method: "GET" | "PUT") {
  const url = worker.url(new URL(link).pathname);
  const response = await fetch(url, { method, ...(method === "PUT" && { body: "a" }) });
  return [response.status, response.headers.get("retry-after"), await response.text()];
}

/** Returns the link of a file that a tool has returned. */
async function madeFile(headers: Readonly<Record<string, string>> = ada): Promise<string> {
  const { raw } = await readAnswer(new ModernClient(worker.url("/all")).call("write_file", {}, { headers }));
  return /"uri":"([^"]+)"/.exec(raw)?.[1] ?? raw;
}

async function pay(client: ModernClient, meta: Members): Promise<string | undefined> {
  return (await readAnswer(client.call("pay", {}, { meta, headers: ada }))).text;
}

describe.each(["spending-limit", "full"] as const)("%s in the storage of an object", (kind) => {
  const place = kind === "full" ? "write" : "sql";

  test("does not fail a call whose progress could not be stored", async () => {
    await inject({ kind, place, where: "session" });
    expect(await play(session, "p")).toMatchObject({ status: 200, text: "k 2" });
    await inject();
    const { messages, text } = await play(session, "p");
    expect([messages.length, text]).toEqual([3, "k 2"]);
  });

  test("refuses a call of a session that must begin a stream with 503, and a repetition joins it", async () => {
    await inject({ kind, place, where: "session" });
    const slow = { key: "k", steps: [{ kind: "pause", ms: 3_000 }, ...steps] };
    const id = crypto.randomUUID();
    const sse = { headers: { accept: "text/event-stream" }, progressToken: "p", id };
    const refused = await session.call("play", slow, sse);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await refused.text()).toContain("Sessions are temporarily unavailable.");
    await inject();
    const { text, messages } = await readAnswer(session.call("play", slow, sse));
    expect(text, JSON.stringify(messages)).toBe("k 2");
  });

  test("ends a stream whose result could not be stored with an error", async () => {
    const client = await LegacyClient.open(worker.url("/roomy"));
    const slow = { key: "k", steps: [...steps, { kind: "pause", ms: 1_500 }] };
    const reading = new Reading(await client.call("play", slow, { progressToken: "p" }));
    await reading.has("progress", ({ messages }) => messages.length === 2);
    await inject({ kind, place, where: "session" });
    await reading.has("the end", ({ isOver }) => isOver);
    const message = "The call has ended, but its answer could not be stored.";
    expect(reading.messages.at(-1)?.error).toMatchObject({ code: -32603, message });
    await inject();
    expect((await play(client)).text).toBe("k 2");
  });

  test("does not lose the answer or the cancellation of a task, which is accepted when it is sent again", async () => {
    const tasks = new TaskClient(worker.url("/all"), { headers: ada });
    const ids = [await tasks.start("later", { how: "ask" }), await tasks.start("later", { how: "ask" })] as const;
    for (const id of ids) await tasks.reaches(id, "input_required");
    const inputResponses = answersTo(await tasks.get(ids[0]), () => "Ada");
    await inject({ kind, place, where: "task" });
    const refusals = [
      await tasks.error("tasks/update", { taskId: ids[0], inputResponses }),
      await tasks.error("tasks/cancel", { taskId: ids[1] }),
    ];
    for (const refusal of refusals) expect(refusal).toMatchObject(unavailable);
    await inject();
    for (const id of ids) expect((await tasks.get(id)).status).toBe("input_required");
    await tasks.update(ids[0], inputResponses);
    await tasks.cancel(ids[1]);
    expect(textOf(await tasks.reaches(ids[0], "completed"))).toMatch(/^Ada /);
    expect((await tasks.get(ids[1])).status).toBe("cancelled");
  });

  test("does not fail a call at an endpoint whose calls cannot be counted in the storage", async () => {
    await inject({ kind, place, where: "rates" });
    const { status } = await readAnswer(new ModernClient(worker.url("/all")).call("plain", {}, { headers: ada }));
    expect(status).toBe(200);
  });

  test("refuses an upload with 503, fails a call that returns a file, and leaves nothing behind", async () => {
    const kept = await createUpload(worker);
    expect(await upload(worker, kept.url, "kept")).toBe(201);
    const link = await createUpload(worker);
    await inject({ kind, place, where: "files" });
    expect(await fileAnswer(link.url, "PUT")).toEqual(FILE_REFUSED);
    expect(await madeFile()).toContain(
      kind === "full" ? "There is no room for another file. Wait" : unavailable.message,
    );
    await inject();
    expect(await upload(worker, link.url, "sent again")).toBe(201);
    for (const [{ file }, text] of [
      [kept, "kept"],
      [link, "sent again"],
    ] as const)
      expect(await readFile(worker, file)).toBe(text);
  });

  test("does not fail a call that publishes a notification", async () => {
    await inject({ kind, place, where: "hub" });
    expect((await readAnswer(modern().call("touch"))).text).toBe("touched");
  });

  test("refuses a sign-in and keeps the grant", async () => {
    const token = await signIn();
    await inject({ kind, place, where: "user" });
    await expect(refresh(worker, token)).rejects.toThrow(/^503 /);
    await inject();
    expect(await refresh(worker, token)).toMatchObject({ token_type: "Bearer" });
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

test("content without its entry is not kept when an object becomes full between both", async () => {
  const before = new Set(await worker.objects("AllObject"));
  await inject({ kind: "full", place: "write", where: "files", skip: 1, times: 1 });
  expect(await madeFile({ "x-user": "full" })).toContain("There is no room for another file.");
  const [id = ""] = (await worker.objects("AllObject")).filter((each) => !before.has(each));
  const keys = id === "" ? {} : (await worker.storage("AllObject", id)).keys;
  expect(Object.keys(keys).filter((key) => key.startsWith("files/"))).toEqual([]);
  expect(await madeFile({ "x-user": "full" })).toMatch(/^http/);
});

test("a refused alarm fails the start of a task, and nothing is acknowledged", async () => {
  await inject({ kind: "spending-limit", place: "setAlarm", where: "task" });
  const tasks = new TaskClient(worker.url("/all"), { headers: ada });
  const error = await tasks.error("tools/call", { name: "later", arguments: {} });
  expect(error).toMatchObject({ code: -32603 });
  expect(JSON.stringify(error)).not.toContain(SPENDING_LIMIT);
});

test("a refused alarm does not leave a claim, so a call with a key runs when it is repeated", async () => {
  await inject({ kind: "spending-limit", place: "setAlarm", where: "once" });
  const client = new ModernClient(worker.url("/all"));
  const meta = { [KEY]: crypto.randomUUID() };
  expect(errorIn(await readAnswer(client.call("pay", {}, { meta, headers: ada })))).toMatchObject(unavailable);
  await inject();
  expect(await pay(client, meta)).toMatch(/^paid /);
});

describe("an open stream", () => {
  async function listen() {
    const client = await LegacyClient.open(worker.url("/roomy"));
    const before = new Set(await worker.objects("McpObject"));
    expect((await readAnswer(client.request("resources/subscribe", { uri: "chaos://a" }))).status).toBe(200);
    const [id = ""] = (await worker.objects("McpObject")).filter((each) => !before.has(each));
    const reading = new Reading(await client.get());
    await reading.has("an event id", ({ ids }) => ids.length > 0);
    return { client, reading, reset: () => worker.abort("McpObject", id, "reset because its code was updated") };
  }

  test("reconnects by itself when its object can be called again soon", async () => {
    const { client, reading, reset } = await listen();
    await inject({ kind: "unreachable", place: "call", where: "session", times: 3 });
    await reset();
    const isHeard = () => reading.messages.some(({ method }) => method === "notifications/resources/updated");
    await until("a notification", async () => {
      await (await client.call("touch")).body?.cancel();
      return isHeard();
    });
    expect(reading.isOver).toBe(false);
  });

  test("ends when its object cannot be called for long, and its client resumes it", async () => {
    const { client, reading, reset } = await listen();
    await inject({ kind: "unreachable", place: "call", where: "session" });
    await reset();
    await reading.has("the end", ({ isOver }) => isOver);
    await inject();
    const resumed = await client.get({ lastEventId: reading.ids.at(-1) });
    expect(resumed.status).toBe(200);
    await resumed.body?.cancel();
  });
});

test("an isolate without sealing keys refuses initialize with 503 until it can read them", async () => {
  await worker.restart();
  await inject({ kind: "spending-limit", place: "call", where: "keys" });
  await expect(LegacyClient.open(worker.url("/roomy"))).rejects.toThrow(/^initialize: 503 /);
  await inject();
  expect((await play(session)).text).toBe("k 2");
});

const WEEK_MS = 7 * 24 * 60 * 60_000;

// The last test, because it moves the clock.
test("alarms that run days late continue what is due and delete what has expired", async () => {
  const tasks = new TaskClient(worker.url("/all"), { headers: ada });
  const asking = await tasks.start("later", { how: "ask" });
  const retrying = await tasks.start("later", { how: "wait" });
  const asked = await tasks.reaches(asking, "input_required");
  const before = new Set(await worker.objects("McpObject"));
  const old = await LegacyClient.open(worker.url("/roomy"));
  expect((await play(old, "p")).text).toBe("k 2");
  const [home = ""] = (await worker.objects("McpObject")).filter((each) => !before.has(each));
  await worker.advance(WEEK_MS);
  expect((await old.call("play", { key: "k", steps })).status).toBe(404);
  const { keys, tables } = await worker.storage("McpObject", home);
  expect([keys, tables]).toEqual([{}, {}]);
  expect((await tasks.get(asking)).status).toBe("input_required");
  expect((await tasks.get(retrying)).status).toBe("working");
  await tasks.update(
    asking,
    answersTo(asked, () => "Ada"),
  );
  // The runtime schedules alarms with its own clock, which has not moved.
  await worker.advance(0);
  expect(textOf(await tasks.reaches(asking, "completed"))).toMatch(/^Ada /);
  await worker.advance(2 * WEEK_MS);
  for (const taskId of [asking, retrying]) {
    expect(await tasks.error("tasks/get", { taskId })).toMatchObject({ code: -32602 });
  }
});
