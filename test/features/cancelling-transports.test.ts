// @module-tag long
/** Cancellation over stdio, and clients that disconnect from an HTTP server in the middle of a call. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { type Members, requestOf, standardHeaders } from "../http/messages.ts";
import { type Child, type Ended, type Message, runChild } from "../node/child.ts";
import { Held, REASON, soon } from "./cancelling.ts";
import { type Json, LEGACY_VERSIONS, MODERN_VERSION } from "./peer.ts";

describe("over stdio", () => {
  const FIXTURE = join(import.meta.dirname, "../node/fixtures/cancelling.ts");
  const say = (child: Child, message: Json) =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const cancel = (child: Child, requestId: unknown) =>
    say(child, { method: "notifications/cancelled", params: { requestId, reason: REASON } });

  /** Runs the server with an oracle on its transport and checks that the oracle found no violation. */
  async function serve(talk: (child: Child, next: () => Promise<Message>) => Promise<void>): Promise<Ended> {
    const folder = mkdtempSync(join(tmpdir(), "mcp-edge-cancelling-"));
    try {
      const tapped = join(folder, "report.json");
      const ended = await runChild(FIXTURE, talk, { tapped });
      expect(JSON.parse(readFileSync(tapped, "utf8"))).toMatchObject({ problems: [] });
      return ended;
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  test.each(LEGACY_VERSIONS)(
    "a cancelled handler gets CancelledError from its await, and the client is notified (%s)",
    async (protocolVersion) => {
      const { code, messages, stderr } = await serve(async (child, next) => {
        const clientInfo = { name: "c", version: "1.0.0" };
        say(child, {
          id: 0,
          method: "initialize",
          params: { protocolVersion, capabilities: { roots: {} }, clientInfo },
        });
        await next();
        say(child, { method: "notifications/initialized" });
        say(child, { id: 1, method: "tools/call", params: { name: "asks" } });
        const question = await next();
        cancel(child, 1);
        expect(await next()).toMatchObject({ method: "notifications/cancelled", params: { requestId: question.id } });
        say(child, { id: 2, method: "ping" });
        expect(await next()).toMatchObject({ id: 2, result: {} });
      });
      expect(messages.map(({ id, method }) => (method ? "" : id))).toEqual([0, "", "", 2]);
      // Nothing else is written: a cancellation is not a failure.
      expect([code, stderr]).toEqual([0, `cleaned up after ${REASON}\n`]);
    },
  );

  test("a modern request can be cancelled by a notification, and gets no response", async () => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
      "io.modelcontextprotocol/clientInfo": { name: "c", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const { code, messages, stderr } = await serve(async (child) => {
      const heard = new Promise((resolve) => child.stderr.once("data", resolve));
      say(child, { id: 1, method: "tools/call", params: { name: "holds", _meta } });
      await heard;
      cancel(child, 1);
      say(child, { id: 2, method: "tools/list", params: { _meta } });
    });
    expect(messages.map(({ id }) => id)).toEqual([2]);
    expect([code, stderr]).toEqual([0, `holding\ncancelled: ${REASON}\n`]);
  });
});

describe("over HTTP in 2026-07-28", () => {
  const DEFINED: readonly [string, Members, (held: Held, server: McpServer) => void][] = [
    ["tools/call", { name: "held" }, (held, server) => void server.tool("held", {}, (_, ctx) => held.wait(ctx.signal))],
    [
      "prompts/get",
      { name: "held" },
      (held, server) => void server.prompt("held", {}, (_, ctx) => held.wait(ctx.signal)),
    ],
    [
      "resources/read",
      { uri: "test://held" },
      (held, server) => void server.resource("test://held", {}, (_, ctx) => held.wait(ctx.signal)),
    ],
  ];

  test.each(DEFINED)("a disconnect during %s is not reported as an error", async (method, params, define) => {
    const errors: unknown[] = [];
    const ends: string[] = [];
    const held = new Held((signal) => signal.throwIfAborted());
    const server = new McpServer({
      name: "s",
      version: "1.0.0",
      onError: (error) => void errors.push(error),
      onRequestEnd: (end) => void ends.push(end.method),
    });
    define(held, server);
    const handle = createHttpHandler(server, { onError: () => undefined, jsonWaitMs: 0 });
    const message = requestOf("modern", method, params);
    const headers = { "content-type": "application/json", ...(standardHeaders(message) as Record<string, string>) };
    const body = JSON.stringify(message);
    const response = await handle(new Request("http://localhost/mcp", { method: "POST", headers, body }), {});
    await soon(() => held.running).toBe(1);
    await response.body?.cancel();
    await soon(() => ends).toEqual([method]);
    expect([held.reasons.length, errors]).toEqual([1, []]);
  });
});
