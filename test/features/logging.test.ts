import { afterEach, describe, expect, test } from "vitest";
import { type LoggingLevel, McpServer } from "../../src/core/index.ts";
import { LOGGING_LEVELS } from "../../src/core/protocol/logging.ts";
import {
  ALL_VERSIONS,
  closePeers,
  errorOf,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  type Peer,
  resultOf,
  settle,
} from "./peer.ts";

afterEach(closePeers);

const LEVEL = "io.modelcontextprotocol/logLevel";

/** A tool that logs once at each level. */
function newServer(): McpServer {
  return new McpServer({ name: "logs", version: "1.0.0" }).tool("each", {}, (_, ctx) => {
    for (const level of LOGGING_LEVELS) ctx.log(level, { level }, "lab");
    return "done";
  });
}

const logs = (peer: Peer) =>
  peer.notifications.filter(({ method }) => method === "notifications/message").map(({ params }) => params as Json);

/** Calls a tool after requesting a level in the way of the version. */
async function callAt(peer: Peer, level: LoggingLevel | undefined, name = "each"): Promise<void> {
  if (peer.version !== MODERN_VERSION && level) resultOf(await peer.request("logging/setLevel", { level }));
  const meta = peer.version === MODERN_VERSION && level ? { [LEVEL]: level } : undefined;
  resultOf(await peer.request("tools/call", { name, arguments: {} }, meta));
}

describe.each(ALL_VERSIONS)("logging in %s", (version) => {
  test("nothing is sent if no level was requested", async () => {
    const peer = await openPeer(newServer(), version);
    await callAt(peer, undefined);
    await settle(peer);
    expect(logs(peer)).toEqual([]);
  });

  test.each(LOGGING_LEVELS)(
    "after requesting %s, messages of that level and of more severe levels are sent in order",
    async (level) => {
      const peer = await openPeer(newServer(), version);
      await callAt(peer, level);
      const expected = LOGGING_LEVELS.slice(LOGGING_LEVELS.indexOf(level));
      expect(logs(peer)).toEqual(expected.map((each) => ({ level: each, logger: "lab", data: { level: each } })));
    },
  );

  test("data is any JSON, logger is optional, and data that cannot be represented in JSON is sent as text", async () => {
    const data = [null, 0, "text", [1, [2]], { a: { b: true } }, false];
    const server = new McpServer({ name: "logs", version: "1.0.0" }).tool("each", {}, (_, ctx) => {
      for (const value of [...data, undefined]) ctx.log("info", value);
      return "done";
    });
    const peer = await openPeer(server, version);
    await callAt(peer, "debug");
    expect(logs(peer).slice(0, data.length)).toEqual(data.map((value) => ({ level: "info", data: value })));
    expect(logs(peer)).toHaveLength(data.length + 1);
  });

  test.each<[string, () => unknown]>([
    ["a circular object", circular],
    ["a bigint", () => 1n],
    ["a function", () => () => 1],
    [
      "a value whose toJSON throws",
      () => ({
        toJSON: () => {
          throw new Error("no");
        },
      }),
    ],
  ])("logging %s does not fail the call", async (_, make) => {
    const server = new McpServer({ name: "logs", version: "1.0.0" }).tool("each", {}, (_, ctx) => {
      ctx.log("error", make());
      return "done";
    });
    const peer = await openPeer(server, version);
    if (version !== MODERN_VERSION) await peer.request("logging/setLevel", { level: "debug" });
    const meta = version === MODERN_VERSION ? { [LEVEL]: "debug" } : undefined;
    const result = resultOf(await peer.request("tools/call", { name: "each", arguments: {} }, meta));
    expect([result.isError ?? false, result.content]).toEqual([false, [{ type: "text", text: "done" }]]);
  });

  test("no log message follows the result", async () => {
    let late: (() => void) | undefined;
    const server = new McpServer({ name: "logs", version: "1.0.0" }).tool("each", {}, (_, ctx) => {
      late = () => ctx.log("emergency", "late");
      return "done";
    });
    const peer = await openPeer(server, version);
    await callAt(peer, "debug");
    late?.();
    await settle(peer);
    expect(logs(peer)).toEqual([]);
  });
});

function circular(): unknown {
  const value: unknown[] = [];
  value.push(value);
  return value;
}

describe.each(LEGACY_VERSIONS)("logging/setLevel in %s", (version) => {
  test("applies to its connection until it is set again", async () => {
    const server = newServer();
    const [one, other] = [await openPeer(server, version), await openPeer(server, version)];
    await callAt(one, "alert");
    await callAt(other, undefined);
    await callAt(one, undefined);
    expect([logs(one).length, logs(other).length]).toEqual([4, 0]);
    await callAt(one, "emergency");
    expect(logs(one)).toHaveLength(5);
  });

  test.each(["verbose", "", "INFO", null, 3, undefined])(
    "is rejected with -32602 for the level %j, and the previous level still applies",
    async (level) => {
      const peer = await openPeer(newServer(), version);
      resultOf(await peer.request("logging/setLevel", { level: "alert" }));
      const error = errorOf(await peer.request("logging/setLevel", { level }, undefined, { bad: true }));
      expect(error.code).toBe(-32602);
      await callAt(peer, undefined);
      expect(logs(peer)).toHaveLength(2);
    },
  );

  test("is declared by the logging capability", async () => {
    const peer = await openPeer(newServer(), version);
    expect(resultOf(peer.initialized ?? (await peer.request("ping")))).toMatchObject({ capabilities: { logging: {} } });
  });
});

describe("modern logging", () => {
  test("the level of a request applies to that request only", async () => {
    const peer = await openPeer(newServer(), MODERN_VERSION);
    await callAt(peer, "emergency");
    await callAt(peer, undefined);
    expect(logs(peer)).toHaveLength(1);
  });

  test("an unknown level is rejected with -32602", async () => {
    const peer = await openPeer(newServer(), MODERN_VERSION);
    const params = { name: "each", arguments: {} };
    expect(errorOf(await peer.request("tools/call", params, { [LEVEL]: "loud" }, { bad: true })).code).toBe(-32602);
  });

  test("logging/setLevel is rejected with -32601", async () => {
    const peer = await openPeer(newServer(), MODERN_VERSION);
    const error = errorOf(await peer.request("logging/setLevel", { level: "info" }, undefined, { bad: true }));
    expect(error.code).toBe(-32601);
  });
});

test("a message that is logged twice is sent twice", async () => {
  const server = new McpServer({ name: "talker", version: "1.0.0" });
  const peer = await openPeer(server, "2025-11-25");
  await peer.request("logging/setLevel", { level: "info" });
  server.log("info", "again");
  server.log("info", "again");
  const line = { method: "notifications/message", params: { level: "info", data: "again" } };
  await expect.poll(() => peer.notifications).toMatchObject([line, line]);
});
