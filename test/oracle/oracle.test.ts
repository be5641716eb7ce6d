import { describe, expect, test } from "vitest";
import type { Hint } from "./hints.ts";
import { WireOracle } from "./oracle.ts";
import { failure, idLess, MODERN_META, notification, request, result } from "./samples.ts";
import { specOf } from "./spec.ts";

const INFO = { name: "x", version: "1" };

function initialize(oracle: WireOracle, version: string, asked = version, hint: Hint = {}): void {
  oracle.observe(
    "client",
    request("initialize", { protocolVersion: asked, capabilities: {}, clientInfo: INFO }, "i"),
    hint,
  );
  oracle.observe("server", result({ protocolVersion: version, capabilities: {}, serverInfo: INFO }, "i"), hint);
  oracle.observe("client", notification("notifications/initialized"), hint);
}

function problems(oracle: WireOracle): string[] {
  return oracle.problems.map((each) => `${each.from} ${each.version}: ${each.problem}`);
}

const modern = (method: string, id: unknown, more: object = {}) => request(method, { _meta: MODERN_META, ...more }, id);
const CALLED = { resultType: "complete", content: [] };

test("an oracle that observed no message fails", () => {
  expect(() => new WireOracle().expectClean()).toThrow("the oracle saw no message");
});

test("a correct conversation has no problems, and its messages are counted", () => {
  const oracle = new WireOracle();
  initialize(oracle, "2025-06-18");
  oracle.observe("client", request("tools/call", { name: "t" }, 1));
  oracle.observe("server", request("ping", undefined, 1));
  oracle.observe("client", result({}, 1));
  oracle.observe("server", result({ content: [] }, 1));
  oracle.expectClean();
  expect(oracle.messages).toBe(7);
});

test("an intentionally invalid message is not counted", () => {
  const oracle = new WireOracle({ judgeClient: false });
  oracle.observe("client", modern("tools/call", 1));
  expect(() => oracle.expectClean()).toThrow("the oracle saw no message");
});

test("expectClean lists every problem with its message", () => {
  const oracle = new WireOracle();
  oracle.observe("client", modern("tools/call", 7, { name: "t" }));
  oracle.observe("server", result({ content: [] }, 7));
  oracle.observe("server", result(CALLED, 8));
  expect(() => oracle.expectClean()).toThrow(/the result has no resultType.*"id":7.*answers no request.*"id":8/s);
});

describe("the version used for checking", () => {
  test("is the version in an initialize result, for the result itself and for the session after it", () => {
    const oracle = new WireOracle();
    initialize(oracle, "2024-11-05", "2025-11-25");
    expect(oracle.agreedVersion()).toBe("2024-11-05");
    oracle.observe("server", request("elicitation/create", { message: "m" }, 1));
    expect(problems(oracle)).toContain("server 2024-11-05: a server sends no elicitation/create in 2024-11-05");
  });

  test("is missing in an initialize result with a version that has no initialize, which is a problem", () => {
    const oracle = new WireOracle();
    initialize(oracle, "2026-07-28", "2025-11-25");
    expect(problems(oracle)).toContain("server 2025-11-25: initialize agreed on 2026-07-28");
  });

  test("can alternate between modern and legacy in one conversation", () => {
    const oracle = new WireOracle();
    initialize(oracle, "2025-03-26");
    oracle.observe("client", modern("tools/call", 1, { name: "t" }));
    oracle.observe("client", request("tools/call", { name: "t" }, 2));
    oracle.observe("server", result({ content: [] }, 2));
    oracle.observe("server", result(CALLED, 1));
    oracle.expectClean();
  });

  test("is modern for a modern request in an unknown version and its response", () => {
    const oracle = new WireOracle();
    const meta = { ...MODERN_META, "io.modelcontextprotocol/protocolVersion": "v999.0.0" };
    oracle.observe("client", request("tools/list", { _meta: meta }));
    oracle.observe("server", failure(-32022, { supported: ["2026-07-28"], requested: "v999.0.0" }));
    oracle.expectClean();
  });

  test("is modern for a modern initialize, which is an unknown method", () => {
    const oracle = new WireOracle();
    oracle.observe("client", modern("initialize", 1));
    oracle.observe("server", failure(-32601));
    oracle.expectClean();
    expect(oracle.agreedVersion()).toBeUndefined();
  });

  test("must be legacy for a request of the server: in a modern conversation it is a problem", () => {
    const oracle = new WireOracle();
    oracle.observe("client", modern("tools/call", 1, { name: "t" }));
    oracle.observe("server", request("roots/list", undefined, 1));
    expect(problems(oracle)).toContain("server 2026-07-28: a server sends no request in 2026-07-28");
  });

  if (specOf("2024-11-05") !== undefined) {
    test("is the version of the request to which a progress token belongs", () => {
      const oracle = new WireOracle();
      initialize(oracle, "2024-11-05");
      const progress = (token: string) =>
        notification("notifications/progress", { progressToken: token, progress: 1, message: "m" });
      oracle.observe("client", request("tools/call", { name: "t", _meta: { progressToken: "old" } }, 1));
      oracle.observe("client", modern("tools/call", 2, { name: "t", _meta: { ...MODERN_META, progressToken: "new" } }));
      oracle.observe("server", progress("new"));
      oracle.expectClean();
      oracle.observe("server", progress("old"));
      expect(problems(oracle)).toEqual([expect.stringContaining("server 2024-11-05: /message is not a property")]);
    });
  }

  test("is the transport's version if it differs from the session's version", () => {
    const oracle = new WireOracle();
    const hint = { version: "2025-03-26", scope: "post 2" };
    initialize(oracle, "2025-11-25");
    oracle.observe("client", request("tools/list", {}, 1), hint);
    oracle.observe("server", failure(-32042, undefined, 1), hint);
    expect(problems(oracle)).toEqual(["server 2025-03-26: error code -32042 is not defined in 2025-03-26"]);
  });

  test("can be one of several if the transport is ambiguous", () => {
    const versions = ["2025-03-26", "2026-07-28"];
    const oracle = new WireOracle();
    oracle.observe("client", request("tools/list", {}, 1), { version: versions, deliberatelyBad: true });
    oracle.observe("server", failure(-32022, { supported: ["2026-07-28"], requested: "x" }, 1));
    oracle.expectClean();
    oracle.observe("client", request("tools/list", {}, 2), { version: versions, deliberatelyBad: true });
    oracle.observe("server", failure(-32042, undefined, 2));
    expect(oracle.problems).toHaveLength(1);
  });
});

describe("ids in a conversation", () => {
  test("can be the same in two scopes for different methods", () => {
    const oracle = new WireOracle();
    oracle.observe("client", modern("tools/call", 1, { name: "t" }), { scope: "a" });
    oracle.observe("client", modern("tools/list", 1), { scope: "b" });
    oracle.observe("server", result({ resultType: "complete", ttlMs: 0, cacheScope: "public", tools: [] }), {
      scope: "b",
    });
    oracle.observe("server", result(CALLED), { scope: "a" });
    oracle.expectClean();
  });

  test('1 and "1" are different', () => {
    const oracle = new WireOracle();
    oracle.observe("client", modern("tools/call", "1", { name: "t" }));
    oracle.observe("server", result(CALLED, 1));
    expect(problems(oracle)).toEqual([expect.stringContaining("answers no request that was seen")]);
  });

  test("must not be used by two responses, unless the stream was resumed", () => {
    const oracle = new WireOracle();
    oracle.observe("client", modern("tools/call", 1, { name: "t" }), { scope: "post" });
    oracle.observe("server", result(CALLED), { scope: "post" });
    oracle.observe("server", result(CALLED), { scope: "get", replay: true });
    oracle.expectClean();
    oracle.observe("server", result(CALLED), { scope: "post" });
    expect(problems(oracle)).toEqual([expect.stringContaining("answers a request a second time")]);
  });

  test("belong to the stream of the request, on which the server responds", () => {
    const oracle = new WireOracle();
    oracle.observe("client", modern("tools/call", 1, { name: "t" }), { scope: "a" });
    oracle.observe("server", result(CALLED), { scope: "b" });
    expect(problems(oracle)).toEqual([expect.stringContaining("answers no request that was seen")]);
  });

  test("belong to a separate POST when a client responds to a request of the server", () => {
    const oracle = new WireOracle();
    const version = "2025-11-25";
    oracle.observe("client", request("tools/call", { name: "t" }, 1), { scope: "a", session: "s", version });
    oracle.observe("server", request("roots/list", undefined, 1), { scope: "a", session: "s", version });
    oracle.observe("client", result({ roots: [] }), { scope: "b", session: "s", version });
    oracle.expectClean();
    oracle.observe("client", result({ roots: "none" }), { scope: "c", session: "s", version, deliberatelyBad: true });
    oracle.expectClean();
  });

  test("must not be used twice by a server in a session", () => {
    const oracle = new WireOracle();
    initialize(oracle, "2025-11-25");
    oracle.observe("server", request("ping", undefined, 1));
    oracle.observe("server", request("ping", undefined, 1));
    expect(problems(oracle)).toEqual(["server 2025-11-25: a server uses an id a second time"]);
  });

  test("can be missing in one error for each unreadable message", () => {
    const oracle = new WireOracle({ judgeClient: false });
    initialize(oracle, "2025-06-18");
    oracle.observeUnreadable("client", "{");
    oracle.observe("server", idLess(-32700));
    oracle.observe("client", request("ping", undefined, null));
    oracle.observe("server", idLess(-32600));
    oracle.expectClean();
    oracle.observe("server", idLess(-32600));
    expect(oracle.problems.length).toBeGreaterThan(0);
  });
});

describe("batches", () => {
  const calls = [request("tools/call", { name: "t" }, 1), notification("notifications/cancelled", { requestId: 9 })];

  test("a batch of 2025-03-26 is checked member by member", () => {
    const oracle = new WireOracle();
    initialize(oracle, "2025-03-26");
    oracle.observe("client", calls);
    oracle.observe("server", [result({ content: [] })]);
    oracle.expectClean();
    expect(oracle.messages).toBe(6);
    oracle.observe("client", [request("tools/call", { name: "t" }, 2)]);
    oracle.observe("server", [result({ content: [{ type: "text" }] }, 2)]);
    expect(oracle.problems.length).toBeGreaterThan(0);
  });

  for (const version of ["2024-11-05", "2025-06-18", "2025-11-25"]) {
    test(`a batch is a problem of ${version}`, () => {
      const oracle = new WireOracle();
      initialize(oracle, version);
      oracle.observe("client", calls);
      oracle.observe("server", [result({ content: [] })]);
      const problem = `a batch does not exist in ${version}`;
      expect(problems(oracle)).toEqual([`client ${version}: ${problem}`, `server ${version}: ${problem}`]);
    });
  }

  test("an empty batch and initialize in a batch are problems", () => {
    const oracle = new WireOracle();
    const version = "2025-03-26";
    oracle.observe("client", [], { version });
    const params = { protocolVersion: version, capabilities: {}, clientInfo: INFO };
    oracle.observe("client", [request("initialize", params)], { version });
    expect(problems(oracle)).toEqual([
      "client 2025-03-26: the batch is empty",
      "client 2025-03-26: initialize is not part of a batch",
    ]);
  });
});

test("a test can send an invalid message on purpose, and the response is still checked", () => {
  const oracle = new WireOracle();
  oracle.observe("client", modern("tools/call", 1), { deliberatelyBad: true });
  oracle.observe("server", failure(-32602));
  oracle.expectClean();
  oracle.observe("client", modern("tools/call", 2), { deliberatelyBad: true });
  oracle.observe("server", result({}, 2));
  expect(problems(oracle)).toContain("server 2026-07-28: the result has no resultType");
});
