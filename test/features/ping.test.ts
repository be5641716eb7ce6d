import { afterEach, describe, expect, test } from "vitest";
import { CancelledError, McpServer, QuestionError } from "../../src/core/index.ts";
import { closePeers, LEGACY_VERSIONS, MODERN_VERSION, openPeer, type PeerOptions, resultOf, settle } from "./peer.ts";

afterEach(closePeers);

function newServer(met: unknown[] = []) {
  return new McpServer({ name: "pinger", version: "1.0.0" }).tool("there", {}, async (_, ctx) => {
    try {
      await ctx.ping();
      return "yes";
    } catch (error) {
      met.push(error);
      if (!(error instanceof QuestionError)) throw error;
      return JSON.stringify({ reason: error.reason, code: error.code });
    }
  });
}

async function pingIn(version: string, options: PeerOptions = {}) {
  const peer = await openPeer(newServer(), version, options);
  const result = resultOf(await peer.request("tools/call", { name: "there" }));
  return { peer, text: (result.content as { text: string }[])[0]?.text };
}

describe.each(LEGACY_VERSIONS)("ctx.ping in %s", (version) => {
  test("pings the client of the call, whatever it has declared, and resolves when the client responds", async () => {
    const { peer, text } = await pingIn(version, { onRequest: () => ({}) });
    expect([text, peer.questions.map(({ method }) => method)]).toEqual(["yes", ["ping"]]);
  });

  test("rejects with a typed error and the client's code if the client responds with an error", async () => {
    const onRequest = () => {
      throw new Error("busy");
    };
    expect((await pingIn(version, { onRequest })).text).toBe('{"reason":"refused","code":-32603}');
  });

  test("rejects with a typed error if no response comes in time, and the ping is cancelled", async () => {
    const { peer, text } = await pingIn(version, { limits: { askTimeoutMs: 20 } });
    await settle(peer);
    expect(text).toBe('{"reason":"timeout"}');
    expect(peer.notifications).toMatchObject([
      { method: "notifications/cancelled", params: { requestId: peer.questions[0]?.id } },
    ]);
  });

  test("stops waiting when its call is cancelled", async () => {
    const met: unknown[] = [];
    const peer = await openPeer(newServer(met), version, {
      onRequest: () => {
        peer.notify("notifications/cancelled", { requestId: "call" });
        return new Promise(() => {});
      },
    });
    const answer = peer.request("tools/call", { name: "there" }, {}, { id: "call" }).catch(() => "none");
    await expect.poll(() => met).toEqual([expect.any(CancelledError)]);
    await peer.close();
    expect(await answer).toBe("none");
  });
});

test("in 2026-07-28 the server cannot send a ping: the handler gets a typed error, and nothing is sent", async () => {
  const { peer, text } = await pingIn(MODERN_VERSION);
  expect([text, peer.questions]).toEqual(['{"reason":"unavailable"}', []]);
});
