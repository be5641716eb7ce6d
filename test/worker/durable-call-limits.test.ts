// @module-tag long
/** The time limits of calls in legacy sessions that wait for an answer of their client. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { type Cuttable, newKey, Session } from "../conformance/support.ts";
import { type Members, request } from "../http/messages.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { answer, asked } from "./questions.ts";

let worker: TestWorker;
let taps: HttpTap[] = [];

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/durable-calls.ts",
    objects: { MCP: "McpObject", HASTY: "HastyObject", BRIEF: "BriefObject", EFFECTS: "Effects" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());
afterEach(async () => {
  await Promise.all(taps.map((tap) => tap.close()));
  for (const { oracle } of taps) if (oracle.messages > 0) oracle.expectClean();
  taps = [];
});

async function open(path: string): Promise<Session> {
  const tap = await startHttpTap(`${worker.origin}${path}`);
  taps.push(tap);
  return Session.open(tap.url, { capabilities: { elicitation: {} } });
}

const get = (session: Session, name: string, args: Members = {}) =>
  session.post(request("prompts/get", { name, arguments: args }, newKey()));
const resultOf = async (stream: Cuttable) => (await stream.end()).messages.at(-1);
const effectsOf = async (key: string) => (await fetch(`${worker.origin}/effects/${key}`)).json() as Promise<Members>;

const TIMEOUT = { error: { code: -32603, data: { reason: "timeout" } } };

test("an object can hibernate while a person thinks, although its handler has a time limit", {
  timeout: 40_000,
}, async () => {
  const sessions = [await open("/mcp"), await open("/mcp"), await open("/mcp")] as const;
  const [prompt, reader, tool] = sessions;
  const streams = [
    await get(prompt, "patient", { key: newKey() }),
    await reader.post(request("resources/read", { uri: "calls://patient" }, newKey())),
    await tool.stream("bounded", {}),
  ] as const;
  await answer(tool, await asked(streams[2], 1));
  const questions = await Promise.all(streams.map((stream, index) => asked(stream, index === 2 ? 2 : 1)));
  await new Promise((resolve) => setTimeout(resolve, 18_000));
  expect(await worker.evict("McpObject")).toBe(0);
  await Promise.all(sessions.map((session, index) => answer(session, questions[index] as Members)));
  expect(await Promise.all(streams.map(resultOf))).toMatchObject([
    { result: { messages: [{ content: { text: "anybody" } }] } },
    { result: { contents: [{ text: "anybody" }] } },
    { result: { content: [{ text: "left right" }] } },
  ]);
});

test("a step that ends after its call has timed out does not store anything", async () => {
  const stored = async () => {
    const objects = await worker.objects("McpObject");
    const states = await Promise.all(objects.map((object) => worker.storage("McpObject", object)));
    return states.flatMap(({ keys }) => Object.keys(keys).filter((key) => key.startsWith("call:")));
  };
  const session = await open("/mcp");
  const before = await stored();
  const stream = await session.stream("overdue", {});
  expect(await resultOf(stream)).toMatchObject({ result: { isError: true } });
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  expect(await stored()).toEqual(before);
});

test("the time limit of a handler does not include the time between its rounds", async () => {
  const session = await open("/brief");
  const stream = await get(session, "divided");
  await answer(session, await asked(stream, 1));
  const second = await asked(stream, 2);
  await worker.advance(70_000);
  await answer(session, second);
  expect(await resultOf(stream)).toMatchObject({ result: { messages: [{ content: { text: "answered" } }] } });
});

describe.each([
  ["in memory", async () => undefined],
  ["evicted", (object: string): Promise<unknown> => worker.evict(object)],
] as const)("the time limit of a handler whose object is %s while its client thinks", (_, lose) => {
  test("includes the time until each answer", async () => {
    const session = await open("/brief");
    const stream = await get(session, "inquisitive");
    const first = await asked(stream, 1);
    await lose("BriefObject");
    await worker.advance(40_000);
    await answer(session, first);
    await asked(stream, 2);
    await lose("BriefObject");
    await worker.advance(40_000);
    expect(await resultOf(stream)).toMatchObject(TIMEOUT);
  });

  test("ends the call although no answer arrives, and the handler does not run again", async () => {
    const session = await open("/brief");
    const key = newKey();
    const stream = await get(session, "patient", { key });
    await asked(stream, 1);
    await lose("BriefObject");
    await worker.advance(60_001);
    expect(await resultOf(stream)).toMatchObject(TIMEOUT);
    expect(await effectsOf(key)).toEqual({ begun: 1 });
  });

  test("ends a handler that continues for too long after an answer in time", async () => {
    const session = await open("/hasty");
    const stream = await get(session, "stuck");
    const question = await asked(stream, 1);
    await lose("HastyObject");
    await answer(session, question);
    expect(await resultOf(stream)).toMatchObject(TIMEOUT);
  });
});
