// @module-tag long
/** Stdio; and the rules of the boundary between the eras that apply to every transport. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LEGACY_VERSIONS, type Members, meta, notification, PROTOCOL_VERSION_KEY, request } from "../http/messages.ts";
import { type Child, type Ended, type Message, runChild } from "../node/child.ts";
import type { Problem } from "../oracle/oracle.ts";
import { AWKWARD } from "./fixtures/awkward.ts";

type Talk = (child: Child, next: () => Promise<Message>) => void | Promise<void>;

/** Runs a server with an oracle on its streams, which must not find a violation. */
async function run(talk: Talk, file = "stdio"): Promise<Ended> {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-conformance-"));
  try {
    const tapped = join(folder, "report.json");
    const ended = await runChild(join(import.meta.dirname, `fixtures/${file}.ts`), talk, { tapped });
    const report = JSON.parse(readFileSync(tapped, "utf8")) as { messages: number; problems: Problem[] };
    expect(report.problems.filter(({ from }) => from === "server")).toEqual([]);
    expect(report.messages).toBeGreaterThan(0);
    return ended;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const line = (message: unknown): string => `${JSON.stringify(message)}\n`;

function say(child: Child, ...messages: unknown[]): void {
  child.stdin.write(messages.map(line).join(""));
}

function initialize(protocolVersion: string, id: string | number = "init"): Members {
  return request("initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "c", version: "1" } }, id);
}

/** Performs the legacy handshake. */
async function open(child: Child, next: () => Promise<Message>, version = "2025-11-25"): Promise<void> {
  say(child, initialize(version));
  expect(await next()).toMatchObject({ id: "init", result: { protocolVersion: version } });
  say(child, notification("notifications/initialized"));
}

const call = (id: string | number, name: string, args: Members = {}, more: Members = {}): Members =>
  request("tools/call", { name, arguments: args, ...more }, id);
const modern = (method: string, params: Members, id: string | number, more: Members = {}): Members =>
  request(method, { ...params, _meta: meta(more) }, id);

function textOf(message: Message | undefined): unknown {
  const [block] = (message?.result?.content ?? []) as { text: string }[];
  return block?.text;
}

describe.concurrent("framing on stdio", () => {
  test("has one message per line, each line terminated, however the input was chunked", async () => {
    const pings = [1, 2, 3, 4].map((id) => request("ping", undefined, id));
    const { messages, lines } = await run(async (child, next) => {
      await open(child, next);
      // Three in one chunk, the last of them split over two chunks; then CRLF and a blank line.
      const all = pings.map(line).join("");
      child.stdin.write(all.slice(0, -20));
      await next();
      child.stdin.write(`${all.slice(-20).trimEnd()}\r\n\r\n`);
    });
    expect(messages.slice(1).map(({ id, result }) => [id, result])).toEqual([1, 2, 3, 4].map((id) => [id, {}]));
    expect(lines).toHaveLength(5);
  });

  test("has no line break inside a message in the output, whatever the message", async () => {
    const text = "one\ntwo\r\nthree\u2028four\u2029five\\n";
    const { lines, messages } = await run(async (child, next) => {
      await open(child, next);
      say(child, call(1, "echo", { text }), call(2, "awkward"));
    });
    expect(lines).toHaveLength(3);
    for (const each of lines) expect(each).not.toMatch(/[\r\n]/);
    expect(textOf(messages.find(({ id }) => id === 1))).toBe(text);
    expect(textOf(messages.find(({ id }) => id === 2))).toBe(AWKWARD);
  });

  test("treats a line break in the input as the end of a message: both parts are invalid JSON, the next message is served", async () => {
    const { messages } = await run((child) => {
      child.stdin.write('{"jsonrpc":"2.0","id":1,\n"method":"ping"}\n');
      say(child, request("ping", undefined, 2));
    });
    expect(messages).toMatchObject([{ error: { code: -32700 } }, { error: { code: -32700 } }, { id: 2, result: {} }]);
    for (const message of messages.slice(0, 2)) expect(message).not.toHaveProperty("id");
  });

  test("joins UTF-8 that is split across chunks", async () => {
    const text = "Zürich 東京 🌧";
    const { messages } = await run(async (child, next) => {
      await open(child, next);
      for (const byte of Buffer.from(line(call(1, "echo", { text })))) {
        await new Promise<void>((resolve) => child.stdin.write(Buffer.of(byte), () => resolve()));
      }
    });
    expect(textOf(messages[1])).toBe(text);
  });

  test("rejects ids that are null, fractional or missing with -32600 without an id; 0 and the empty string are valid", async () => {
    const bad = [null, 1.5, {}, true, []];
    const { messages } = await run((child) => {
      say(child, ...[...bad, 0, ""].map((id) => request("ping", undefined, id)));
    });
    const refused = bad.map(() => ({ jsonrpc: "2.0", error: { code: -32600, message: expect.any(String) } }));
    expect(messages).toEqual([...refused, ...[0, ""].map((id) => ({ jsonrpc: "2.0", id, result: {} }))]);
  });
});

describe.concurrent("standard output", () => {
  test("has only messages; handlers' console output goes to standard error", async () => {
    const { lines, stderr, messages } = await run(async (child, next) => {
      await open(child, next);
      say(child, call(1, "noisy"));
    });
    expect(lines).toHaveLength(2);
    expect(textOf(messages[1])).toBe("quiet");
    for (const text of ["printed\nby the handler", "on standard error", "written by the handler"]) {
      expect(stderr).toContain(text);
    }
  });
});

describe.concurrent("a probe on stdio", () => {
  test("can be server/discover before initialize, and either era may follow", async () => {
    const { messages } = await run(async (child, next) => {
      say(child, modern("server/discover", {}, "probe"));
      expect(await next()).toMatchObject({ id: "probe", result: { supportedVersions: ["2026-07-28"] } });
      say(child, modern("tools/call", { name: "echo", arguments: { text: "m" } }, "modern"));
      expect(textOf(await next())).toBe("m");
      await open(child, next);
      say(child, call("legacy", "echo", { text: "l" }));
      expect(textOf(await next())).toBe("l");
      say(child, modern("tools/call", { name: "echo", arguments: { text: "again" } }, "again"));
    });
    expect(messages.at(-1)).toMatchObject({ id: "again", result: { resultType: "complete" } });
    expect(messages.find(({ id }) => id === "legacy")?.result).not.toHaveProperty("resultType");
  });

  test("is rejected with -32022 and the served versions for a version that is not served", async () => {
    const { messages } = await run(async (child, next) => {
      say(child, modern("server/discover", {}, "probe", { [PROTOCOL_VERSION_KEY]: "2099-01-01" }));
      await next();
      await open(child, next);
    });
    const data = { requested: "2099-01-01", supported: ["2026-07-28"] };
    expect(messages[0]).toMatchObject({ id: "probe", error: { code: -32022, data } });
  });

  test("is refused by a modern-only server if it is initialize, naming the server's versions", async () => {
    const asked = LEGACY_VERSIONS.map((version) => initialize(version, version));
    const { messages, code } = await run((child) => say(child, ...asked), "stdio-modern");
    const named = { message: expect.stringContaining("2026-07-28") };
    expect(messages).toMatchObject(LEGACY_VERSIONS.map((id) => ({ id, error: named })));
    expect(code).toBe(0);
  });
});

describe.concurrent("a server on stdio", () => {
  test("sends all responses and exits with 0 when its input ends", async () => {
    const { code, signal, messages } = await run(async (child, next) => {
      await open(child, next);
      say(child, ...[1, 2, 3].map((id) => call(id, "echo", { text: `${id}` })));
    });
    expect([code, signal]).toEqual([0, null]);
    expect(messages.slice(1).map(textOf).toSorted()).toEqual(["1", "2", "3"]);
  });

  test("exits with 0 and writes nothing if there is no input", async () => {
    const { code, lines } = await runChild(join(import.meta.dirname, "fixtures/stdio.ts"), () => undefined);
    expect([code, lines]).toEqual([0, []]);
  });
});

describe.concurrent("notifications/cancelled on stdio", () => {
  test.each(["2024-11-05", "2025-11-25"])(
    "stops the handler of the request, and no message follows in %s",
    async (version) => {
      const { messages, stderr } = await run(async (child, next) => {
        await open(child, next, version);
        say(child, call("w", "wait", {}, { _meta: { progressToken: "t" } }));
        expect(await next()).toMatchObject({ method: "notifications/progress", params: { progress: 1 } });
        say(child, notification("notifications/cancelled", { requestId: "w", reason: "enough" }));
        say(child, request("ping", undefined, "after"));
      });
      expect(stderr).toContain("aborted");
      expect(messages.slice(2)).toEqual([{ jsonrpc: "2.0", id: "after", result: {} }]);
    },
  );

  test("also cancels a modern request", async () => {
    const { messages, stderr } = await run(async (child, next) => {
      say(child, modern("tools/call", { name: "wait", arguments: {} }, "w", { progressToken: "t" }));
      expect(await next()).toMatchObject({ method: "notifications/progress", params: { progress: 1 } });
      say(child, notification("notifications/cancelled", { requestId: "w" }));
      say(child, modern("tools/call", { name: "echo", arguments: { text: "after" } }, "after"));
    });
    expect(stderr).toContain("aborted");
    expect(messages.slice(1).map(({ id }) => id)).toEqual(["after"]);
  });

  test("gets no response for an unknown or finished request, or if it is malformed", async () => {
    const { messages } = await run(async (child, next) => {
      await open(child, next);
      say(child, call(1, "echo", { text: "over" }));
      await next();
      for (const params of [{ requestId: 1 }, { requestId: "1" }, { requestId: "unknown" }, {}, undefined]) {
        say(child, notification("notifications/cancelled", params));
      }
      say(child, request("ping", undefined, 2));
    });
    expect(messages.slice(1).map(({ id }) => id)).toEqual([1, 2]);
  });

  test('distinguishes the id 1 from the id "1"', async () => {
    const { messages, stderr } = await run(async (child, next) => {
      await open(child, next);
      say(child, call(1, "wait", {}, { _meta: { progressToken: 1 } }), call("1", "echo", { text: "text" }));
      await next();
      await next();
      say(child, notification("notifications/cancelled", { requestId: "1" }), request("ping", undefined, 2));
      await next();
      say(child, notification("notifications/cancelled", { requestId: 1 }));
    });
    expect(messages.filter((message) => "id" in message).map(({ id }) => id)).toEqual(["init", "1", 2]);
    expect(stderr.match(/aborted/g)).toHaveLength(1);
  });
});
