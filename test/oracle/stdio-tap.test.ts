// @module-tag long
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { NODE } from "./node.ts";
import { MODERN_META, request, result } from "./samples.ts";

const TAP = join(import.meta.dirname, "stdio-tap.ts");
const FOLDER = mkdtempSync(join(tmpdir(), "stdio-tap-"));
const SERVER = join(FOLDER, "server.mjs");
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

/**
 * Responds to each request with the value of its `arguments`; a line that is not JSON is echoed. readline is not used
 * because it also splits at U+2028.
 */
writeFileSync(
  SERVER,
  `console.error("ready");
process.stdin.setEncoding("utf8");
let rest = "";
for await (const chunk of process.stdin) {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    let asked;
    try { asked = JSON.parse(line); } catch { console.log(line); continue; }
    const { exit, result } = asked.params?.arguments ?? {};
    if (exit !== undefined) process.exit(exit);
    console.log(JSON.stringify({ jsonrpc: "2.0", id: asked.id, result }));
  }
}
process.exit(3);
`,
);

let runs = 0;

interface Run {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  readonly closed: Promise<number | null>;
  readonly report: () => { messages: number; problems: { problem: string; from: string }[] };
}

function start(flags: readonly string[] = [], command: readonly string[] = [NODE, SERVER]): Run {
  runs += 1;
  const file = join(FOLDER, `report-${runs}.json`);
  const child = spawn(NODE, [TAP, file, ...flags, "--", ...command]);
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString("utf8");
  });
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk.toString("utf8");
  });
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  const report: Run["report"] = () => JSON.parse(readFileSync(file, "utf8"));
  return { child, out: () => out, err: () => err, closed, report };
}

function call(args: object, id: number | string = 1): string {
  return `${JSON.stringify(request("tools/call", { _meta: MODERN_META, name: "t", arguments: args }, id))}\n`;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

const GOOD = { resultType: "complete", content: [{ type: "text", text: "é\u2028" }] };

describe("the stdio tap", () => {
  test("passes on lines, stderr and the exit code, and reports the number of messages", async () => {
    const run = start();
    run.child.stdin?.end(call({ result: GOOD }));
    expect(await run.closed).toBe(3);
    expect(run.out()).toBe(`${JSON.stringify(result(GOOD))}\n`);
    expect(run.err()).toContain("ready");
    expect(run.report()).toEqual({ messages: 2, problems: [] });
  });

  test("reports a message that is invalid in its version", async () => {
    const run = start();
    run.child.stdin?.end(call({ result: { content: [] } }));
    await run.closed;
    expect(run.report().problems).toContainEqual(
      expect.objectContaining({ from: "server", problem: "the result has no resultType" }),
    );
  });

  test("reports a line of the server that is not JSON, but not such a line of a client that is not checked", async () => {
    const run = start(["--server-only"]);
    run.child.stdin?.end(`hello\n${call({ result: GOOD })}`);
    await run.closed;
    expect(run.out()).toContain("hello\n");
    expect(run.report().problems.map(({ from, problem }) => `${from} ${problem}`)).toEqual(["server is not JSON"]);
  });

  test("reads characters and lines that are split", async () => {
    const run = start();
    const bytes = Buffer.from(call({ result: GOOD }));
    const middle = bytes.indexOf(0xc3) + 1;
    run.child.stdin?.write(bytes.subarray(0, middle));
    await until(() => run.err().includes("ready"));
    run.child.stdin?.end(bytes.subarray(middle));
    await run.closed;
    expect(run.out()).toBe(`${JSON.stringify(result(GOOD))}\n`);
    expect(run.report()).toEqual({ messages: 2, problems: [] });
  });

  test("exits with the server's code while its stdin is still open", async () => {
    const run = start();
    run.child.stdin?.write(call({ exit: 7 }));
    expect(await run.closed).toBe(7);
    expect(run.report().messages).toBe(1);
  });

  test("passes on SIGTERM and leaves a report", async () => {
    const run = start();
    run.child.stdin?.write(call({ result: GOOD }));
    await until(() => run.out() !== "");
    run.child.kill("SIGTERM");
    expect(await run.closed).toBe(128 + 15);
    expect(run.report()).toEqual({ messages: 2, problems: [] });
  });

  test("reports a command that does not exist", async () => {
    const run = start([], [join(FOLDER, "nothing")]);
    expect(await run.closed).toBe(127);
  });

  test("prints its usage without a command", async () => {
    const child = spawn(NODE, [TAP, join(FOLDER, "none.json")]);
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(64);
  });
});
