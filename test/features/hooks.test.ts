import { describe, expect, test } from "vitest";
import {
  type AroundHook,
  type ErrorPlace,
  McpError,
  McpServer,
  type RequestEnd,
  ToolError,
} from "../../src/core/index.ts";
import { ALL_VERSIONS, LEGACY_VERSIONS, MODERN_VERSION, openPeer } from "./peer.ts";

const IDENTITY = { name: "hooks", version: "1.0.0" };

describe.each(ALL_VERSIONS)("%s", (version) => {
  test("H4 around hooks run in onion order and see method, tool, arguments, result and client", async () => {
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

  test("H4 an around hook sees the objects of a list, and may answer in its place", async () => {
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

  test("H4 an around hook refuses with an McpError of its own, and the tool does not run", async () => {
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

  test("H4 a hook that returns nothing is -32603, and onError is told which hook it was", async () => {
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

  test("H5 the end of each request is told once, on success, failure, and for unknown methods", async () => {
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

  test("H5 a failing end callback changes nothing but what onError hears", async () => {
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

  test("U1 a custom method is served with params and context, and a custom notification is heard", async () => {
    const heard: unknown[] = [];
    const server = new McpServer(IDENTITY);
    server.method("example.com/add", ({ a, b }, ctx) => ({
      sum: Number(a) + Number(b),
      version: ctx.client.protocolVersion,
    }));
    server.notification("notifications/example.com/tick", (params) => {
      heard.push(params.count);
    });
    const peer = await openPeer(server, version);
    expect(await peer.request("example.com/add", { a: 5, b: 3 })).toMatchObject({ result: { sum: 8, version } });
    peer.notify("notifications/example.com/tick", { count: 1 });
    await expect.poll(() => heard).toEqual([1]);
  });
});

test("U1 a custom name that is the protocol's, of any version, or taken is refused where it is defined", () => {
  const server = new McpServer(IDENTITY);
  const names = [
    "ping",
    "initialize",
    "tools/call",
    "server/discover",
    "subscriptions/listen",
    "tasks/get",
    "sampling/createMessage",
  ];
  for (const name of names) {
    expect(() => server.method(name, () => ({}))).toThrow(expect.objectContaining({ code: "method-defined" }));
  }
  const notices = ["notifications/initialized", "notifications/cancelled", "notifications/tools/list_changed"];
  for (const name of notices) {
    expect(() => server.notification(name, () => undefined)).toThrow(
      expect.objectContaining({ code: "method-defined" }),
    );
  }
  server.method("add", () => ({}));
  expect(() => server.method("add", () => ({}))).toThrow(/already defined/);
});

test.each(LEGACY_VERSIONS)("U2 add answers the bare value 8 in %s", async (version) => {
  const server = new McpServer(IDENTITY);
  server.method("add", ({ a, b }) => Number(a) + Number(b));
  // The envelope of every version wants an object; a bare value is what the author chose to send.
  const peer = await openPeer(server, version, { judgeClient: false });
  expect(await peer.request("add", { a: 5, b: 3 })).toMatchObject({ result: 8 });
});

test("U2 add answers { value: 8 } in 2026-07-28, where results are objects", async () => {
  const server = new McpServer(IDENTITY);
  server.method("add", ({ a, b }) => Number(a) + Number(b));
  const peer = await openPeer(server, MODERN_VERSION);
  expect(await peer.request("add", { a: 5, b: 3 })).toMatchObject({ result: { value: 8, resultType: "complete" } });
  peer.oracle.expectClean();
});

test.each(LEGACY_VERSIONS)(
  "H4 a hook that passes on what next() gives leaves a bare result as it is in %s",
  async (version) => {
    const server = new McpServer({ ...IDENTITY, around: [(_, next) => next()] });
    server.method("bare", ({ value }) => value);
    const peer = await openPeer(server, version, { judgeClient: false });
    for (const value of [8, "text", false, [1]]) {
      expect(await peer.request("bare", { value })).toMatchObject({ result: value });
    }
  },
);

test("H4 in 2026-07-28 a hook may not answer with what is no object", async () => {
  const server = new McpServer({ ...IDENTITY, around: [async () => 8] });
  const peer = await openPeer(server, MODERN_VERSION);
  expect(await peer.request("ping2")).toMatchObject({ error: { code: -32603 } });
});

test("U2 a method that returns what JSON has nothing for is an error, and onError learns why", async () => {
  for (const version of ALL_VERSIONS) {
    for (const value of [() => 1, Symbol("s")]) {
      const errors: unknown[] = [];
      const server = new McpServer({ ...IDENTITY, onError: (error) => void errors.push(error) });
      server.method("strange", () => value);
      const peer = await openPeer(server, version, { judgeClient: false });
      expect(await peer.request("strange")).toMatchObject({ error: { code: -32603 } });
      expect(errors).toMatchObject([{ code: "result-invalid", message: expect.stringContaining(typeof value) }]);
    }
  }
});

test("U1 a method or notification without a function is refused where it is defined, by name", () => {
  const server = new McpServer(IDENTITY);
  const invalid = expect.objectContaining({ code: "definition-invalid", message: expect.stringContaining('"mine"') });
  expect(() => server.method("mine", undefined as never)).toThrow(invalid);
  expect(() => server.notification("mine", undefined as never)).toThrow(invalid);
});
