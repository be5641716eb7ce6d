/** The hook `onRequestEnd`: it is called once per request with its outcome. */
import { afterEach, describe, expect, test } from "vitest";
import { type AroundHook, type ErrorPlace, McpServer, type RequestEnd, ToolError } from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, MODERN_VERSION, openPeer } from "./peer.ts";

afterEach(closePeers);

const IDENTITY = { name: "hooks", version: "1.0.0" };

describe.each(ALL_VERSIONS)("onRequestEnd in %s", (version) => {
  test("is called once for each request, on success, on failure and for unknown methods", async () => {
    const ends: RequestEnd[] = [];
    const onRequestEnd = (end: RequestEnd) => {
      ends.push(end);
    };
    const server = new McpServer({ ...IDENTITY, onRequestEnd });
    server.tool("echo", {}, () => "hello");
    server.tool("fails", {}, () => {
      throw new ToolError("no");
    });
    const peer = await openPeer(server, version);
    ends.length = 0;
    await peer.request("tools/call", { name: "echo", arguments: {} });
    await peer.request("tools/call", { name: "fails" });
    await peer.request("tools/call", { name: "absent" });
    await peer.request("example/unknown", {}, undefined, { bad: true });
    expect(ends.map(({ method, tool, errorCode }) => [method, tool, errorCode])).toEqual([
      ["tools/call", "echo", undefined],
      ["tools/call", "fails", undefined],
      ["tools/call", "absent", -32602],
      ["example/unknown", undefined, -32601],
    ]);
    expect(ends.every(({ durationMs, client }) => durationMs >= 0 && client.protocolVersion === version)).toBe(true);
  });

  test("gets the prompt or URI of the request, and distinguishes success from failure", async () => {
    const ends: RequestEnd[] = [];
    const server = new McpServer({ ...IDENTITY, onRequestEnd: (end) => void ends.push(end) });
    server.prompt("hello", {}, () => "Hello");
    server.resource("hooks://a", {}, () => "a");
    server.tool("fails", {}, () => {
      throw new ToolError("no");
    });
    server.method("example.com/own", () => ({}));
    const peer = await openPeer(server, version);
    ends.length = 0;
    await peer.request("prompts/get", { name: "hello" });
    await peer.request("prompts/get", { name: "none" });
    await peer.request("resources/read", { uri: "hooks://a" });
    await peer.request("tools/call", { name: "fails" });
    await peer.request("example.com/own", {});
    if (version !== MODERN_VERSION) await peer.request("ping");
    const ping = version === MODERN_VERSION ? [] : [["ping", undefined, undefined, "ok", undefined]];
    expect(
      ends.map(({ method, prompt, uri, outcome, errorCode }) => [method, prompt, uri, outcome, errorCode]),
    ).toEqual([
      ["prompts/get", "hello", undefined, "ok", undefined],
      ["prompts/get", "none", undefined, "error", -32602],
      ["resources/read", undefined, "hooks://a", "ok", undefined],
      ["tools/call", undefined, undefined, "error", undefined],
      ["example.com/own", undefined, undefined, "ok", undefined],
      ...ping,
    ]);
  });

  test("is called once for a cancelled request, as cancelled, even if the handler ignores the signal", async () => {
    const ends: RequestEnd[] = [];
    const server = new McpServer({ ...IDENTITY, onRequestEnd: (end) => void ends.push(end) });
    const started = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    server.tool("deaf", {}, async () => {
      started.resolve();
      await goOn.promise;
      return "done";
    });
    const peer = await openPeer(server, version);
    ends.length = 0;
    peer.request("tools/call", { name: "deaf" }, {}, { id: "deaf" }).catch(() => undefined);
    await started.promise;
    peer.notify("notifications/cancelled", { requestId: "deaf" });
    goOn.resolve();
    await expect
      .poll(() => ends.map(({ requestId, outcome }) => [requestId, outcome]))
      .toEqual([["deaf", "cancelled"]]);
    await peer.close();
  });

  test("gets a duration that covers the handler and the hooks around it", async () => {
    const ends: RequestEnd[] = [];
    /** Returns once the clock has advanced by this much, however fast the machine is. */
    const spend = async (ms: number) => {
      const untilMs = performance.now() + ms;
      while (performance.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, 1));
    };
    const around: AroundHook[] = [
      async (_, next) => {
        await spend(10);
        const result = await next();
        await spend(10);
        return result;
      },
    ];
    const server = new McpServer({ ...IDENTITY, around, onRequestEnd: (end) => void ends.push(end) });
    server.tool("slow", {}, async () => {
      await spend(10);
      return "done";
    });
    const peer = await openPeer(server, version);
    ends.length = 0;
    await peer.request("tools/call", { name: "slow" });
    expect(ends).toHaveLength(1);
    expect(ends[0]?.durationMs).toBeGreaterThanOrEqual(30);
  });

  test("is reported to onError if it fails, without any other effect", async () => {
    const reports: ErrorPlace[] = [];
    const server = new McpServer({
      ...IDENTITY,
      onRequestEnd: () => {
        throw new Error("the metrics are down");
      },
      onError: (_, where) => {
        reports.push(where);
      },
    });
    server.tool("echo", {}, () => "hello");
    const peer = await openPeer(server, version);
    expect(await peer.request("tools/call", { name: "echo" })).toMatchObject({
      result: { content: [{ text: "hello" }] },
    });
    expect(reports.at(-1)?.method).toContain("tools/call");
    peer.oracle.expectClean();
  });
});
