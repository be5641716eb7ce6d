/** Hooks around every request: the data they get, and what they may do to the request. */
import { afterEach, describe, expect, test } from "vitest";
import { type AroundHook, McpError, McpServer } from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, LEGACY_VERSIONS, MODERN_VERSION, openPeer } from "./peer.ts";

afterEach(closePeers);

const IDENTITY = { name: "hooks", version: "1.0.0" };

describe.each(ALL_VERSIONS)("in %s", (version) => {
  test("around hooks run in onion order and see method, tool, arguments, result and client", async () => {
    const seen: unknown[] = [];
    const hook =
      (name: string): AroundHook =>
      async (data, next) => {
        seen.push([name, "before", data.method, data.tool, data.arguments]);
        const result = await next();
        seen.push([name, "after", data.result === result, data.client.protocolVersion]);
        return result;
      };
    const server = new McpServer({ ...IDENTITY, around: [hook("outer"), hook("inner")] });
    server.tool("echo", {}, () => "hello");
    const peer = await openPeer(server, version);
    seen.length = 0;
    await peer.request("tools/call", { name: "echo", arguments: {} });
    expect(seen).toEqual([
      ["outer", "before", "tools/call", "echo", {}],
      ["inner", "before", "tools/call", "echo", {}],
      ["inner", "after", true, version],
      ["outer", "after", true, version],
    ]);
    peer.oracle.expectClean();
  });

  test("an around hook sees the objects of a list, and may return another result", async () => {
    const names: unknown[] = [];
    const around: AroundHook[] = [
      async (data, next) => {
        const result = await next();
        if (data.method === "tools/list") names.push(...(result.tools as { name: string }[]).map(({ name }) => name));
        return data.tool === "secret" ? { content: [{ type: "text", text: "hidden" }] } : result;
      },
    ];
    const server = new McpServer({ ...IDENTITY, around });
    server.tool("secret", {}, () => "the secret");
    const peer = await openPeer(server, version);
    await peer.request("tools/list");
    expect(names).toEqual(["secret"]);
    const called = await peer.request("tools/call", { name: "secret" });
    expect(called).toMatchObject({ result: { content: [{ text: "hidden" }] } });
    peer.oracle.expectClean();
  });

  test("an around hook can refuse with its own McpError, and the tool does not run", async () => {
    let runs = 0;
    const around: AroundHook[] = [
      async (data, next) => {
        if (data.tool === "guarded") throw new McpError(4001, "Not today", { until: "tomorrow" });
        return next();
      },
    ];
    const server = new McpServer({ ...IDENTITY, around });
    server.tool("guarded", {}, () => String(++runs));
    const peer = await openPeer(server, version);
    const refused = await peer.request("tools/call", { name: "guarded" });
    expect(refused).toMatchObject({ error: { code: 4001, message: "Not today", data: { until: "tomorrow" } } });
    expect(runs).toBe(0);
    peer.oracle.expectClean();
  });

  test("a hook that does not return a result fails the request with -32603, and onError gets the name of the hook", async () => {
    const reports: unknown[] = [];
    const forgetful = (async (data, next) => {
      if (data.tool === undefined) return next();
    }) as AroundHook;
    const onError = (error: unknown) => {
      reports.push(error);
    };
    const server = new McpServer({ ...IDENTITY, around: [forgetful], onError });
    server.tool("echo", {}, () => "hello");
    const peer = await openPeer(server, version);
    expect(await peer.request("tools/call", { name: "echo" })).toMatchObject({ error: { code: -32603 } });
    expect(String(reports[0])).toContain("forgetful");
    peer.oracle.expectClean();
  });
});

test.each(LEGACY_VERSIONS)(
  "in %s a hook that returns the result of next() does not change a bare result",
  async (version) => {
    const server = new McpServer({ ...IDENTITY, around: [(_, next) => next()] });
    server.method("bare", ({ value }) => value);
    const peer = await openPeer(server, version, { judgeClient: false });
    for (const value of [8, "text", false, [1]]) {
      expect(await peer.request("bare", { value })).toMatchObject({ result: value });
    }
    // Closed here, because the oracle objects to bare values.
    await peer.close();
  },
);

test("in 2026-07-28 a hook must not return a value that is not an object", async () => {
  const server = new McpServer({ ...IDENTITY, around: [async () => 8] });
  const peer = await openPeer(server, MODERN_VERSION);
  expect(await peer.request("ping2")).toMatchObject({ error: { code: -32603 } });
});
