/** Replay is an option of each endpoint, independent of other endpoints in the process. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { inputRequired, McpServer } from "../../src/core/index.ts";
import { replayRounds } from "../../src/core/run/replay.ts";
import type { HttpHandler } from "../../src/http/endpoint-types.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { edge } from "../../src/worker/index.ts";
import { replay } from "../../src/worker/replay/index.ts";
import { closePeers, type Json, MODERN_VERSION, openPeer } from "../features/peer.ts";
import { newKeys } from "../harness/workerd.ts";
import { CAPABILITIES_KEY, CONTENT, meta, request, standardHeaders } from "./messages.ts";

afterEach(closePeers);

const ABLE = { elicitation: { form: {} } };
const FORM = { type: "object", properties: {} } as const;
const env = { MCP_KEYS: newKeys() };

const createAsking = (onError: (error: unknown) => void = () => undefined) =>
  new McpServer({ name: "asking", version: "1.0.0", onError }).tool("ask", {}, async (_, ctx) => {
    return (await ctx.elicit("Who?", FORM, { key: "who" })).action;
  });

/** Calls the tool over HTTP and returns the response, an error or a result. */
async function call(handle: HttpHandler<unknown>, more: Json = {}, bindings: unknown = env): Promise<Json> {
  const message = request("tools/call", { name: "ask", ...more, _meta: meta({ [CAPABILITIES_KEY]: ABLE }) });
  const headers = { ...CONTENT, ...standardHeaders(message) } as Record<string, string>;
  const asked = new Request("http://127.0.0.1/mcp", { method: "POST", headers, body: JSON.stringify(message) });
  return (await (await handle(asked, bindings)).json()) as Json;
}

describe("the option replay of a server", () => {
  const asks = { result: { resultType: "input_required" } };
  const fails = { result: { isError: true } };

  test("does not affect an endpoint without it", async () => {
    const errors: unknown[] = [];
    const without = createHttpHandler(
      createAsking((error) => errors.push(error)),
      { onError: () => undefined },
    );
    expect(await call(without)).toMatchObject(fails);
    const having = createHttpHandler(createAsking(), { onError: () => undefined, replay: replayRounds });
    expect(await call(having)).toMatchObject(asks);
    expect(await call(without)).toMatchObject(fails);
    expect(errors.map(String)).toEqual([
      expect.stringContaining("replay() to the option use"),
      expect.stringContaining("replay() to the option use"),
    ]);
  });

  test("is separate for two apps of edge() in one process", async () => {
    const without = edge(createAsking());
    const having = edge(createAsking(), { path: "/mcp", use: [replay()] });
    expect(await call(async (asked) => having.fetch(asked, env))).toMatchObject(asks);
    expect(await call(async (asked) => without.fetch(asked, env))).toMatchObject(fails);
  });

  test("is not needed on a connection, where handlers can always ask, and does not affect HTTP there", async () => {
    const peer = await openPeer(createAsking(), MODERN_VERSION, { capabilities: ABLE });
    expect(await peer.request("tools/call", { name: "ask" })).toMatchObject(asks);
    expect(await call(createHttpHandler(createAsking(), { onError: () => undefined }))).toMatchObject(fails);
  });

  test("is not needed for asking by returning", async () => {
    const server = new McpServer({ name: "returning", version: "1.0.0" }).tool("ask", {}, () =>
      inputRequired({
        who: { method: "elicitation/create", params: { mode: "form", message: "Who?", requestedSchema: FORM } },
      }),
    );
    expect(await call(createHttpHandler(server, { onError: () => undefined }))).toMatchObject(asks);
  });

  test("does not change the responses of a server that asks nothing, even if the code for asking is loaded", async () => {
    vi.resetModules();
    const { createHttpHandler: create } = await import("../../src/http/handler.ts");
    const { McpServer: Server } = await import("../../src/core/define/server.ts");
    const reports: unknown[] = [];
    const handle = create(
      new Server({ name: "plain", version: "1.0.0" }).tool("ask", {}, () => "done"),
      { onError: (error) => void reports.push(error) },
    );
    const answers = async () => [
      await call(handle),
      await call(handle, { requestState: "made up" }),
      await call(handle, { requestState: "made up" }, {}),
      await call(handle, { inputResponses: "made up" }),
      await call(handle, { inputResponses: { who: 5 } }),
    ];
    const before = await answers();
    await import("../../src/core/run/input-required.ts");
    const after = await answers();
    const shapes = (given: Json[]) => given.map(({ result, error }) => ({ result, error }));
    expect(shapes(after)).toEqual(shapes(before));
    expect(before.map(({ error }) => (error as { code: number } | undefined)?.code)).toEqual([
      undefined,
      -32602,
      -32602,
      -32602,
      -32602,
    ]);
    expect(reports).toEqual([]);
  });
});
