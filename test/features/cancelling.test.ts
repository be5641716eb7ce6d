/** Cancellation by id on a connection, handlers that ignore it, and what `onUnsubscribe` gets after the client has left. */
import { afterEach, describe, expect, test } from "vitest";
import { McpServer, type SubscriptionPlace } from "../../src/core/index.ts";
import { addWatched, answersTo, ask, Held, soon, WATCHED } from "./cancelling.ts";
import { ALL_VERSIONS, closePeers, LEGACY_VERSIONS, MODERN_VERSION, openPeer, resultOf, settle } from "./peer.ts";

afterEach(closePeers);

describe.each(ALL_VERSIONS)("cancelling in %s", (version) => {
  test("a handler that ignores its signal runs to its end; neither its result nor its progress is sent", async () => {
    let [finish, isDone]: [() => void, boolean] = [() => undefined, false];
    const server = new McpServer({ name: "deaf", version: "1.0.0" }).tool("deaf", {}, async (_, ctx) => {
      ctx.progress(1);
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      ctx.progress(2);
      ctx.log("emergency", "too late");
      isDone = true;
      return "done";
    });
    const peer = await openPeer(server, version);
    const running = peer
      .request("tools/call", { name: "deaf" }, { progressToken: "p" }, { id: "c" })
      .catch(() => "none");
    await soon(() => peer.notifications.length).toBe(1);
    peer.notify("notifications/cancelled", { requestId: "c" });
    await new Promise((resolve) => setTimeout(resolve, 0));
    finish();
    await settle(peer);
    expect(isDone).toBe(true);
    expect(peer.notifications).toMatchObject([{ params: { progress: 1 } }]);
    expect(answersTo(peer, "c")).toEqual([]);
    await peer.close();
    expect(await running).toBe("none");
  });

  test("unknown, finished and malformed cancellations are ignored", async () => {
    const held = new Held();
    const server = new McpServer({ name: "s", version: "1.0.0" })
      .tool("held", {}, (_, ctx) => held.wait(ctx.signal))
      .tool("quick", {}, () => "quick");
    const peer = await openPeer(server, version);
    resultOf(await peer.request("tools/call", { name: "quick" }, undefined, { id: "over" }));
    const running = ask(peer, "tools/call", { name: "held" }, { id: "1" });
    await soon(() => held.running).toBe(1);
    for (const requestId of ["unknown", "over", 1]) peer.notify("notifications/cancelled", { requestId });
    const malformed = [undefined, {}, { requestId: null }, { requestId: ["1"] }, { requestId: { id: "1" } }, []];
    for (const params of malformed) {
      peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", ...(params ? { params } : {}) });
    }
    const before = peer.received.length;
    resultOf(await peer.request("tools/call", { name: "quick" }));
    expect(held.reasons).toEqual([]);
    expect(peer.received.length - before).toBe(1);
    // A reason of another type is ignored; the request is cancelled anyway.
    peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "1", reason: 7 } });
    await soon(() => held.reasons).toMatchObject([{ name: "CancelledError", reason: undefined }]);
    await peer.close();
    expect(await running).toBe("no answer");
    expect(peer.reports).toEqual([]);
  });

  test("an id that was cancelled can be used again", async () => {
    const held = new Held();
    const server = new McpServer({ name: "s", version: "1.0.0" })
      .tool("held", {}, (_, ctx) => held.wait(ctx.signal))
      .tool("quick", {}, () => "quick");
    const peer = await openPeer(server, version, { judgeClient: false });
    void ask(peer, "tools/call", { name: "held" }, { id: "c" });
    await soon(() => held.running).toBe(1);
    peer.notify("notifications/cancelled", { requestId: "c" });
    await soon(() => held.reasons.length).toBe(1);
    await settle(peer);
    expect(await peer.request("tools/call", { name: "quick" }, undefined, { id: "c" })).toMatchObject({
      result: { content: [{ text: "quick" }] },
    });
  });

  test("a request with the same id on another connection is not affected", async () => {
    const held = new Held();
    const server = new McpServer({ name: "s", version: "1.0.0" }).tool("held", {}, (_, ctx) => held.wait(ctx.signal));
    const [own, other] = [await openPeer(server, version), await openPeer(server, version)];
    const runs = [own, other].map((peer) => ask(peer, "tools/call", { name: "held" }, { id: "same" }));
    await soon(() => held.running).toBe(2);
    own.notify("notifications/cancelled", { requestId: "same", reason: "mine" });
    await soon(() => held.reasons).toMatchObject([{ reason: "mine" }]);
    await settle(own);
    expect(held.reasons).toHaveLength(1);
    other.notify("notifications/cancelled", { requestId: "same", reason: "theirs" });
    await soon(() => held.reasons).toMatchObject([{ reason: "mine" }, { reason: "theirs" }]);
    await own.close();
    await other.close();
    expect(await Promise.all(runs)).toEqual(["no answer", "no answer"]);
  });
});

describe("onUnsubscribe after the client has disconnected", () => {
  const released = (peers: { places: SubscriptionPlace<unknown>[] }) => ({
    name: "watching",
    version: "1.0.0",
    onUnsubscribe: (_: string, place: SubscriptionPlace<unknown>) => void peers.places.push(place),
  });

  test.each([...LEGACY_VERSIONS])("gets a signal that has not been aborted (%s)", async (version) => {
    const seen = { places: [] as SubscriptionPlace<unknown>[] };
    const server = new McpServer(released(seen));
    addWatched(server);
    const peer = await openPeer(server, version);
    resultOf(await peer.request("resources/subscribe", { uri: WATCHED }));
    await peer.close();
    await soon(() => seen.places).toMatchObject([{ signal: { aborted: false } }]);
  });

  test("gets a signal that has not been aborted (2026-07-28)", async () => {
    const seen = { places: [] as SubscriptionPlace<unknown>[] };
    const server = new McpServer(released(seen));
    addWatched(server);
    const peer = await openPeer(server, MODERN_VERSION);
    const notifications = { resourceSubscriptions: [WATCHED] };
    void ask(peer, "subscriptions/listen", { notifications }, { id: "listen" });
    await soon(() => peer.notifications.length).toBe(1);
    peer.notify("notifications/cancelled", { requestId: "listen" });
    await soon(() => seen.places).toMatchObject([{ signal: { aborted: false } }]);
  });
});
