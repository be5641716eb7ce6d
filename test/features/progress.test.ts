import { afterEach, describe, expect, test } from "vitest";
import { type HandlerContext, KitError, McpServer } from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, type Json, openPeer, resultOf, settle } from "./peer.ts";

afterEach(closePeers);

describe.each(ALL_VERSIONS)("progress in %s", (version) => {
  async function run(work: (ctx: HandlerContext) => unknown, meta?: Json) {
    const server = new McpServer({ name: "s", version: "1.0.0" });
    server.tool("t", {}, async (_, ctx) => {
      await work(ctx);
      return "done";
    });
    const peer = await openPeer(server, version);
    const result = resultOf(await peer.request("tools/call", { name: "t", arguments: {} }, meta));
    await settle(peer);
    const params = peer.notifications.map((message) => message.params);
    return { peer, result, params };
  }

  test.each([7, 0, -1, "token", "0", "", "a/b c"])("carries the token %j unchanged", async (token) => {
    const { params } = await run((ctx) => ctx.progress(1), { progressToken: token });
    expect(params).toEqual([{ progressToken: token, progress: 1 }]);
  });

  test("is a notification of the method notifications/progress", async () => {
    const { peer } = await run((ctx) => ctx.progress(1), { progressToken: 1 });
    expect(peer.notifications).toEqual([
      { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } },
    ]);
  });

  test("has the total that was given with the value", async () => {
    const { params } = await run((ctx) => ctx.progress(1, { total: 4 }), { progressToken: 1 });
    expect(params).toEqual([{ progressToken: 1, progress: 1, total: 4 }]);
  });

  test("has the given message, but not in 2024-11-05", async () => {
    const { params } = await run((ctx) => ctx.progress(1, { total: 4, message: "first" }), { progressToken: 1 });
    const message = version === "2024-11-05" ? {} : { message: "first" };
    expect(params).toEqual([{ progressToken: 1, progress: 1, total: 4, ...message }]);
  });

  test("may have fractions and values below zero", async () => {
    const { params } = await run(
      (ctx) => {
        for (const value of [-1.5, 0, 0.25]) ctx.progress(value);
      },
      { progressToken: 1 },
    );
    expect(params.map((each) => each?.progress)).toEqual([-1.5, 0, 0.25]);
  });

  test.each([
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
    [Number.NEGATIVE_INFINITY, undefined],
    [1, Number.NaN],
    [1, Number.POSITIVE_INFINITY],
  ])("is refused and not sent with the value %d and the total %d", async (value, total) => {
    let thrown: unknown;
    const { params, result } = await run(
      (ctx) => {
        try {
          ctx.progress(value, total === undefined ? {} : { total });
        } catch (error) {
          thrown = error;
        }
      },
      { progressToken: 1 },
    );
    expect(KitError.is(thrown) && thrown.code).toBe("progress-invalid");
    expect(params).toEqual([]);
    expect(result.isError).not.toBe(true);
  });

  test("is refused with the value NaN even without a token", async () => {
    let thrown: unknown;
    await run((ctx) => {
      try {
        ctx.progress(Number.NaN);
      } catch (error) {
        thrown = error;
      }
    });
    expect(thrown).toMatchObject({ code: "progress-invalid" });
  });

  test("has its own tokens and values in each of two concurrent calls", async () => {
    const server = new McpServer({ name: "s", version: "1.0.0" });
    server.tool("t", {}, async (_, ctx) => {
      for (const value of [1, 2]) {
        ctx.progress(value);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      return "done";
    });
    const peer = await openPeer(server, version);
    await Promise.all(["a", "b"].map((progressToken) => peer.request("tools/call", { name: "t" }, { progressToken })));
    for (const token of ["a", "b"]) {
      const own = peer.notifications.filter((message) => message.params?.progressToken === token);
      expect(own.map((message) => message.params?.progress)).toEqual([1, 2]);
    }
    expect(peer.notifications).toHaveLength(4);
  });

  test("is not sent without a token", async () => {
    const { peer, result } = await run((ctx) => ctx.progress(1, { total: 2, message: "m" }));
    expect(peer.notifications).toEqual([]);
    expect(result.content).toEqual([{ type: "text", text: "done" }]);
  });

  test("is not sent if the token is neither a string nor an integer", async () => {
    for (const progressToken of [null, true, {}, ["x"], 1.5, -0.5]) {
      const server = new McpServer({ name: "s", version: "1.0.0" });
      server.tool("t", {}, (_, ctx) => ctx.progress(1));
      const peer = await openPeer(server, version, { judgeClient: false });
      await peer.request("tools/call", { name: "t" }, { progressToken });
      expect(peer.notifications).toEqual([]);
    }
  });

  test("is not sent if its value does not increase", async () => {
    const { params } = await run(
      (ctx) => {
        for (const value of [1, 1, 0, 2, 1.5, 2, 2.5]) ctx.progress(value);
      },
      { progressToken: 1 },
    );
    expect(params.map((each) => each?.progress)).toEqual([1, 2, 2.5]);
  });

  test("is sent if its first value is 0", async () => {
    const { params } = await run((ctx) => ctx.progress(0), { progressToken: 1 });
    expect(params.map((each) => each?.progress)).toEqual([0]);
  });

  test("arrives before the result", async () => {
    const { peer } = await run(
      (ctx) => {
        for (let value = 1; value <= 20; value += 1) ctx.progress(value);
      },
      { progressToken: 1 },
    );
    const kinds = peer.received.slice(-21).map((message) => ("method" in (message as Json) ? "progress" : "result"));
    expect(kinds).toEqual([...Array(20).fill("progress"), "result"]);
  });

  test("is not sent after the result", async () => {
    let kept: HandlerContext | undefined;
    const { peer } = await run(
      (ctx) => {
        kept = ctx;
        ctx.progress(1);
      },
      { progressToken: 1 },
    );
    const before = peer.received.length;
    kept?.progress(2);
    await settle(peer);
    expect(peer.received).toHaveLength(before);
  });

  test("is not sent after an error result", async () => {
    let kept: HandlerContext | undefined;
    const { peer, result } = await (async () => {
      const server = new McpServer({ name: "s", version: "1.0.0", onError: () => {} });
      server.tool("t", {}, (_, ctx) => {
        kept = ctx;
        throw new Error("x");
      });
      const opened = await openPeer(server, version);
      const answer = await opened.request("tools/call", { name: "t" }, { progressToken: 1 });
      return { peer: opened, result: resultOf(answer) };
    })();
    expect(result.isError).toBe(true);
    kept?.progress(1);
    await settle(peer);
    expect(peer.notifications).toEqual([]);
  });

  test("is not sent after the result of a tool that exceeded its timeout", async () => {
    let kept: HandlerContext | undefined;
    const server = new McpServer({ name: "s", version: "1.0.0", onError: () => {} });
    server.tool("t", { timeoutMs: 10 }, (_, ctx) => {
      kept = ctx;
      return new Promise<string>(() => {});
    });
    const peer = await openPeer(server, version);
    resultOf(await peer.request("tools/call", { name: "t" }, { progressToken: 1 }));
    kept?.progress(1);
    await settle(peer);
    expect(peer.notifications).toEqual([]);
  });
});
