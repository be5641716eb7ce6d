/** The completion of a URL elicitation, announced by the handler that asked, even after losses in between. */
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
    objects: {
      MCP_SESSION: "McpSession",
      MCP_HUB: "McpHub",
      JSON_SESSION: "JsonSession",
      JSON_HUB: "JsonHub",
    },
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

describe("E3 the completion of a URL elicitation", () => {
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

describe("E3 the completion of URL elicitations after the error -32042", () => {
  const required = { code: -32042 };

  test.each(["/mcp", "/json"])(
    "E3, M3: is sent to the session that got the error, on its GET stream (%s)",
    async (path) => {
      await tap.close();
      tap = await startHttpTap(worker.url(path));
      const [session, other] = [await openSession(), await openSession()];
      const [standing, elsewhere] = [await session.get(), await other.get()];
      const refused = (await (await session.request("tools/call", { name: "sync", arguments: {} })).json()) as Refused;
      expect(refused).toMatchObject({ error: required });
      for (const { elicitationId } of refused.error.data.elicitations) {
        await other.request("tools/call", { name: "visited", arguments: { id: elicitationId } });
        await standing.has(elicitationId, ({ messages }) =>
          messages.some(({ params }) => (params as { elicitationId?: string }).elicitationId === elicitationId),
        );
      }
      expect(standing.messages.map(({ method }) => method)).toEqual([COMPLETE, COMPLETE]);
      expect(elsewhere.messages).toEqual([]);
    },
  );

  test("E3: is sent on a GET stream that was opened after the error, and after the object was evicted", async () => {
    const session = await openSession();
    const refused = await session.request("resources/read", { uri: "sync://all" });
    expect(await refused.json()).toMatchObject({ error: required });
    await worker.evict("MCP_SESSION");
    const standing = await session.get();
    await session.request("tools/call", { name: "visited", arguments: { id: "all" } });
    await standing.has("the end", ({ messages }) => messages.length > 0);
    expect(standing.messages).toEqual([{ jsonrpc: "2.0", method: COMPLETE, params: { elicitationId: "all" } }]);
  });
});

interface Refused {
  readonly error: { readonly data: { readonly elicitations: readonly { readonly elicitationId: string }[] } };
}
