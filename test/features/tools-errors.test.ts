import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type ErrorPlace,
  type ErrorReporter,
  type HandlerContext,
  KitError,
  McpServer,
  ToolError,
  type ToolOptions,
} from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, type Json, openPeer, type PeerOptions, resultOf } from "./peer.ts";

afterEach(closePeers);

interface Report {
  readonly error: unknown;
  readonly where: ErrorPlace;
}

type Work = (ctx: HandlerContext) => unknown;

function serverOf(work: Work, options: ToolOptions = {}, onError?: ErrorReporter) {
  const reports: Report[] = [];
  const keep: ErrorReporter = (error, where) => {
    reports.push({ error, where });
  };
  const server = new McpServer({ name: "s", version: "1.0.0", onError: onError ?? keep });
  server.tool("t", options, (_, ctx) => work(ctx) as object);
  return { server, reports };
}

function textOf(result: Json): string {
  return (result.content as { text: string }[]).map(({ text }) => text).join("\n");
}

/** Runs a function and returns the reasons of its unhandled rejections. */
async function unheardDuring(work: () => Promise<void>): Promise<unknown[]> {
  const unheard: unknown[] = [];
  const listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (reason) => unheard.push(reason));
  try {
    await work();
    await delay(10);
  } finally {
    process.removeAllListeners("unhandledRejection");
    for (const listener of listeners) process.on("unhandledRejection", listener);
  }
  return unheard;
}

describe.each(ALL_VERSIONS)("tools in %s", (version) => {
  const hasStructured = version !== "2024-11-05" && version !== "2025-03-26";

  async function call(server: McpServer, options?: PeerOptions) {
    const peer = await openPeer(server, version, options);
    return { peer, result: resultOf(await peer.request("tools/call", { name: "t", arguments: {} })) };
  }
  async function run(work: Work, options?: ToolOptions) {
    const { server, reports } = serverOf(work, options);
    return { ...(await call(server)), reports };
  }
  const throwing = (error: unknown) => () => {
    throw error;
  };

  describe("errors of a handler", () => {
    test("the text of a ToolError reaches the model", async () => {
      const { result, reports } = await run(throwing(new ToolError("No such city: Atlantis")));
      expect(result.isError).toBe(true);
      expect(result.content).toEqual([{ type: "text", text: "No such city: Atlantis" }]);
      expect(reports).toEqual([]);
    });

    test("a ToolError may carry content", async () => {
      const content = [
        { type: "text", text: "one" },
        { type: "image", data: Uint8Array.from([0, 1, 2]), mimeType: "image/png" },
      ];
      const { result } = await run(throwing(new ToolError("unused", { content })));
      expect(result.isError).toBe(true);
      expect(result.content).toEqual([
        { type: "text", text: "one" },
        { type: "image", data: "AAEC", mimeType: "image/png" },
      ]);
    });

    test("a ToolError may carry structured content beside its text", async () => {
      const { result } = await run(throwing(new ToolError("bad", { structuredContent: { code: 7 } })));
      expect(result.isError).toBe(true);
      expect(textOf(result)).toContain("bad");
      expect(result.structuredContent).toEqual(hasStructured ? { code: 7 } : undefined);
    });

    test("the output schema is not enforced on a ToolError", async () => {
      const server = new McpServer({ name: "s", version: "1.0.0" });
      server.tool("t", { output: z.object({ n: z.number() }) }, () => {
        throw new ToolError("bad", { structuredContent: { code: "x" } });
      });
      const { result, peer } = await call(server);
      expect(result.isError).toBe(true);
      expect(result.structuredContent).toEqual(hasStructured ? { code: "x" } : undefined);
      expect(peer.reports).toEqual([]);
    });

    test("the output schema is not enforced on a full result with isError", async () => {
      const server = new McpServer({ name: "s", version: "1.0.0" });
      const full = {
        content: [{ type: "text", text: "bad" }],
        structuredContent: { code: "x" },
        isError: true,
      } as const;
      server.tool("t", { output: z.object({ n: z.number() }) }, () => full);
      const { result } = await call(server);
      expect(result).toMatchObject({ isError: true, content: full.content });
      expect(result.structuredContent).toEqual(hasStructured ? { code: "x" } : undefined);
    });

    test("a ToolError of a subclass reaches the model", async () => {
      class CityError extends ToolError {}
      const { result } = await run(throwing(new CityError("No such city")));
      expect(result.content).toEqual([{ type: "text", text: "No such city" }]);
    });

    test.each([
      ["an Error", new Error("SECRET password")],
      ["a TypeError", new TypeError("SECRET is not a function")],
      ["an Error with a cause", new Error("SECRET", { cause: new Error("SECRET cause") })],
      ["a KitError", new KitError("options-invalid", "SECRET option")],
      ["a string", "SECRET text"],
      ["an object", { message: "SECRET", code: -32000 }],
      ["undefined", undefined],
      ["null", null],
    ])("%s that is thrown causes a generic message and a correlation id", async (_, error) => {
      const { result, reports, peer } = await run(throwing(error));
      expect(result.isError).toBe(true);
      expect(reports).toHaveLength(1);
      expect(reports[0]?.error).toBe(error);
      expect(textOf(result)).toContain(reports[0]?.where.correlationId);
      const wire = JSON.stringify(peer.received);
      expect(wire).not.toContain("SECRET");
      expect(wire).not.toMatch(/\.test\.ts|\bat .*:\d+:\d+/);
    });

    test("a rejected promise is redacted like an exception", async () => {
      const { result, reports, peer } = await run(() => Promise.reject(new Error("SECRET")));
      expect(result.isError).toBe(true);
      expect(JSON.stringify(peer.received)).not.toContain("SECRET");
      expect(reports).toHaveLength(1);
    });

    test("onError gets the place of the exception", async () => {
      const { reports, peer } = await run(throwing(new Error("x")));
      expect(reports[0]?.where).toEqual({
        correlationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        method: "tools/call",
        requestId: expect.any(Number),
        tool: "t",
        arguments: {},
      });
      expect(peer.reports).toEqual([]);
    });

    test("two failures have two correlation ids", async () => {
      const { server, reports } = serverOf(throwing(new Error("x")));
      await call(server);
      await call(server);
      expect(new Set(reports.map(({ where }) => where.correlationId)).size).toBe(2);
    });

    test("without onError the runtime of the connection gets the report", async () => {
      const error = new Error("x");
      const { peer } = await call(new McpServer({ name: "s", version: "1.0.0" }).tool("t", {}, throwing(error)));
      expect(peer.reports).toEqual([error]);
    });

    test("an onError that throws does not change the result", async () => {
      const { server } = serverOf(throwing(new Error("x")), {}, () => {
        throw new Error("SECRET reporter");
      });
      const { result, peer } = await call(server);
      expect(result.isError).toBe(true);
      expect(textOf(result)).toMatch(/Reference: [0-9a-f-]{36}/);
      expect(JSON.stringify(peer.received)).not.toContain("SECRET");
      expect(String(peer.reports)).toContain("SECRET reporter");
    });

    test("an onError that rejects does not change the result", async () => {
      const { server } = serverOf(throwing(new Error("x")), {}, () => Promise.reject(new Error("SECRET reporter")));
      const unheard = await unheardDuring(async () => {
        const { result, peer } = await call(server);
        expect(result.isError).toBe(true);
        expect(textOf(result)).toMatch(/Reference: [0-9a-f-]{36}/);
        await delay(1);
        expect(String(peer.reports)).toContain("SECRET reporter");
      });
      expect(unheard).toEqual([]);
    });

    test("an onError that never settles does not delay the result", async () => {
      const { server } = serverOf(throwing(new Error("x")), {}, () => new Promise<void>(() => {}));
      expect((await call(server)).result.isError).toBe(true);
    });

    test("a connection's onError that throws does not change the result", async () => {
      const server = new McpServer({ name: "s", version: "1.0.0" }).tool("t", {}, throwing(new Error("x")));
      const onError = () => {
        throw new Error("reporter");
      };
      const unheard = await unheardDuring(async () => {
        const peer = await openPeer(server, version, { onError });
        const response = await peer.request("tools/call", { name: "t", arguments: {} }, undefined, { timeoutMs: 300 });
        expect(resultOf(response).isError).toBe(true);
      });
      expect(unheard).toEqual([]);
    });

    test("a connection's onError that rejects does not change the result and does not leave an unhandled rejection", async () => {
      const server = new McpServer({ name: "s", version: "1.0.0" }).tool("t", {}, throwing(new Error("x")));
      const onError = () => Promise.reject(new Error("reporter"));
      const unheard = await unheardDuring(async () => {
        expect((await call(server, { onError })).result.isError).toBe(true);
      });
      expect(unheard).toEqual([]);
    });

    test("a ToolError whose content is not a block causes an error result and is reported with its tool", async () => {
      const { server, reports } = serverOf(throwing(new ToolError("bad", { content: [{ type: "nonsense" }] })));
      const peer = await openPeer(server, version);
      const response = await peer.request("tools/call", { name: "t", arguments: {} });
      expect(reports[0]?.where.tool).toBe("t");
      expect(resultOf(response).isError).toBe(true);
    });

    test("a result that cannot be represented in JSON causes an error and a correlation id", async () => {
      const loop: Json = {};
      loop.self = loop;
      const { result, reports } = await run(() => loop);
      expect(result.isError).toBe(true);
      expect(textOf(result)).toContain(reports[0]?.where.correlationId);
    });

    test("the server serves the next call after a failure", async () => {
      let calls = 0;
      const { server } = serverOf(() => {
        calls += 1;
        if (calls === 1) throw new Error("x");
        return "fine";
      });
      const peer = await openPeer(server, version);
      expect(resultOf(await peer.request("tools/call", { name: "t" })).isError).toBe(true);
      expect(resultOf(await peer.request("tools/call", { name: "t" })).content).toEqual([
        { type: "text", text: "fine" },
      ]);
    });
  });

  describe("time limits of a tool", () => {
    /** Ends when the signal aborts, and records the reason. */
    const patient = (reasons: unknown[]) => (ctx: HandlerContext) =>
      new Promise((resolve) => {
        ctx.signal.addEventListener("abort", () => {
          reasons.push(ctx.signal.reason);
          resolve("late");
        });
      });

    test("exceeding timeoutMs aborts ctx.signal with a timeout", async () => {
      const reasons: unknown[] = [];
      await run(patient(reasons), { timeoutMs: 20 });
      expect(reasons).toEqual([expect.objectContaining({ name: "KitError", code: "timeout" })]);
    });

    test("exceeding timeoutMs causes an error result that reports the timeout", async () => {
      const { result } = await run(patient([]), { timeoutMs: 20 });
      expect(result.isError).toBe(true);
      expect(textOf(result)).toMatch(/time/);
      expect(textOf(result)).not.toContain("late");
    });

    test("a handler that ignores the signal is not awaited", async () => {
      const { result } = await run(() => delay(60_000, "never", { ref: false }), { timeoutMs: 20 });
      expect(result.isError).toBe(true);
    });

    test("a timeout is reported to onError with its tool", async () => {
      const { reports, result } = await run(patient([]), { timeoutMs: 20 });
      expect(reports).toHaveLength(1);
      expect(reports[0]?.error).toMatchObject({ code: "timeout" });
      expect(reports[0]?.where.tool).toBe("t");
      expect(textOf(result)).toContain(reports[0]?.where.correlationId);
    });

    test("a handler that fails after its timeout is ignored", async () => {
      const unheard = await unheardDuring(async () => {
        const { result, reports } = await run(
          async () => {
            await delay(30);
            throw new Error("late");
          },
          { timeoutMs: 10 },
        );
        expect(result.isError).toBe(true);
        await delay(40);
        expect(reports).toHaveLength(1);
      });
      expect(unheard).toEqual([]);
    });

    test("a handler that is fast enough keeps its result and a signal that is not aborted", async () => {
      let signal: AbortSignal | undefined;
      const { result } = await run(
        (ctx) => {
          signal = ctx.signal;
          return "quick";
        },
        { timeoutMs: 20 },
      );
      expect(result.content).toEqual([{ type: "text", text: "quick" }]);
      await delay(40);
      expect(signal?.aborted).toBe(false);
    });

    test("the connection's limit applies to a tool without its own", async () => {
      const { server } = serverOf(patient([]));
      const { result } = await call(server, { limits: { toolTimeoutMs: 20 } });
      expect(result.isError).toBe(true);
    });

    test("the tool's own timeout takes precedence over the connection's limit", async () => {
      const { server } = serverOf(() => delay(50, "done"), { timeoutMs: 5_000 });
      const { result } = await call(server, { limits: { toolTimeoutMs: 10 } });
      expect(result.content).toEqual([{ type: "text", text: "done" }]);
    });

    test("one call's timeout does not affect another call", async () => {
      const { server } = serverOf(patient([]), { timeoutMs: 20 });
      server.tool("slow", {}, () => delay(60, "done"));
      const peer = await openPeer(server, version);
      const slow = peer.request("tools/call", { name: "slow" });
      expect(resultOf(await peer.request("tools/call", { name: "t" })).isError).toBe(true);
      expect(resultOf(await slow).content).toEqual([{ type: "text", text: "done" }]);
    });
  });

  test("a failing tool causes a result and never a protocol error", async () => {
    const { server } = serverOf(throwing(new Error("x")));
    const peer = await openPeer(server, version);
    expect(await peer.request("tools/call", { name: "t" })).not.toHaveProperty("error");
  });
});

describe("a handler that throws the reason of its signal", () => {
  const untilAborted = (ctx: HandlerContext) =>
    new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));

  test.each(ALL_VERSIONS)("is not reported if its call was cancelled in %s", async (version) => {
    let running = false;
    const { server, reports } = serverOf((ctx) => {
      running = true;
      return untilAborted(ctx);
    });
    const peer = await openPeer(server, version);
    const answer = peer.request("tools/call", { name: "t", arguments: {} }, undefined, { id: "c" });
    answer.catch(() => undefined);
    await expect.poll(() => running).toBe(true);
    peer.notify("notifications/cancelled", { requestId: "c" });
    await peer.connection.idle();
    expect(reports).toEqual([]);
    await peer.close();
  });

  test("is reported if its call was cancelled and it throws another error", async () => {
    const { server, reports } = serverOf(async (ctx) => {
      await untilAborted(ctx).catch(() => undefined);
      throw new Error("could not clean up");
    });
    const peer = await openPeer(server, "2025-11-25");
    peer.request("tools/call", { name: "t", arguments: {} }, undefined, { id: "c" }).catch(() => undefined);
    await delay(0);
    peer.notify("notifications/cancelled", { requestId: "c" });
    await peer.connection.idle();
    expect(reports).toMatchObject([{ error: { message: "could not clean up" } }]);
    await peer.close();
  });
});
