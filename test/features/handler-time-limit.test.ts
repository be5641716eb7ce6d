/** The time limit of handlers other than tools. */
import { afterEach, describe, expect, test } from "vitest";
import { DEFAULT_LIMITS, McpServer } from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, openPeer } from "./peer.ts";

afterEach(closePeers);

const IDENTITY = { name: "hooks", version: "1.0.0" };

describe.each(ALL_VERSIONS)("a handler that never returns in %s", (version) => {
  const NAME = "notifications/example.com/hang";
  /** A server whose handlers wait forever, and the reasons with which their signals aborted. */
  function hanging() {
    const aborted: unknown[] = [];
    const reports: { readonly code: unknown; readonly message: string; readonly method: string }[] = [];
    const hang = ({ signal }: { readonly signal: AbortSignal }) => {
      signal.addEventListener("abort", () => aborted.push((signal.reason as { code?: unknown }).code));
      return new Promise<never>(() => undefined);
    };
    const server = new McpServer({
      ...IDENTITY,
      onError: (error, { method }) => {
        const { code, message } = error as { code?: unknown; message: string };
        reports.push({ code, message, method });
      },
    });
    server.prompt("hang", { arguments: [{ name: "a" }], complete: { a: (_, __, ctx) => hang(ctx) } }, (_, ctx) =>
      hang(ctx),
    );
    server.resource("hooks://hang", {}, (_, ctx) => hang(ctx));
    server.resourceTemplate("hooks://many/{name}", {}, (_, __, ctx) => hang(ctx));
    server.resourceProvider({ list: (ctx) => hang(ctx), read: (_, ctx) => hang(ctx) });
    server.method("example.com/hang", (_, ctx) => hang(ctx));
    server.notification(NAME, (_, ctx) => hang(ctx));
    return { server, aborted, reports };
  }

  test.each([
    ["example.com/hang", {}],
    ["prompts/get", { name: "hang" }],
    ["resources/read", { uri: "hooks://hang" }],
    ["resources/read", { uri: "hooks://many/a" }],
    ["resources/read", { uri: "hooks://elsewhere" }],
    ["resources/list", {}],
    ["completion/complete", { ref: { type: "ref/prompt", name: "hang" }, argument: { name: "a", value: "" } }],
  ] as const)("fails %s %o with -32603 and the reason timeout, and its signal aborts", async (method, params) => {
    const { server, aborted, reports } = hanging();
    const peer = await openPeer(server, version, { limits: { handlerTimeoutMs: 20 } });
    const answer = await peer.request(method, params);
    expect(answer).toMatchObject({ error: { code: -32603, data: { reason: "timeout" } } });
    expect(aborted).toEqual(["timeout"]);
    expect(reports).toMatchObject([{ code: "timeout", method, message: expect.stringContaining("within 20 ms") }]);
  });

  test("is abandoned and reported to onError if it handles a notification", async () => {
    const { server, aborted, reports } = hanging();
    const peer = await openPeer(server, version, { limits: { handlerTimeoutMs: 20 } });
    peer.notify(NAME, {});
    await expect.poll(() => reports).toMatchObject([{ code: "timeout", method: NAME }]);
    expect(aborted).toEqual(["timeout"]);
  });

  test("is not limited if the limit is 0", async () => {
    const server = new McpServer(IDENTITY);
    server.method("example.com/slow", async (_, ctx) => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
      return { aborted: ctx.signal.aborted };
    });
    const peer = await openPeer(server, version, { limits: { handlerTimeoutMs: 0 } });
    expect(await peer.request("example.com/slow")).toMatchObject({ result: { aborted: false } });
  });
});

test("handlers of anything but tools may run for 15 minutes by default", () => {
  expect(DEFAULT_LIMITS.handlerTimeoutMs).toBe(15 * 60_000);
});
