/** Custom methods and notifications: their names, their arguments, and what they may return. */
import { afterEach, describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { METHODS } from "../oracle/methods.ts";
import { ALL_VERSIONS, closePeers, LEGACY_VERSIONS, MODERN_VERSION, openPeer } from "./peer.ts";

afterEach(closePeers);

const IDENTITY = { name: "hooks", version: "1.0.0" };

describe.each(ALL_VERSIONS)("in %s", (version) => {
  test("a custom method gets params and context, and a custom notification reaches its handler", async () => {
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

test("every name that any version or the tasks extension defines is refused, and no other name", () => {
  const server = new McpServer(IDENTITY);
  const defined = expect.objectContaining({ code: "method-defined" });
  for (const { method } of METHODS) {
    expect(() => server.method(method, () => ({}))).toThrow(defined);
    expect(() => server.notification(method, () => undefined)).toThrow(defined);
  }
  for (const name of [
    "tools/export",
    "tasks/run",
    "rpc.add",
    "skills/list",
    "notifications/tasks/mine",
    "server.info",
  ]) {
    server.method(name, () => ({}));
    server.notification(name, () => undefined);
    expect(() => server.method(name, () => ({}))).toThrow(defined);
    expect(() => server.notification(name, () => undefined)).toThrow(defined);
  }
});

test("a custom name that any protocol version uses, or that is already taken, is refused when it is defined", () => {
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
  const notifications = ["notifications/initialized", "notifications/cancelled", "notifications/tools/list_changed"];
  for (const name of notifications) {
    expect(() => server.notification(name, () => undefined)).toThrow(
      expect.objectContaining({ code: "method-defined" }),
    );
  }
  server.method("add", () => ({}));
  expect(() => server.method("add", () => ({}))).toThrow(/already defined/);
});

test.each(LEGACY_VERSIONS)("add returns the bare value 8 in %s", async (version) => {
  const server = new McpServer(IDENTITY);
  server.method("add", ({ a, b }) => Number(a) + Number(b));
  // The schema of every version requires an object; a bare value is the author's choice.
  const peer = await openPeer(server, version, { judgeClient: false });
  expect(await peer.request("add", { a: 5, b: 3 })).toMatchObject({ result: 8 });
  // Closed here, because the oracle objects to the bare value.
  await peer.close();
});

test("add returns { value: 8 } in 2026-07-28, where results are objects", async () => {
  const server = new McpServer(IDENTITY);
  server.method("add", ({ a, b }) => Number(a) + Number(b));
  const peer = await openPeer(server, MODERN_VERSION);
  expect(await peer.request("add", { a: 5, b: 3 })).toMatchObject({ result: { value: 8, resultType: "complete" } });
});

test("a method whose result cannot be represented in JSON fails with an error, and onError gets the reason", async () => {
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

test("a method or notification without a function is refused when it is defined, with its name", () => {
  const server = new McpServer(IDENTITY);
  const invalid = expect.objectContaining({ code: "definition-invalid", message: expect.stringContaining('"mine"') });
  expect(() => server.method("mine", undefined as never)).toThrow(invalid);
  expect(() => server.notification("mine", undefined as never)).toThrow(invalid);
});
