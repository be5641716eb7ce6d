/** Messages that cannot be delivered to a client: no other client is affected, and `onError` is called. */
import { afterEach, describe, expect, test } from "vitest";
import {
  type ErrorPlace,
  type ErrorReporter,
  type HandlerContext,
  type JSONRPCMessage,
  McpServer,
  serveTransport,
} from "../../src/core/index.ts";
import { createPair } from "../harness/pair.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { closePeers, type Json, LEGACY_VERSIONS, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

const IDENTITY = { name: "hooks", version: "1.0.0" };

interface Report {
  readonly error: unknown;
  readonly where: ErrorPlace;
}

describe.each(LEGACY_VERSIONS)("in %s", (version) => {
  /** A connection whose client cannot receive this method; every message it does receive passes an oracle. */
  async function deafTo(method: string, server: McpServer, runtime: unknown[] = []) {
    const [serverEnd, clientEnd] = createPair();
    const oracle = new WireOracle();
    const answers: Json[] = [];
    const deliver = serverEnd.send.bind(serverEnd);
    serverEnd.send = (message) => {
      if ("method" in message && message.method === method) throw new Error("no way out");
      return deliver(message);
    };
    clientEnd.onmessage = (message) => {
      oracle.observe("server", message);
      answers.push(message as unknown as Json);
    };
    const say = (message: Json) => {
      const whole = { jsonrpc: "2.0", ...message };
      oracle.observe("client", whole);
      return clientEnd.send(whole as unknown as JSONRPCMessage);
    };
    const connection = await serveTransport(server, serverEnd, { onError: (error) => void runtime.push(error) });
    const clientInfo = { name: "deaf", version: "1.0.0" };
    await say({ id: 0, method: "initialize", params: { protocolVersion: version, capabilities: {}, clientInfo } });
    await expect.poll(() => answers.length).toBe(1);
    await say({ method: "notifications/initialized" });
    return { say, answers, oracle, connection };
  }

  const CASES: readonly [method: string, meta: Json, tell: (server: McpServer, ctx: HandlerContext) => void][] = [
    ["notifications/tools/list_changed", {}, (server) => server.toolsChanged()],
    ["notifications/resources/updated", {}, (server) => server.resourceUpdated("test://r")],
    ["notifications/message", {}, (server) => server.log("error", "x")],
    ["notifications/progress", { progressToken: "p" }, (_, ctx) => ctx.progress(1)],
  ];

  test.each(CASES)("a failed delivery of %s does not affect the call or others", async (method, _meta, tell) => {
    const reports: Report[] = [];
    const onError: ErrorReporter = (error, where) => void reports.push({ error, where });
    const server = new McpServer({ ...IDENTITY, onError }).resource("test://r", {}, () => "r");
    server.tool("tells", {}, (_, ctx) => {
      tell(server, ctx);
      return "told";
    });
    const runtime: unknown[] = [];
    const deaf = await deafTo(method, server, runtime);
    const peer = await openPeer(server, version);
    for (const [id, asked, params] of [
      ["s", "resources/subscribe", { uri: "test://r" }],
      ["l", "logging/setLevel", { level: "error" }],
    ] as const) {
      await deaf.say({ id, method: asked, params });
      resultOf(await peer.request(asked, params));
    }
    await deaf.say({ id: "call", method: "tools/call", params: { name: "tells", _meta } });
    await expect.poll(() => deaf.answers.at(-1)).toMatchObject({ id: "call", result: { content: [{ text: "told" }] } });
    await expect.poll(() => reports).toMatchObject([{ error: { message: "no way out" }, where: { method } }]);
    // Progress belongs to the call; the other notifications reach the other client.
    const heard = method === "notifications/progress" ? [] : [method];
    await expect.poll(() => peer.notifications.map((notification) => notification.method)).toEqual(heard);
    expect([runtime, peer.reports]).toEqual([[], []]);
    await deaf.connection.close();
    deaf.oracle.expectClean();
    peer.oracle.expectClean();
  });

  test("a connection's onError that throws does not end anything", async () => {
    const server = new McpServer(IDENTITY).tool("tells", {}, () => {
      server.toolsChanged();
      return "told";
    });
    const thrown: unknown[] = [];
    const throwing = Object.assign(thrown, {
      push: () => {
        throw new Error("the reporter");
      },
    });
    const deaf = await deafTo("notifications/tools/list_changed", server, throwing);
    // An unhandled rejection would fail the run.
    await deaf.say({ id: 1, method: "tools/call", params: { name: "tells" } });
    await deaf.say({ id: 2, method: "ping" });
    await expect.poll(() => deaf.answers.map(({ id }) => id).toSorted()).toEqual([0, 1, 2]);
    await deaf.connection.close();
  });
});
