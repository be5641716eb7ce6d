/**
 * Handlers that mix questions with timers and branches, on workerd: in rounds, in a session, after its loss, and as a
 * task.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { type Cuttable, Session } from "../conformance/support.ts";
import { SHAPES, type Shape } from "../features/asking-shapes.ts";
import { CAPABILITIES_KEY, type Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { answersTo, TaskClient } from "./task-client.ts";

let worker: TestWorker;
let tap: HttpTap;

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/asking-shapes.ts",
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

const echo = (message: string) => message;
const errorsSoFar = async () => (await (await fetch(`${worker.origin}/errors`)).json()) as string[];

async function byRounds(name: string): Promise<Members> {
  const client = new ModernClient(tap.url);
  const meta = { [CAPABILITIES_KEY]: { elicitation: { form: {} } } };
  let more: Members = {};
  for (let rounds = 0; rounds < 10; rounds += 1) {
    const { messages } = await readAnswer(client.request("tools/call", { name, arguments: {}, ...more }, { meta }));
    const result = messages.at(-1)?.result as Members;
    if (result.resultType !== "input_required") return result;
    more = { inputResponses: answersTo(result, echo), requestState: result.requestState };
  }
  throw new Error("it asks forever");
}

const openSession = () => Session.open(tap.url, { capabilities: { elicitation: {} } });
const questionsOf = ({ messages }: Cuttable) => messages.filter(({ method }) => method === "elicitation/create");
/** The JSON answer of a handler that ended before it asked. */
function responseOf({ messages, raw, isOver }: Cuttable): Members | undefined {
  if (isOver && raw.startsWith("{")) return JSON.parse(raw) as Members;
  return messages.find(({ result }) => result !== undefined);
}

/** @param lose What happens to the object while its first question is open. */
async function inSession(name: string, lose?: () => Promise<unknown>): Promise<Members> {
  const session = await openSession();
  const stream = await session.stream(name, {});
  for (let answered = 0; ; answered += 1) {
    await stream.has(
      "a question or the end",
      () => questionsOf(stream).length > answered || responseOf(stream) !== undefined,
    );
    const { id, params } = questionsOf(stream)[answered] ?? {};
    if (id === undefined) break;
    if (answered === 0) await lose?.();
    const { message } = params as { message: string };
    const result = { action: "accept", content: { name: message } };
    expect((await session.send({ jsonrpc: "2.0", id, result })).status).toBe(202);
  }
  return responseOf(stream)?.result as Members;
}

async function asTask(name: string): Promise<Members> {
  const client = new TaskClient(tap.url);
  const taskId = await client.start(name, {});
  for (let rounds = 0; rounds < 10; rounds += 1) {
    const task = await client.reaches(taskId, "completed", "input_required");
    if (task.status === "completed") return task.result as Members;
    await client.update(taskId, answersTo(task, echo));
  }
  throw new Error("it asks forever");
}

async function abortAll(): Promise<void> {
  for (const id of await worker.objects("McpObject", "session")) await worker.abort("McpObject", id);
}

const CARRIERS: readonly [string, (name: string) => Promise<Members>, failure: "fails" | "failsLive"][] = [
  ["in rounds", byRounds, "fails"],
  ["in a session", inSession, "failsLive"],
  ["in a session whose object is reset while it asks", (name) => inSession(name, abortAll), "failsLive"],
  ["as a task", asTask, "fails"],
];

describe.each(CARRIERS)("%s", (_, call, failure) => {
  test.each(Object.entries(SHAPES).map(([title, shape], at): [string, number, Shape] => [title, at, shape]))(
    "%s",
    async (_title, at, shape) => {
      const before = (await errorsSoFar()).length;
      const result = await call(`shape-${at}`);
      const why = shape[failure];
      if (!why) expect(result).toMatchObject({ content: [{ text: shape.text }] });
      else {
        expect(result).toMatchObject({ isError: true });
        await until("it is reported", async () => (await errorsSoFar()).slice(before).some((error) => why.test(error)));
      }
    },
  );
});
