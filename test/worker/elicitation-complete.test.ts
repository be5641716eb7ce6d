/** The end of what a user did at a URL, told by the handler that asked for it, whatever was lost meanwhile. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Session } from "../conformance/support.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";

const COMPLETE = "notifications/elicitation/complete";

let worker: TestWorker;
let tap: HttpTap;

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/visiting.ts",
    objects: { MCP_SESSION: "McpSession", MCP_HUB: "McpHub" },
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

const openSession = () => Session.open(tap.url, { capabilities: { elicitation: { form: {}, url: {} } } });

describe("E3 the end of what a user did at a URL", () => {
  test.each([
    ["is told from the handler that asked, to its session alone", async () => undefined],
    [
      "is told by a run that goes on after its object was evicted: the id is the same",
      () => worker.evict("MCP_SESSION"),
    ],
  ])("E3 %s", async (_, lose) => {
    const [session, other] = [await openSession(), await openSession()];
    const [standing, elsewhere] = [await session.get(), await other.get()];
    const stream = await session.stream("pay", {});
    await stream.has("the question", ({ messages }) => messages.some(({ id }) => id !== undefined));
    const [question = {}] = stream.messages.filter(({ method }) => method === "elicitation/create");
    const { elicitationId } = question.params as { elicitationId: string };
    await lose();
    await session.send({ jsonrpc: "2.0", id: question.id, result: { action: "accept" } });
    await stream.end();
    expect(stream.messages.at(-1)).toMatchObject({ result: { content: [{ text: `accept ${elicitationId}` }] } });
    const complete = { jsonrpc: "2.0", method: COMPLETE, params: { elicitationId } };
    await standing.has("the end", ({ messages }) => messages.some(({ method }) => method === COMPLETE));
    expect(standing.messages).toEqual([complete]);
    expect(elsewhere.messages).toEqual([]);
  });
});
