// @module-tag long
/**
 * Handlers that mix questions with timers and branches, on workerd: in rounds, in a session, after its loss, and as a
 * task.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { type Cuttable, Session } from "../conformance/support.ts";
import { SHAPES, type Shape, STALLED } from "../features/asking-shapes.ts";
import { CAPABILITIES_KEY, type Members } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { answersTo, TaskClient } from "./task-client.ts";

/** Lets questions wait longer than any test, so that they do not time out on a slow machine. */
let patient: TestWorker;
/** Ends questions soon, for handlers that can finish only when a question times out. */
let impatient: TestWorker;
let worker: TestWorker;
let tap: HttpTap;

const start = (elicitTimeoutMs: number) =>
  startWorker({
    entry: "test/worker/fixtures/asking-shapes.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys(), ELICIT_TIMEOUT_MS: elicitTimeoutMs },
  });

beforeAll(async () => {
  [patient, impatient] = await Promise.all([start(60_000), start(1_500)]);
});
afterAll(() => Promise.all([patient?.stop(), impatient?.stop()]));
afterEach(async () => {
  await tap.close();
  tap.oracle.expectClean();
});

async function use(chosen: TestWorker): Promise<void> {
  worker = chosen;
  tap = await startHttpTap(`${worker.origin}/mcp`);
}

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
/** The JSON response of a handler that ended before it asked. */
function responseOf({ messages, raw, isOver }: Cuttable): Members | undefined {
  if (isOver && raw.startsWith("{")) return JSON.parse(raw) as Members;
  return messages.find(({ result }) => result !== undefined);
}

/**
 * Calls a tool in a new session, and answers its questions.
 *
 * @param reset Whether the session's object is reset while the first question is open.
 */
async function inSession(name: string, reset = false): Promise<Members> {
  const others = new Set(await worker.objects("McpObject"));
  const session = await openSession();
  const stream = await session.stream(name, {});
  for (let answered = 0; ; answered += 1) {
    await stream.has(
      "a question or the end",
      () => questionsOf(stream).length > answered || responseOf(stream) !== undefined,
    );
    const { id, params } = questionsOf(stream)[answered] ?? {};
    if (id === undefined) break;
    if (reset && answered === 0) await abortAllBut(others);
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

async function abortAllBut(others: ReadonlySet<string>): Promise<void> {
  const ids = (await worker.objects("McpObject")).filter((id) => !others.has(id));
  expect(ids).not.toEqual([]);
  for (const id of ids) await worker.abort("McpObject", id);
}

const CARRIERS: readonly [string, (name: string) => Promise<Members>, failure: "fails" | "failsLive"][] = [
  ["in rounds", byRounds, "fails"],
  ["in a session", (name) => inSession(name), "failsLive"],
  ["in a session whose object is reset while it asks", (name) => inSession(name, true), "failsLive"],
  ["as a task", asTask, "fails"],
];

describe.each(CARRIERS)("a handler that asks %s", (_, call, failure) => {
  test.each(Object.entries(SHAPES).map(([title, shape], at): [string, number, Shape] => [title, at, shape]))(
    "has the expected result or error: %s",
    async (_title, at, shape) => {
      const why = shape[failure];
      await use(why === STALLED ? impatient : patient);
      const before = (await errorsSoFar()).length;
      const result = await call(`shape-${at}`);
      if (!why) expect(result).toMatchObject({ content: [{ text: shape.text }] });
      else {
        expect(result).toMatchObject({ isError: true });
        await until("it is reported", async () => (await errorsSoFar()).slice(before).some((error) => why.test(error)));
      }
    },
  );
});
