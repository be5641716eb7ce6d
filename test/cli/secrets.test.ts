// @module-tag long
/** What the user passes as a header stays secret, and `--debug` changes nothing but what is logged. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NODE } from "../oracle/node.ts";
import { cli } from "./run.ts";

/** Longer than a line of a terminal, and without a form by which a secret could be recognised. */
const TOKEN = Array.from({ length: 30 }, (_, at) => `p${at}q`).join("");
/** Every piece of the token that is long enough to be of use. */
const PIECES = Array.from({ length: TOKEN.length - 7 }, (_, at) => TOKEN.slice(at, at + 8));
const piecesIn = (text: string) => PIECES.filter((each) => text.includes(each));

/** The status line and headers of each response, and the text that the server repeats. */
let answer = { line: "200 OK", headers: "", echo: "" };
let server: Server;
let url: string;
const folder = mkdtempSync(join(tmpdir(), "mcp-edge-secrets-"));

/** Returns the messages that respond to a request. */
function messagesFor({ id, method }: { id: unknown; method: string }): object[] {
  const { echo } = answer;
  if (method === "server/discover") return [{ id, error: { code: -32601, message: "unknown" } }];
  const serverInfo = { name: "echo", version: "1.0.0" };
  const capabilities = { tools: {}, logging: {} };
  if (method === "initialize") return [{ id, result: { protocolVersion: "2025-11-25", capabilities, serverInfo } }];
  if (echo === "") return [{ id, result: { tools: [] } }];
  const log = { method: "notifications/message", params: { level: "info", data: `${"x".repeat(900)} ${echo}` } };
  return [log, { id, error: { code: -32000, message: `${"y".repeat(1_950)} ${echo}`, data: { sent: echo } } }];
}

// A socket, because node:http writes no status line with arbitrary bytes.
beforeAll(async () => {
  server = createServer((socket) => {
    let text = "";
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      text += data;
      const [head = "", ...rest] = text.split("\r\n\r\n");
      const body = rest.join("\r\n\r\n");
      if (body.length < Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)) return;
      const message = body === "" ? {} : JSON.parse(body);
      const events = message.id === undefined ? [] : messagesFor(message);
      const content = events.map((each) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...each })}\n\n`).join("");
      const line = head.startsWith("POST") ? (message.id === undefined ? "202 Accepted" : answer.line) : "405 No";
      const type = "Content-Type: text/event-stream\r\nConnection: close\r\n";
      socket.end(
        `HTTP/1.1 ${line}\r\n${type}${answer.headers}Content-Length: ${Buffer.byteLength(content)}\r\n\r\n${content}`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  url = `http://127.0.0.1:${port}/mcp`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

describe("a header that the user passes and the server repeats", () => {
  test.each([
    ["--header", () => ["list", url, "--header", `Authorization: Custom ${TOKEN}`], TOKEN],
    ["a header in the file of a host", () => ["list", "echo"], TOKEN],
  ])("given by %s is in no message, whole or in part", async (_, args, echo) => {
    const config = { mcpServers: { echo: { url, headers: { Authorization: `Custom ${TOKEN}` } } } };
    mkdirSync(join(folder, ".cursor"), { recursive: true });
    writeFileSync(join(folder, ".cursor/mcp.json"), JSON.stringify(config));
    answer = { line: "200 OK", headers: "", echo };
    for (const more of [[], ["--json"], ["--debug"]]) {
      const env = { HOME: folder, XDG_CONFIG_HOME: folder };
      const { code, stdout, stderr } = await cli([...args(), ...more], { cwd: folder, env });
      expect(code).toBe(3);
      expect(stderr).toContain("[redacted]");
      expect(piecesIn(stdout + stderr)).toEqual([]);
    }
  });

  test("is in no message if the log of a process that ends is truncated", async () => {
    const program = `console.error(process.env.PIN + "z".repeat(${1_000 - TOKEN.length / 2})); process.exit(4)`;
    const { code, stderr } = await cli(["list", "--env", `PIN=${TOKEN}`, "--", NODE, "-e", program]);
    expect([code, piecesIn(stderr)]).toEqual([4, []]);
  });
});

test("--debug shows no part of the query or fragment of an address", async () => {
  answer = { line: "200 OK", headers: "Location: /next?bare-1&a=va1ue-1;b#frag-1\r\n", echo: "" };
  const { code, stderr } = await cli(["list", `${url}?bare-2&sig=s1g-2&sig=s1g-3`, "--debug"]);
  expect(code).toBe(0);
  expect(stderr).toContain("location: /next?");
  expect(stderr.match(/bare-\d|va1ue-\d|frag-\d|s1g-\d/g)).toBe(null);
});

test.each([
  ["letters outside of Latin-1", "200 \u65e5\u672c"],
  ["a control character", "200 a\u0001b"],
  ["no reason phrase", "200"],
  ["a status that no Response can be made with", "600 Odd"],
])("--debug does not change the outcome when the status line has %s", async (_, line) => {
  answer = { line, headers: "", echo: "" };
  const plain = await cli(["list", url]);
  const debugged = await cli(["list", url, "--debug"]);
  expect([debugged.code, debugged.stdout]).toEqual([plain.code, plain.stdout]);
  expect(debugged.stderr).toContain("[debug] HTTP");
});
