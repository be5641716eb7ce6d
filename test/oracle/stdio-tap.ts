/**
 * `node stdio-tap.ts <reportFile> [--server-only] -- <command> <args...>`
 *
 * Runs a stdio server with an oracle on its streams. Bytes pass through unchanged, and each line is checked. The report
 * `{ messages, problems }` is written when stdin ends, on a signal and when the server has ended, each time completely,
 * so that a killed tap leaves one as well. `--server-only` tracks the client's messages without judging them.
 */

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import { NEWEST } from "./methods.ts";
import { WireOracle } from "./oracle.ts";

const SIGNALS: readonly NodeJS.Signals[] = ["SIGTERM", "SIGINT", "SIGHUP"];
/** Milliseconds that a server may take to react to a signal. */
const GRACE_MS = 2_000;
const NEWLINE = 0x0a;

const split = process.argv.indexOf("--");
const [reportFile, ...flags] = process.argv.slice(2, Math.max(split, 2));
const [command, ...args] = split < 0 ? [] : process.argv.slice(split + 1);
if (reportFile === undefined || command === undefined || flags.some((flag) => flag !== "--server-only")) {
  console.error("usage: node stdio-tap.ts <reportFile> [--server-only] -- <command> <args...>");
  process.exit(64);
}
run(reportFile, command, args, !flags.includes("--server-only"));

function run(file: string, program: string, programArgs: string[], judgeClient: boolean): void {
  const oracle = new WireOracle({ judgeClient });
  const report = (): void => {
    const { messages, problems } = oracle;
    writeFileSync(file, `${JSON.stringify({ messages, problems }, null, 2)}\n`);
  };
  report();

  const child = spawn(program, programArgs, { stdio: ["pipe", "pipe", "inherit"] });

  // The listeners of `lines` run before the listeners of `pipe`, so a request is observed before the server can respond.
  lines(process.stdin, (line) => {
    const value = parse(line);
    if (value === undefined) oracle.observeUnreadable("client", line);
    else oracle.observe("client", value.json);
  });
  process.stdin.on("end", report);
  process.stdin.pipe(child.stdin);

  lines(child.stdout, (line, ended) => {
    if (!ended) oracle.report("the last line has no newline", "server", NEWEST, line);
    const value = parse(line);
    if (value === undefined) oracle.observeUnreadable("server", line);
    else oracle.observe("server", value.json);
  });
  child.stdout.pipe(process.stdout);

  // Either side may end first; the exit code reports it, not a stack trace.
  child.stdin.on("error", () => {});
  process.stdout.on("error", () => child.kill());

  for (const signal of SIGNALS) {
    process.on(signal, () => {
      report();
      child.kill(signal);
      setTimeout(() => child.kill("SIGKILL"), GRACE_MS).unref();
    });
  }
  child.on("error", (error) => {
    console.error(error.message);
    process.exitCode = 127;
    process.stdin.destroy();
  });
  child.on("close", (code, signal) => {
    report();
    process.exitCode ??= code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
    // An open stdin would keep the tap alive.
    process.stdin.destroy();
  });
}

/** Calls back for each line that is not blank. `ended` is false for a last line without a newline. */
function lines(stream: Readable, seen: (line: string, ended: boolean) => void): void {
  let rest: Buffer[] = [];
  const flush = (ended: boolean): void => {
    const line = Buffer.concat(rest).toString("utf8").replace(/\r$/, "");
    rest = [];
    if (line.trim() !== "") seen(line, ended);
  };
  stream.on("data", (chunk: Buffer) => {
    let from = 0;
    // Split in bytes, because a chunk may end within a character.
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      rest.push(chunk.subarray(from, at));
      flush(true);
      from = at + 1;
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
  });
  stream.on("end", () => flush(false));
}

/** Wrapped in an object, because null is JSON as well. */
function parse(line: string): { json: unknown } | undefined {
  try {
    return { json: JSON.parse(line) };
  } catch {
    return undefined;
  }
}
