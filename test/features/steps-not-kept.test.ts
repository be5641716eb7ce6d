/** Steps where nothing keeps their results. */
import { afterEach, expect, test } from "vitest";
import { type HandlerContext, KitError, McpServer } from "../../src/core/index.ts";
import { replayRounds } from "../../src/core/run/replay.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { closePeers, MODERN_VERSION, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

const MODERN_META = {
  "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

function newServer(name: string): McpServer {
  const pay = (_: unknown, ctx: HandlerContext) => ctx.step("pay", () => "paid");
  return new McpServer({ name, version: "1.0.0" })
    .tool("pay", {}, pay)
    .prompt("pay", { arguments: [{ name: "by" }], complete: { by: async (_, __, ctx) => [await pay(_, ctx)] } }, pay);
}

/** Calls the tool once in each era, and returns what it returned. */
async function callTwice(handle: ReturnType<typeof createHttpHandler>): Promise<unknown[]> {
  const call = async (params: object, headers: Record<string, string>) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "pay", ...params } });
    const all = { "Content-Type": "application/json", Accept: "application/json", ...headers };
    const response = await handle(new Request("http://localhost/mcp", { method: "POST", headers: all, body }), {});
    const { result } = (await response.json()) as { result: { content: [{ text: string }] } };
    return result.content[0].text;
  };
  const modern = { "MCP-Protocol-Version": MODERN_VERSION, "Mcp-Method": "tools/call", "Mcp-Name": "pay" };
  return [await call({ _meta: MODERN_META }, modern), await call({}, { "MCP-Protocol-Version": "2025-11-25" })];
}

test.each([
  ["a server", () => newServer("fixed")],
  ["a function that creates a server for each request", () => () => newServer("each")],
])("a step without replay runs, and is reported once for %s", async (_, source) => {
  const reports: [unknown, object][] = [];
  const onError = (error: unknown, where: object) => void reports.push([error, where]);
  const handle = createHttpHandler(source(), { onError });
  expect([...(await callTwice(handle)), ...(await callTwice(handle))]).toEqual(["paid", "paid", "paid", "paid"]);
  const [[error, where] = []] = reports;
  expect(reports).toHaveLength(1);
  expect(KitError.is(error) && error.code).toBe("step-not-kept");
  expect(String(error)).toMatch(/ctx\.step\("pay"\).*replay\(\).*durable\(\)/);
  expect(where).toMatchObject({ method: "tools/call", requestId: 7 });
});

test("with replay, a step is not reported", async () => {
  const reports: unknown[] = [];
  const handle = createHttpHandler(newServer("kept"), {
    onError: (error) => void reports.push(error),
    replay: replayRounds,
  });
  expect(await callTwice(handle)).toEqual(["paid", "paid"]);
  expect(reports).toEqual([]);
});

test.each(["2025-11-25", MODERN_VERSION])(
  "on a connection (%s), steps of tools and prompts are stored, and a step of a completer is reported once",
  async (version) => {
    const peer = await openPeer(newServer(`connected ${version}`), version);
    resultOf(await peer.request("tools/call", { name: "pay" }));
    resultOf(await peer.request("prompts/get", { name: "pay" }));
    expect(peer.reports).toEqual([]);
    const ask = { ref: { type: "ref/prompt", name: "pay" }, argument: { name: "by", value: "" } };
    for (let times = 0; times < 2; times += 1) {
      expect(resultOf(await peer.request("completion/complete", ask))).toMatchObject({
        completion: { values: ["paid"] },
      });
    }
    expect(peer.reports).toMatchObject([{ code: "step-not-kept" }]);
  },
);
