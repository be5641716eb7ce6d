/** How exceptions are handled: clients get a reference, and `onError` learns where each was thrown. */
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  type AroundHook,
  type ErrorContext,
  type ErrorReporter,
  McpError,
  McpServer,
  type ServerOptions,
} from "../../src/core/index.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { runChild } from "../node/child.ts";
import { ALL_VERSIONS, closePeers, errorOf, type Json, LEGACY_VERSIONS, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

const IDENTITY = { name: "hooks", version: "1.0.0" };

type Options = ServerOptions<unknown>;

interface Report {
  readonly error: unknown;
  readonly where: ErrorContext;
}

/** A server in which every part fails, and the reports that its author gets. */
function failing(options: Partial<Options> = {}) {
  const reports: Report[] = [];
  const onError: ErrorReporter = (error, where) => void reports.push({ error, where });
  const fail = () => {
    throw new Error("a secret");
  };
  const server = new McpServer({ ...IDENTITY, onError, ...options })
    .tool("t", {}, fail)
    .prompt("p", { arguments: [{ name: "a" }], complete: { a: fail } }, fail)
    .resource("test://r", {}, fail)
    .resourceTemplate("test://t/{id}", {}, fail)
    .resourceProvider({ read: fail, list: fail })
    .method("example.com/m", fail)
    .notification("notifications/example.com/n", fail)
    .onRootsChanged(fail);
  return { server, reports };
}

const FAILURES: readonly [method: string, params: Json, where: Partial<ErrorContext>][] = [
  ["prompts/get", { name: "p", arguments: { a: "x" } }, { prompt: "p", arguments: { a: "x" } }],
  ["resources/read", { uri: "test://r" }, { uri: "test://r" }],
  ["resources/read", { uri: "test://t/1" }, { uri: "test://t/1" }],
  ["resources/read", { uri: "test://elsewhere" }, { uri: "test://elsewhere" }],
  ["resources/list", {}, {}],
  ["completion/complete", { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }, {}],
  ["example.com/m", { b: 1 }, {}],
];

describe.each(ALL_VERSIONS)("failures in %s", (version) => {
  test("onError gets the cause of an error for the client, once for each request", async () => {
    const { server, reports } = failing();
    server.method("example.com/refused", () => {
      throw Object.assign(new McpError(-32603, "Try again in 5 s."), { cause: new Error("a spending limit") });
    });
    const peer = await openPeer(server, version);
    const answer = errorOf(await peer.request("example.com/refused", {}, undefined, { id: "here" }));
    expect(answer).toMatchObject({ code: -32603, message: "Try again in 5 s." });
    expect(reports).toMatchObject([{ error: { message: "a spending limit" }, where: { requestId: "here" } }]);
  });

  test.each(FAILURES)(
    "an exception in %s of %j causes -32603, and onError gets where it happened",
    async (method, params, place) => {
      const { server, reports } = failing();
      const peer = await openPeer(server, version);
      const answer = errorOf(await peer.request(method, params, undefined, { id: "here" }));
      expect(answer.code).toBe(-32603);
      expect(JSON.stringify(peer.received)).not.toContain("a secret");
      const correlationId = (answer.data as Json).correlationId;
      expect(reports).toMatchObject([{ error: { message: "a secret" } }]);
      expect(reports[0]?.where).toEqual({ correlationId, method, requestId: "here", ...place });
      expect(peer.reports).toEqual([]);
      peer.oracle.expectClean();
    },
  );

  test("for a failed tool, onError gets the tool and its arguments", async () => {
    const { server, reports } = failing();
    const peer = await openPeer(server, version);
    const args = { city: "Bern", nested: { days: 2 } };
    const result = resultOf(await peer.request("tools/call", { name: "t", arguments: args }, undefined, { id: 0 }));
    expect(result.isError).toBe(true);
    const where = { correlationId: expect.any(String), method: "tools/call", requestId: 0, tool: "t", arguments: args };
    expect(reports.map(({ where: told }) => told)).toEqual([where]);
    expect(JSON.stringify(result)).toContain(reports[0]?.where.correlationId);
    peer.oracle.expectClean();
  });

  test("an exception in an around hook causes -32603, and onError gets the tool of the request", async () => {
    const around: AroundHook[] = [
      async ({ tool }, next) => {
        if (tool) throw new Error("a secret");
        return next();
      },
    ];
    const { server, reports } = failing({ around });
    const peer = await openPeer(server, version);
    const answer = await peer.request("tools/call", { name: "t", arguments: { a: 1 } });
    expect(errorOf(answer).code).toBe(-32603);
    expect(reports).toMatchObject([{ where: { method: "tools/call", tool: "t", arguments: { a: 1 } } }]);
  });

  test("for a failed notification, onError gets the notification, and no response is sent", async () => {
    const { server, reports } = failing();
    const peer = await openPeer(server, version);
    const before = peer.received.length;
    peer.notify("notifications/example.com/n", { count: 1 });
    await expect.poll(() => reports.length).toBe(1);
    const correlationId = expect.any(String);
    expect(reports[0]?.where).toEqual({ correlationId, method: "notifications/example.com/n", params: { count: 1 } });
    expect(peer.received.length).toBe(before);
  });

  test("an onError that throws does not prevent a response; its failure goes to the runtime's log", async () => {
    for (const onError of [
      () => {
        throw new Error("the reporter");
      },
      () => Promise.reject(new Error("the reporter")),
    ]) {
      const { server } = failing({ onError });
      const peer = await openPeer(server, version);
      for (const [method, params] of FAILURES) {
        expect(errorOf(await peer.request(method, params))).toMatchObject({
          code: -32603,
          data: { reason: "internal" },
        });
      }
      peer.notify("notifications/example.com/n");
      await expect.poll(() => peer.reports.length).toBe(FAILURES.length + 1);
      expect(new Set(peer.reports.map(String))).toEqual(new Set(["Error: the reporter"]));
      expect(JSON.stringify(peer.received)).not.toContain("the reporter");
      peer.oracle.expectClean();
    }
  });
});

test.each(LEGACY_VERSIONS)("for a failed onRootsChanged, onError gets the notification (%s)", async (version) => {
  const { server, reports } = failing();
  const peer = await openPeer(server, version, { capabilities: { roots: {} } });
  peer.notify("notifications/roots/list_changed");
  await expect.poll(() => reports).toMatchObject([{ where: { method: "notifications/roots/list_changed" } }]);
  expect(reports[0]?.where).not.toHaveProperty("requestId");
});

test("without onError a Worker logs failures with the reference that the client got", { tags: "long" }, async () => {
  const { lines, messages, stderr } = await runChild(
    join(import.meta.dirname, "../node/fixtures/edge-fails.ts"),
    () => undefined,
  );
  expect(messages).toMatchObject([{ result: { isError: true } }, { error: { code: -32603 } }]);
  for (const line of lines) {
    expect(line).not.toContain("secret");
    expect(stderr).toContain(/[0-9a-f]{8}-[0-9a-f-]{27}/.exec(line)?.[0] ?? "a reference");
  }
  expect(stderr).toContain("a secret of the tool");
  expect(stderr).toContain("a secret of the prompt");
});

test("the client gets a response even if both the server function and onError throw", async () => {
  const throwing = (text: string) => () => {
    throw new Error(text);
  };
  const handle = createHttpHandler(throwing("a secret"), { onError: throwing("the reporter") });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const response = await handle(new Request("http://localhost/mcp", { method: "POST", headers, body }), {});
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { code: -32603 } });
});
