// @module-tag long
/** The command line in a pseudo-terminal: questions, confirmations, progress and Ctrl-C. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Lab } from "../client/places.ts";
import { NODE } from "../oracle/node.ts";
import { childrenOf, isAlive } from "./processes.ts";
import { KEYS, Screen, screenWithServer } from "./pty.ts";
import { CLI, SERVER } from "./run.ts";

describe("questions of a server in a terminal", () => {
  test("can be forms, filled in field by field, and Enter alone agrees to nothing", async () => {
    using screen = screenWithServer(["call", "order", "--yes"]);
    await screen.shows(" asks:\n  | What do you order?");
    await screen.shows("Do you want to answer ");
    screen.press(KEYS.enter);
    await screen.shows(": size (optional)");
    await screen.shows("● M");
    screen.press(KEYS.down);
    await screen.shows("● L");
    screen.press(KEYS.enter);
    await screen.shows(": count (optional)");
    screen.press("0", KEYS.enter);
    await screen.shows(": wrapped (optional)");
    screen.press(KEYS.enter);
    expect(await screen.ended()).toBe(0);
    expect(screen.text).toContain('{"size":"L","count":20,"wrapped":false}');
  });

  test("can be declined, or cancelled with Escape", async () => {
    using declined = screenWithServer(["call", "order", "--yes"]);
    await declined.shows("○ Decline");
    declined.press(KEYS.down);
    await declined.shows("● Decline");
    declined.press(KEYS.enter);
    expect(await declined.ended()).toBe(0);
    expect(declined.text).toMatch(/\ndecline\n$/);
    using cancelled = screenWithServer(["call", "order", "--yes"]);
    await cancelled.shows("Do you want to answer ");
    cancelled.press(KEYS.escape);
    expect(await cancelled.ended()).toBe(0);
    expect(cancelled.text).toMatch(/\ncancel\n$/);
  });

  test("refuse a wrong value with the reason, and let the user correct it", async () => {
    using screen = screenWithServer(["call", "order", "--yes"]);
    await screen.shows("Do you want to answer ");
    screen.press(KEYS.enter);
    await screen.shows("size");
    screen.press(KEYS.enter);
    await screen.shows("count");
    screen.press(".5", KEYS.enter);
    await screen.shows("Write an integer.");
    screen.press("\u007f\u007f", KEYS.enter);
    await screen.shows("wrapped");
    screen.press(KEYS.enter);
    expect(await screen.ended()).toBe(0);
    expect(screen.text).toContain('"count":2,');
  });

  test("open a page in the browser only after the user agreed, with its host in view", async () => {
    using screen = screenWithServer(["call", "sign_in", "--yes"], { BROWSER: "echo" });
    await screen.shows("asks you to visit a page:\n  | Please sign in.");
    await screen.shows("https://login.example/start\nHost: login.example");
    await screen.shows("Open it in the browser");
    screen.press(KEYS.down);
    await screen.shows("● I will open it myself");
    screen.press(KEYS.enter);
    expect(await screen.ended()).toBe(0);
    expect(screen.text).toMatch(/\naccept\n$/);
  });

  test("show a sampling request, which the user answers by hand or declines", async () => {
    using screen = screenWithServer(["call", "summarise", "--yes"]);
    await screen.shows("asks a model for at most 100 tokens:");
    await screen.shows("  | user: Summarise this.");
    await screen.shows("Write the model's answer for ");
    screen.press("Short.", KEYS.enter);
    expect(await screen.ended()).toBe(0);
    expect(screen.text).toContain('{"type":"text","text":"Short."}');
  });
});

describe("a call that may be destructive", () => {
  test("is made after the user agreed, with its arguments in view", async () => {
    using screen = screenWithServer(["call", "charge", "--key", "k7"]);
    await screen.shows('"key": "k7"');
    await screen.shows("Run it?");
    screen.press("y");
    expect(await screen.ended()).toBe(0);
    expect(screen.text).toMatch(/charged\n$/);
  });

  test("is not made if the user refuses", async () => {
    using screen = screenWithServer(["call", "charge", "--key", "k8"]);
    await screen.shows("Run it?");
    screen.press(KEYS.enter);
    expect(await screen.ended()).toBe(5);
    expect(screen.text).toContain("The tool was not called.");
    expect(screen.text).not.toContain("charged");
  });
});

test("progress is shown as a bar that the result replaces", async () => {
  using screen = screenWithServer(["call", "slow", "--steps", "4", "--stepMs", "100", "--yes"]);
  await screen.shows("██████░░░░░░░░░░░░░░░░░░ 25% 1/4 step 1");
  await screen.shows("████████████░░░░░░░░░░░░ 50% 2/4 step 2");
  expect(await screen.ended()).toBe(0);
  // The line of the bar is erased before the result is printed.
  expect(screen.raw.endsWith("\r\u001b[2Kdone\r\n")).toBe(true);
});

test("NO_COLOR removes colours in a terminal, which has colours without it", async () => {
  using plain = screenWithServer(["list", "prompts"], { NO_COLOR: "1" });
  expect(await plain.ended()).toBe(0);
  expect(plain.raw).not.toContain("\u001b[3");
  using coloured = screenWithServer(["list", "prompts"]);
  expect(await coloured.ended()).toBe(0);
  expect(coloured.raw).toContain("\u001b[36mPrompts\u001b[39m");
});

describe("text of a server", () => {
  let server: Server;
  let url: string;
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      const { id, method } = JSON.parse((await request.toArray()).join("")) as { id: number; method: string };
      const tool = { name: "t", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } };
      const text = "\u001b]0;owned\u0007\u009b2Jred \u202etxt";
      const discovered = { supportedVersions: ["2026-07-28"], capabilities: { tools: {}, resources: {} } };
      const results: Record<string, object> = {
        "server/discover": discovered,
        "tools/list": { tools: [tool] },
        "tools/call": { content: [{ type: "text", text }] },
      };
      if (method === "resources/read") {
        const error = { code: -32602, message: "\u001b]0;owned\u0007\u001b[2Jno such resource" };
        response.writeHead(200, { "Content-Type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
        return;
      }
      const result = { resultType: "complete", ttlMs: 0, cacheScope: "public", ...results[method] };
      response
        .writeHead(200, { "Content-Type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  test("cannot control the terminal or turn the direction of text", async () => {
    using screen = new Screen(["call", url, "t"]);
    expect(await screen.ended()).toBe(0);
    expect(screen.raw).toBe("red txt\r\n");
  });

  test("is escaped in JSON, so that a program gets it unchanged and a terminal is not affected", async () => {
    using screen = new Screen(["call", url, "t", "--json"]);
    expect(await screen.ended()).toBe(0);
    expect(screen.raw).toContain(String.raw`\u001b]0;owned\u0007\u009b2Jred \u202etxt`);
  });

  test("cannot control the terminal in an error either", async () => {
    using screen = new Screen(["read", url, "test://any"]);
    expect(await screen.ended()).toBe(3);
    expect(screen.raw).toContain("no such resource");
    expect(screen.raw).not.toContain("\u001b]0;");
  });
});

describe("Ctrl-C", () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await Lab.start();
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  test.each(["2025-11-25", "2026-07-28"])(
    "cancels the call at the server in %s, and exits with 130",
    async (version) => {
      const key = `held-${version}`;
      using screen = new Screen(["call", lab.url(), "hold", "--key", key, "--yes", "--as", version]);
      await screen.shows("1");
      screen.press(KEYS.ctrlC);
      expect(await screen.ended()).toBe(130);
      expect(screen.text).toContain("mcp-edge: interrupted");
      const { client } = await lab.http();
      const note = async () => (await client.callTool("noted", { key })).content[0];
      await expect.poll(note, { timeout: 20_000 }).toEqual({ type: "text", text: "aborted" });
    },
  );

  test("ends the process of a stdio server, even if it ignores SIGINT", async () => {
    using screen = new Screen(["call", "hold", "--key", "k", "--yes", "--", ...SERVER, "stubborn"]);
    await screen.shows("1");
    const children = childrenOf(screen.pid);
    expect(children).toHaveLength(1);
    screen.press(KEYS.ctrlC);
    expect(await screen.ended()).toBe(130);
    expect(children.filter(isAlive)).toEqual([]);
  });

  test("ends the program at a question, not only the question", async () => {
    using screen = screenWithServer(["call", "order", "--yes"]);
    await screen.shows("Do you want to answer ");
    screen.press(KEYS.ctrlC);
    expect(await screen.ended()).toBe(130);
  });

  test("ends the program at a confirmation, without the call", async () => {
    using screen = screenWithServer(["call", "charge", "--key", "k9"]);
    await screen.shows("Run it?");
    screen.press(KEYS.ctrlC);
    expect(await screen.ended()).toBe(130);
    expect(screen.text).not.toContain("charged");
  });
});

test("prompts are not written to standard output, so that a pipe gets only the result", async () => {
  using screen = Screen.ofShell(
    `${shellWords([NODE, CLI, "call", "order", "--yes", "--", ...SERVER])} | sed s/^/OUT:/`,
  );
  await screen.shows("Do you want to answer ");
  screen.press(KEYS.escape);
  expect(await screen.ended()).toBe(0);
  expect(screen.text.split("\n").filter((line) => line.startsWith("OUT:"))).toEqual(["OUT:cancel"]);
});

function shellWords(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(" ");
}
