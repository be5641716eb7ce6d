/** Storage of a call that outlives its request: which parts of the request, in how many rows, and for how long. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import type { RoleName } from "../../src/worker/roles.ts";
import { type Cuttable, Session } from "../conformance/support.ts";
import { type Members, notification } from "../http/messages.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { ABLE, keysOf, TaskClient, textOf } from "./task-client.ts";

let worker: TestWorker;

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/stored.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

const SECRET = "secret-4711";
const HEADERS = {
  authorization: `Bearer ${SECRET}`,
  cookie: `session=${SECRET}`,
  "proxy-authorization": `Basic ${SECRET}`,
  "x-api-key": SECRET,
  "cf-access-jwt-assertion": SECRET,
  "x-auth-token": SECRET,
  "x-other": `other ${SECRET}`,
  "accept-language": "de",
  "cf-ipcountry": "DE",
  "x-tenant": "acme",
};
const urlOf = () => `${worker.origin}/mcp?tenant=acme&access_token=${SECRET}`;
/** The facts that a handler gets when it only has the stored copy of the request. */
const storedFacts = () => ({
  authorization: null,
  cookie: null,
  "x-api-key": null,
  "x-other": null,
  "accept-language": "de",
  "cf-ipcountry": "DE",
  "x-tenant": "acme",
  url: `${worker.origin}/mcp?tenant=acme`,
});

/** Runs `work`, and returns the object of a role that was created during it. */
async function objectOf<T>(role: RoleName, work: () => Promise<T>): Promise<[T, string]> {
  const before = new Set(await worker.objects("McpObject"));
  const result = await work();
  const [id = ""] = (await worker.objects("McpObject", role)).filter((each) => !before.has(each));
  return [result, id];
}

async function question(stream: Cuttable): Promise<unknown> {
  const questions = () => stream.messages.filter(({ method }) => method === "elicitation/create");
  await stream.has("a question", () => questions().length > 0);
  return questions()[0]?.id;
}

async function answer(session: Session, id: unknown): Promise<void> {
  expect((await session.send({ jsonrpc: "2.0", id, result: { action: "decline" } })).status).toBe(202);
}

const textIn = (stream: Cuttable) => textOf(stream.messages.at(-1) as Members);
const keysIn = async (id: string) => Object.keys((await worker.storage("McpObject", id)).keys);

/** A session whose call waits for an answer, and its object. */
async function waiting(name: string, args: Members, request?: string) {
  const [{ session, stream, id }, object] = await objectOf("session", async () => {
    const session = (await Session.open(urlOf(), { capabilities: { elicitation: {} } })).with(HEADERS);
    const stream = await session.stream(name, args, request);
    return { session, stream, id: await question(stream) };
  });
  return { session, stream, object, id };
}

const CANCELLED = notification("notifications/cancelled", { requestId: "waits" });

describe("stored requests", () => {
  test("contain no credential in a session; the call sees the whole request until its object is lost", {
    tags: "long",
  }, async () => {
    for (const isLost of [false, true]) {
      const { session, stream, object, id } = await waiting("tell", {});
      const stored = JSON.stringify(await worker.storage("McpObject", object));
      expect(stored).toContain("acme");
      expect(stored).not.toContain(SECRET);
      expect(stored).not.toContain(session.id);
      if (isLost) await worker.abort("McpObject", object);
      await answer(session, id);
      await stream.end();
      const seen = JSON.parse(textIn(stream));
      if (isLost) expect(seen).toEqual(storedFacts());
      else expect(seen).toMatchObject({ authorization: `Bearer ${SECRET}`, "x-api-key": SECRET, url: urlOf() });
    }
  });

  test.each(["2025-11-25", "2026-07-28"])("contain no credential for a task of %s", async (version) => {
    const params = { name: "tell", arguments: {} };
    const [, object] = await objectOf("task", async () => {
      if (version === "2026-07-28") {
        const meta = { "io.modelcontextprotocol/clientCapabilities": ABLE };
        return readAnswer(new ModernClient(urlOf()).request("tools/call", params, { headers: HEADERS, meta }));
      }
      const session = (await Session.open(urlOf(), { capabilities: { elicitation: {} } })).with(HEADERS);
      return readAnswer(session.request("tools/call", { ...params, task: {} }));
    });
    const { keys } = await worker.storage("McpObject", object);
    expect(Object.keys(keys).length).toBeGreaterThan(0);
    expect(JSON.stringify(keys)).toContain("acme");
    expect(JSON.stringify(keys)).not.toContain(SECRET);
  });

  test("are passed to the handler of a task without credentials", async () => {
    const client = new TaskClient(urlOf());
    const params = { name: "tell", arguments: {} };
    const { taskId } = await client.result("tools/call", params, HEADERS);
    const task = await client.reaches(String(taskId), "input_required");
    const [key = ""] = keysOf(task);
    await client.update(String(taskId), { [key]: { action: "decline" } });
    expect(JSON.parse(textOf(await client.reaches(String(taskId), "completed")))).toEqual(storedFacts());
  });

  describe.each(["replay", "tasks"])("%s()", (part) => {
    const problemOf = async (options: object) => {
      const body = JSON.stringify(options);
      return (await fetch(`${worker.origin}/options/${part}`, { method: "POST", body })).text();
    };

    test.each([
      "Authorization",
      "proxy-authorization",
      "COOKIE",
      "X-Api-Key",
      "X-Auth-Token",
      "X-Auth",
      "Cf-Access-Jwt-Assertion",
      "Mcp-Session-Id",
      "X-Client-Secret",
      "X-Amz-Signature",
    ])("refuses to store the header %s", async (name) => {
      const problem = await problemOf({ keepHeaders: ["X-Tenant", name] });
      expect(problem).toContain(`${part}(): keepHeaders: "${name}" may be a credential`);
    });

    test.each(["access_token", "api_key", "apikey", "sig", "key"])(
      "refuses to store the query parameter %s",
      async (name) => {
        expect(await problemOf({ keepQuery: [name] })).toContain(`${part}(): keepQuery: "${name}" may be a credential`);
      },
    );

    test("refuses invalid names and accepts valid ones", async () => {
      expect(await problemOf({ keepHeaders: ["X Tenant"] })).toContain('"x tenant" is not the name of a header');
      expect(await problemOf({ keepHeaders: [""] })).toContain("is not a name");
      expect(await problemOf({ keepHeaders: "X-Tenant" })).toContain("is not an array of names");
      expect(await problemOf({ keepQuery: [7] })).toContain('"7" is not a name');
      const names = ["X-Tenant", "X-Author", "CF-Connecting-IP", "Keyboard-Layout"];
      expect(await problemOf({ keepHeaders: names, keepQuery: ["tenant", "monkeys"] })).toBe("");
    });
  });
});

describe("the journal of a call in a session", () => {
  const written = async (id: string) =>
    (await (await fetch(`${worker.origin}/written/${id}`)).json()) as { puts: number; units: number };
  const sumTo = (steps: number) => (steps * (steps - 1)) / 2;

  test("is written once for each step, and takes time and space linear in the steps", { tags: "long" }, async () => {
    const units: number[] = [];
    for (const steps of [600, 2_400]) {
      const { session, stream, object, id } = await waiting("step", { key: `grows ${steps}`, steps });
      const { keys } = await worker.storage("McpObject", object);
      for (const value of Object.values(keys)) expect(JSON.stringify(value).length).toBeLessThan(8_192);
      // Few rows, so that deleting them costs little compared to the steps.
      expect(Object.keys(keys).length).toBeLessThan(steps / 20);
      await answer(session, id);
      await stream.end();
      expect(textIn(stream)).toBe(`${sumTo(steps)} ${steps} decline`);
      const total = await written(object);
      // One more row for the question, and one row for its answer.
      expect(total.puts).toBe(steps + 2);
      expect(await keysIn(object)).toEqual([]);
      units.push(total.units);
    }
    const [few = 0, many = 0] = units;
    expect(many / few).toBeLessThan(6);
  });

  test("is read again after a loss, completely and in order, and deleted when the call has ended", async () => {
    const steps = 300;
    const { session, stream, object, id } = await waiting("step", { key: "lost", steps });
    expect((await keysIn(object)).filter((key) => key.startsWith("more:")).length).toBeGreaterThan(1);
    await worker.abort("McpObject", object);
    await answer(session, id);
    await stream.end();
    expect(textIn(stream)).toBe(`${sumTo(steps)} ${steps} decline`);
    expect(await keysIn(object)).toEqual([]);
  });

  test("is deleted completely with its session", async () => {
    const { session, stream, object } = await waiting("step", { key: "ended", steps: 300 });
    await worker.abort("McpObject", object);
    expect((await session.delete()).status).toBe(204);
    await stream.end();
    expect((await keysIn(object)).filter((key) => !key.startsWith("session"))).toEqual([]);
  });

  test.each([
    ["its client cancels the call", (session: Session) => session.send(CANCELLED)],
    ["its session ends", (session: Session) => session.delete()],
  ])("is deleted when %s, although its question is open for minutes", async (how, end) => {
    const { session, stream, object } = await waiting("step", { key: how, steps: 3 }, "waits");
    expect((await keysIn(object)).filter((key) => key.startsWith("call:"))).toHaveLength(1);
    expect((await end(session)).status).toBeLessThan(300);
    await stream.end();
    expect((await keysIn(object)).filter((key) => !key.startsWith("session"))).toEqual([]);
  });

  test("is stored beside a request larger than a row, which is stored once", async () => {
    const text = "y".repeat(100_000);
    const { session, stream, object, id } = await waiting("step", { key: "large", steps: 50, text });
    await answer(session, id);
    await stream.end();
    expect((await written(object)).units).toBeLessThan(2 * text.length);
    expect(textIn(stream)).toBe(`${sumTo(50)} 50 decline`);
  });

  test("is read in layout 1, one row with everything, and ends like any other", async () => {
    const steps = 400;
    const { session, stream, object, id } = await waiting("step", { key: "layout 1", steps });
    const { keys } = await worker.storage("McpObject", object);
    const [[name, first] = ["", undefined]] = Object.entries(keys).filter(([key]) => key.startsWith("call:"));
    const { stream: number, caller, post, journal } = first as { readonly [part: string]: Members };
    // As the code of that layout wrote it.
    const entries = Array.from({ length: steps }, (_, step) => ({ key: `step s${step}.1`, step: true, result: step }));
    const changes = Object.entries(keys).flatMap(([, value]) => (Array.isArray(value) ? value : []));
    const { question: asked } = changes.find((change) => change.id === id) as { question: Members };
    const call = {
      stream: number,
      caller,
      post,
      journal: { id: journal?.id, rounds: 0, entries, asked: [] },
      questions: { [String(id)]: asked },
      isRepeatable: false,
      reruns: 0,
    };
    const body = JSON.stringify({ [name]: call });
    expect((await fetch(`${worker.origin}/fill/${object}`, { method: "POST", body })).status).toBe(200);
    await worker.abort("McpObject", object);
    await answer(session, id);
    await stream.end();
    // No step ran again.
    expect(textIn(stream)).toBe(`${sumTo(steps)} ${steps} decline`);
    expect(await keysIn(object)).toEqual([]);
  });
});
