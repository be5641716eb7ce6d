// @module-tag long
/** Journals that exceed the limit of their storage: an error that names the limit, and no other effect. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { type Cuttable, Session } from "../conformance/support.ts";
import { CAPABILITIES_KEY, type Members, request } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { answersTo, TaskClient, textOf } from "./task-client.ts";

const MIB = 1024 * 1024;

let worker: TestWorker;
let tap: HttpTap;

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/journals.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());
beforeEach(async () => {
  tap = await startHttpTap(`${worker.origin}/mcp`);
});
afterEach(async () => {
  await tap.close();
  tap.oracle.expectClean();
});

/** The errors reported to the author so far. */
const errors = async () => (await (await fetch(`${worker.origin}/errors`)).json()) as string[];

/** Runs `work` and expects that an error like this is then reported to the author. */
async function reports<T>(error: RegExp, work: () => Promise<T>): Promise<T> {
  const before = (await errors()).length;
  const result = await work();
  await until("it is reported", async () => (await errors()).slice(before).some((each) => error.test(each)));
  return result;
}

describe("a journal in requestState", () => {
  const call = async (name: string, size: number, more: Members = {}): Promise<Members> => {
    const params = { name, arguments: { size }, ...more };
    const meta = { [CAPABILITIES_KEY]: { elicitation: { form: {} } } };
    const { messages } = await readAnswer(new ModernClient(tap.url).request("tools/call", params, { meta }));
    return messages.at(-1)?.result as Members;
  };
  const reply = (asked: Members) => ({
    inputResponses: answersTo(asked, () => "Ada"),
    requestState: asked.requestState,
  });

  test.each(["keeping", "returning"])("above limits.requestStateBytesMax is refused (tool %s)", async (name) => {
    const result = await reports(/limits\.requestStateBytesMax, 2000/, () => call(name, 2_000));
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).not.toContain("limits.");
  });

  test("counts everything stored so far, so that a later round can be the first to be refused", async () => {
    const asked = await call("keeping", 1_200);
    expect(asked).toMatchObject({ resultType: "input_required" });
    const long = { ...reply(asked), inputResponses: answersTo(asked, () => "y".repeat(600)) };
    expect(await reports(/limits\.requestStateBytesMax/, () => call("keeping", 1_200, long))).toMatchObject({
      isError: true,
    });
  });

  test("makes a question fail if there is no room for it, and the handler continues", async () => {
    const asked = await call("trying", 1_200);
    const long = { ...reply(asked), inputResponses: answersTo(asked, () => "y".repeat(600)) };
    const text = textOf({ result: await call("trying", 1_200, long) });
    expect(text).toMatch(/^600; limit: The state for the next run has .* limits\.requestStateBytesMax, 2000\.$/);
    expect(textOf({ result: await call("trying", 2_000) })).toMatch(/^limit: .* 2000\.; limit: .* 2000\.$/);
  });

  test("allows no other question if there was no room for one, because each run would differ", async () => {
    const text = textOf({ result: await call("hoping", 1_000) });
    expect(text.split("; ")).toEqual([1, 2, 3].map(() => expect.stringMatching(/^limit: .* 2000\.$/)));
  });

  test("is kept if it is smaller", async () => {
    const first = await call("keeping", 1_000);
    const second = await call("keeping", 1_000, reply(first));
    expect(await call("keeping", 1_000, reply(second))).toMatchObject({ content: [{ text: "1000 3 3" }] });
    const asked = await call("returning", 1_000);
    expect(await call("returning", 1_000, reply(asked))).toMatchObject({ content: [{ text: "1000" }] });
  });
});

describe("the journal of a call in a session", () => {
  const questionsOf = ({ messages }: Cuttable) => messages.filter(({ method }) => method === "elicitation/create");
  const asked = async (stream: Cuttable, count: number) => {
    await stream.has(`question ${count}`, () => questionsOf(stream).length >= count);
    return questionsOf(stream)[count - 1]?.id;
  };
  const open = () => Session.open(tap.url, { capabilities: { elicitation: {} } });
  const answer = async (session: Session, id: unknown, name: string) => {
    const result = { action: "accept", content: { name } };
    expect((await session.send({ jsonrpc: "2.0", id, result })).status).toBe(202);
  };
  const abortAll = async () => {
    for (const id of await worker.objects("McpObject")) await worker.abort("McpObject", id);
  };

  test("is refused if it is larger than a row", async () => {
    const session = await open();
    const { messages } = await reports(/900000 characters/, () =>
      readAnswer(session.call("keeping", { size: 900_000 })),
    );
    expect(messages.at(-1)).toMatchObject({ result: { isError: true } });
  });

  test("is refused if the request itself is too large, which is otherwise served", async () => {
    const session = await open();
    const text = "y".repeat(900_000);
    const { messages } = await reports(/900000 characters/, () => readAnswer(session.call("keeping", { text })));
    expect(messages.at(-1)).toMatchObject({ result: { isError: true } });
    const stream = await session.stream("repeatable", { text });
    await stream.end();
    expect(stream.response.headers.get("content-type")).toContain("event-stream");
    expect(stream.raw).toContain('"text":"900000"');
  });

  test("is refused if an answer makes it too large, whether the run was lost or not", async () => {
    for (const lose of [async () => undefined, abortAll]) {
      const session = await open();
      const stream = await session.stream("keeping", { size: 500_000 });
      const id = await asked(stream, 1);
      await lose();
      await reports(/900000 characters/, async () => {
        await answer(session, id, "y".repeat(450_000));
        await stream.end();
      });
      expect(stream.messages.at(-1)).toMatchObject({ result: { isError: true } });
    }
  });

  const text = ({ messages }: Cuttable) => textOf(messages.at(-1) as Members);
  const lossesOf = [
    ["is still there", async () => undefined],
    ["was lost", abortAll],
  ] as const;

  test.each(lossesOf)(
    "rejects a question whose answer is too large, and the call continues (its run %s)",
    async (_, lose) => {
      const session = await open();
      const stream = await session.stream("trying", { size: 500_000 });
      const id = await asked(stream, 1);
      await lose();
      await answer(session, id, "y".repeat(450_000));
      await answer(session, await asked(stream, 2), "Ada");
      await stream.end();
      expect(text(stream)).toMatch(/^invalid-answer: .* of a call in a session may have 900000 characters, .*; 3$/);
    },
  );

  test.each(lossesOf)("rejects a question that leaves no room for answers (its run %s)", async (_, lose) => {
    const session = await open();
    const excessIn = (said: string | undefined) => Number(/characters, not (\d+)/.exec(said ?? "")?.[1]) - 900_000;
    await readAnswer(session.call("trying", { size: 900_000 }));
    const step = excessIn((await errors()).at(-1));
    // Here a step just fits, and there is no room for a question.
    const question = excessIn((await readAnswer(session.call("trying", { size: 900_000 - step }))).text);
    expect(question).toBeGreaterThan(0);
    const stream = await session.stream("trying", { size: 900_000 - step - question - 20 });
    const id = await asked(stream, 1);
    await lose();
    await answer(session, id, "Ada");
    await stream.end();
    expect(text(stream)).toMatch(/^invalid-answer: .* 900000 characters, .*; KitError: .* 900000 characters/);
  });

  test("is kept if it is smaller, and available after the object was lost", async () => {
    const session = await open();
    const stream = await session.stream("keeping", { size: 880_000 });
    await answer(session, await asked(stream, 1), "Ada");
    const second = await asked(stream, 2);
    await abortAll();
    await answer(session, second, "Ada");
    await stream.end();
    expect(stream.messages.at(-1)).toMatchObject({ result: { content: [{ text: "880000 3 3" }] } });
  });
});

describe("the journal of a task", () => {
  const finish = async (args: Members) => {
    const client = new TaskClient(tap.url);
    return client.reaches(await client.start("background", args), "completed");
  };

  test("has at most 16777216 characters", async () => {
    const args = { size: 6 * MIB, steps: 3 };
    expect(await reports(/A task stores at most .* 16777216 characters/, () => finish(args))).toMatchObject({
      result: { isError: true },
    });
  });

  test("has at most 10000 entries", async () => {
    expect(await reports(/A task stores at most 10000 /, () => finish({ steps: 10_001 }))).toMatchObject({
      result: { isError: true },
    });
  });

  test("is kept if it is smaller", async () => {
    expect(textOf(await finish({ size: 5 * MIB, steps: 3 }))).toBe(String(15 * MIB));
  });

  /** Answers both questions of `trying` and returns the text of its result. */
  const tryWith = async (args: Members, first: string) => {
    const client = new TaskClient(tap.url);
    const taskId = await client.start("trying", args);
    const task = await client.reaches(taskId, "input_required");
    expect(
      await client.update(
        taskId,
        answersTo(task, () => first),
      ),
    ).toMatchObject({});
    return client.finish(taskId, () => "Ada");
  };

  test("rejects a question whose answer is too large, and the task continues", async () => {
    const text = await tryWith({ size: 4 * MIB - 1_000, steps: 4 }, "y".repeat(10_000));
    expect(text).toMatch(/^invalid-answer: A task stores at most .* 16777216 characters\.; 3$/);
  });

  test("rejects each question that leaves no room for an answer", async () => {
    for (const args of [
      { size: 4 * MIB - 50, steps: 4 },
      { size: 1, steps: 10_000 },
    ]) {
      expect(await tryWith(args, "Ada")).toMatch(/^invalid-answer: A task stores .*; invalid-answer: A task stores/);
    }
  });

  test("rejects a question of a 2025-11-25 client whose answer exceeds the session's limit, and the task continues", async () => {
    const session = await Session.open(tap.url, { capabilities: { elicitation: {} } });
    const created = await readAnswer(session.request("tools/call", { name: "trying", arguments: {}, task: {} }));
    const { task } = (created.messages.at(-1) as { result: { task: Members } }).result;
    const result = await session.post(request("tasks/result", { taskId: task.taskId }, "result"));
    const questions = () => result.messages.filter(({ method }) => method === "elicitation/create");
    for (const [count, name] of ["y".repeat(950_000), "Ada"].entries()) {
      await result.has(`question ${count + 1}`, () => questions().length > count);
      const answer = { action: "accept", content: { name } };
      await session.send({ jsonrpc: "2.0", id: questions()[count]?.id, result: answer });
    }
    await result.end();
    expect(textOf(result.messages.at(-1) as Members)).toMatch(/^invalid-answer: .* 900000 characters, .*; 3$/);
  });
});
