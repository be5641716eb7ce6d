// @module-tag long
/** How a server over stdio ends, and what happens to open requests. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Child, type Message, runChild } from "./child.ts";

const FIXTURE = join(import.meta.dirname, "fixtures/endings.ts");
const serve = (talk: (child: Child, next: () => Promise<Message>) => void | Promise<void>) =>
  runChild(FIXTURE, talk, { graceMs: 8_000 });

const say = (child: Child, ...messages: unknown[]) =>
  void child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
const call = (id: unknown, name: string) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } });
const ping = (id: unknown) => ({ jsonrpc: "2.0", id, method: "ping" });
const initialize = (protocolVersion: string) => ({
  jsonrpc: "2.0",
  id: "init",
  method: "initialize",
  params: { protocolVersion, capabilities: { roots: {} }, clientInfo: { name: "ends", version: "1.0.0" } },
});
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };

async function openSession(child: Child, next: () => Promise<Message>, version = "2025-11-25"): Promise<void> {
  say(child, initialize(version));
  expect(await next()).toMatchObject({ id: "init", result: { protocolVersion: version } });
  say(child, initialized);
}

function textOf(message: Message | undefined): unknown {
  const [block] = (message?.result?.content ?? []) as { text: string }[];
  return block?.text;
}

describe("when the input of a stdio server ends", () => {
  test("an answer that arrived before the end is used", async () => {
    const { code, messages } = await serve(async (child, next) => {
      await openSession(child, next);
      say(child, call(1, "asks"));
      const question = await next();
      expect(question.method).toBe("roots/list");
      say(child, { jsonrpc: "2.0", id: question.id, result: { roots: [{ uri: "file:///a" }] } });
    });
    expect(textOf(messages.at(-1))).toBe('[{"uri":"file:///a"}]');
    expect(code).toBe(0);
  });

  test("a question that can no longer be answered rejects, its request gets a response, and the process ends", async () => {
    const { code, signal, messages } = await serve(async (child, next) => {
      await openSession(child, next);
      say(child, call(1, "asks"));
      expect(await next()).toMatchObject({ method: "roots/list" });
    });
    expect([code, signal]).toEqual([0, null]);
    expect(messages.find(({ id }) => id === 1)).toHaveProperty("result");
  });

  test("a question asked after the end rejects as well, and its request gets a response", async () => {
    const { code, signal, messages } = await serve(async (child, next) => {
      await openSession(child, next);
      const working = new Promise((resolve) => child.stderr.once("data", resolve));
      say(child, call(1, "asks-late"));
      await working;
    });
    expect([code, signal]).toEqual([0, null]);
    expect(textOf(messages.find(({ id }) => id === 1))).toMatch(/Error$/);
  });

  test("a request gets a response even if its handler asks again after its question was rejected", async () => {
    const { code, signal, messages } = await serve(async (child, next) => {
      await openSession(child, next);
      say(child, call(1, "asks-again"));
      expect(await next()).toMatchObject({ method: "roots/list" });
    });
    expect([code, signal]).toEqual([0, null]);
    expect(textOf(messages.find(({ id }) => id === 1))).toMatch(/Error .*Error$/);
  });

  test("an open subscription gets a response, so that its client is notified of the end", async () => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = { _meta, notifications: { toolsListChanged: true } };
    const { code, messages } = await serve(async (child, next) => {
      say(child, { jsonrpc: "2.0", id: "listen", method: "subscriptions/listen", params });
      expect(await next()).toMatchObject({ method: "notifications/subscriptions/acknowledged" });
    });
    expect(messages.at(-1)).toMatchObject({ id: "listen", result: { resultType: "complete" } });
    expect(code).toBe(0);
  });

  test("a large result is written completely to a slow reader before the process ends", async () => {
    const { code, messages } = await serve(async (child) => {
      child.stdout.pause();
      say(child, call(1, "large"), ping(2));
      child.stdin.end();
      await delay(700);
      child.stdout.resume();
    });
    expect(messages.map(({ id }) => id).toSorted()).toEqual([1, 2]);
    expect(textOf(messages.find(({ id }) => id === 1))).toHaveLength(8 * 1024 * 1024);
    expect(code).toBe(0);
  });

  test("a line that ends within a character causes -32700, and the process exits with 0", async () => {
    const { code, messages } = await serve((child) => {
      child.stdin.write(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"method":"é').subarray(0, -1)]));
    });
    expect(messages).toMatchObject([{ error: { code: -32700 } }]);
    expect(code).toBe(0);
  });

  test("serveStdio() resolves when all requests have responses", async () => {
    const { stderr, messages } = await serve((child) => say(child, ping(1)));
    expect(messages).toMatchObject([{ id: 1, result: {} }]);
    expect(stderr).toBe("served\n");
  });
});

test("questions, both eras and an open subscription pass the oracle until the end", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-ends-"));
  try {
    const tapped = join(folder, "report.json");
    const clientInfo = { name: "ends", version: "1.0.0" };
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": clientInfo,
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = { _meta, notifications: { toolsListChanged: true } };
    const { code } = await runChild(
      FIXTURE,
      async (child, next) => {
        await openSession(child, next);
        say(child, call(1, "asks"));
        const question = await next();
        say(child, { jsonrpc: "2.0", id: question.id, result: { roots: [] } });
        expect(textOf(await next())).toBe("[]");
        say(child, { jsonrpc: "2.0", id: "listen", method: "subscriptions/listen", params });
        await next();
      },
      { tapped },
    );
    const report = JSON.parse(readFileSync(tapped, "utf8"));
    expect(report).toEqual({ messages: 10, problems: [] });
    expect(code).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe("while a stdio server runs", () => {
  test("encodings and callbacks of process.stdout.write work, and its output goes to standard error", async () => {
    const { lines, stderr, messages } = await serve((child) => say(child, call(1, "writes")));
    expect(lines).toHaveLength(1);
    expect(textOf(messages[0])).toBe("written");
    expect(stderr).toContain("slip:");
    expect(stderr).toContain("│");
  });

  test("an exception of a handler is written to standard error, with the reference that the client got", async () => {
    const { messages, stderr, lines } = await serve((child) => say(child, call(1, "fails")));
    const reference = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(lines[0] ?? "")?.[0];
    expect(messages).toMatchObject([{ id: 1, result: { isError: true } }]);
    expect(lines[0]).not.toContain("secret");
    expect(reference).toBeDefined();
    expect(stderr).toContain(reference);
    expect(stderr).toContain("a secret of the server");
  });

  test("an array on one line gets an array on one line in 2025-03-26", async () => {
    const { lines } = await serve(async (child, next) => {
      await openSession(child, next, "2025-03-26");
      say(child, [ping("a"), initialized, { ...ping("b"), params: [] }]);
      say(child, [initialized]);
      say(child, []);
    });
    // The order of the two is not guaranteed.
    const [batch, single] = lines.slice(1).map((line) => JSON.parse(line));
    const [answers, refusal] = Array.isArray(batch) ? [batch, single] : [single, batch];
    expect(answers).toMatchObject([
      { id: "a", result: {} },
      { id: "b", error: { code: -32600 } },
    ]);
    expect(refusal).toMatchObject({ error: { code: -32600 } });
    expect(lines).toHaveLength(3);
  });

  test("an array without initialize is rejected with -32600, and the next line is served", async () => {
    const { messages } = await serve((child) => say(child, [ping("a")], ping("b")));
    expect(messages).toMatchObject([{ error: { code: -32600 } }, { id: "b", result: {} }]);
  });

  test("when the reader of its output disconnects, running handlers are aborted and the process ends silently", async () => {
    const { code, signal, stderr } = await serve(async (child) => {
      child.stdin.on("error", () => undefined);
      say(child, call(1, "waits"));
      await new Promise((resolve) => child.stderr.once("data", resolve));
      child.stdout.destroy();
      const exited = new Promise((resolve) => child.once("exit", resolve));
      say(child, ping(2), ping(3));
      await Promise.race([exited, delay(6_000)]);
    });
    expect([code, signal]).toEqual([0, null]);
    expect(stderr).toBe("waiting\naborted by KitError\nserved\n");
  });

  test("a killed process does not leave an incomplete line", async () => {
    const { signal, lines } = await serve(async (child, next) => {
      say(child, ping(1), call(2, "waits"));
      await next();
      child.kill("SIGTERM");
    });
    expect(signal).toBe("SIGTERM");
    expect(lines).toHaveLength(1);
  });
});
