// @module-tag long
/** The completion of a URL elicitation, announced by the handler that asked, even after losses in between. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openStream } from "../../src/testing/http-stream.ts";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Session } from "../conformance/support.ts";
import { initialize, type Members, request } from "../http/messages.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";

const COMPLETE = "notifications/elicitation/complete";

let worker: TestWorker;
let tap: HttpTap;

beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/url-elicitation.ts",
    objects: ["McpObject", "JsonObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

/** Sends the messages of a group's tests through the oracle, which supports only Streamable HTTP. */
function watchMessages(): void {
  beforeEach(async () => {
    tap = await startHttpTap(`${worker.origin}/mcp`);
  });
  afterEach(async () => {
    await tap.close();
    tap.oracle.expectClean();
  });
}

const openSession = () => Session.open(tap.url, { capabilities: { elicitation: { form: {}, url: {} } } });

describe("the completion of a URL elicitation", () => {
  watchMessages();

  test.each([
    ["is sent from the handler that asked, to its session only", async () => undefined],
    ["is sent by a run that continues after its object was evicted, with the same id", () => worker.evict("McpObject")],
  ])("%s", async (_, lose) => {
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

describe("the completion of URL elicitations after the error -32042", () => {
  watchMessages();

  const required = { code: -32042 };

  test.each(["/mcp", "/json"])("is sent to the session that got the error, on its GET stream (%s)", async (path) => {
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
  });

  test("is sent on a GET stream that was opened after the error, and after the object was evicted", async () => {
    const session = await openSession();
    const refused = await session.request("resources/read", { uri: "sync://all" });
    expect(await refused.json()).toMatchObject({ error: required });
    await worker.evict("McpObject");
    const standing = await session.get();
    await session.request("tools/call", { name: "visited", arguments: { id: "all" } });
    await standing.has("the end", ({ messages }) => messages.length > 0);
    expect(standing.messages).toEqual([{ jsonrpc: "2.0", method: COMPLETE, params: { elicitationId: "all" } }]);
  });
});

describe("the completion of a URL elicitation over HTTP+SSE", () => {
  test.each(["pay", "sync"])(
    "is sent on the only stream of the client that was asked a question (%s)",
    async (name) => {
      const [reader, other] = [await openReader(), await openReader()];
      await reader.post(request("tools/call", { name, arguments: {} }, 1));
      const ids = await reader.asked();
      for (const id of ids) {
        if (name === "sync") await other.post(request("tools/call", { name: "visited", arguments: { id } }, 2));
        await reader.stream.waitFor(id, ({ messages }) => told(messages).includes(id));
      }
      expect(told(reader.stream.messages).sort()).toEqual(ids.sort());
      expect(told(other.stream.messages)).toEqual([]);
      reader.stream.cut();
      other.stream.cut();
    },
  );

  const told = (messages: readonly unknown[]) =>
    (messages as Members[]).filter(({ method }) => method === COMPLETE).map(({ params }) => idOf(params));
  const idOf = (from: unknown) => (from as { elicitationId: string }).elicitationId;

  /** A client of HTTP+SSE that has initialized with 2025-11-25. */
  async function openReader() {
    const stream = await openStream(worker.url("/mcp"), {});
    await stream.waitFor("the endpoint", ({ events }) => events.length > 0);
    const endpoint = worker.url(String(stream.messages[0]));
    const post = async (body: unknown) => {
      await using answer = await openStream(endpoint, { body });
      expect(answer.status).toBe(202);
    };
    const find = (holds: (message: Members) => boolean) => (stream.messages as Members[]).slice(1).find(holds);
    await post(initialize("2025-11-25", "hello", { elicitation: { form: {}, url: {} } }));
    await stream.waitFor("the handshake", () => find(({ id }) => id === "hello") !== undefined);
    /** Agrees to the question, if there is one. Resolves with the ids of the elicitations that the client got. */
    const asked = async (): Promise<string[]> => {
      const isAsked = ({ id, method, error }: Members) => method === "elicitation/create" || (id === 1 && !!error);
      await stream.waitFor("the question", () => find(isAsked) !== undefined);
      const { id, params, error } = find(isAsked) ?? {};
      if (error) return (error as Refused["error"]).data.elicitations.map(idOf);
      await post({ jsonrpc: "2.0", id, result: { action: "accept" } });
      return [idOf(params)];
    };
    return { stream, post, asked };
  }
});

interface Refused {
  readonly error: { readonly data: { readonly elicitations: readonly { readonly elicitationId: string }[] } };
}
