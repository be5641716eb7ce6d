/** Servers over stdio in separate processes. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { join } from "node:path";
import { NODE } from "../oracle/node.ts";

const TAP = join(import.meta.dirname, "../oracle/stdio-tap.ts");

export type Child = ChildProcessWithoutNullStreams;

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: { readonly [key: string]: unknown };
  readonly error?: { readonly code: number; readonly message: string };
}

export interface Ended {
  readonly code: number | null;
  /** The signal that killed it, if it did not end by itself. */
  readonly signal: NodeJS.Signals | null;
  readonly lines: readonly string[];
  readonly messages: readonly Message[];
  readonly stderr: string;
}

/**
 * Starts a server, lets `talk` write to it, ends its input, and waits for its end.
 *
 * @param options.tapped File for the report of an oracle on its streams.
 * @param options.graceMs How long it may live after its input has ended; then it is killed.
 */
export async function runChild(
  file: string,
  talk: (child: Child, next: () => Promise<Message>) => void | Promise<void>,
  { tapped, graceMs = 20_000 }: { tapped?: string; graceMs?: number } = {},
): Promise<Ended> {
  const args = tapped === undefined ? [file] : [TAP, tapped, "--", NODE, file];
  const child = spawn(NODE, args, { stdio: ["pipe", "pipe", "pipe"] });
  const chunks: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] };
  const linesOf = (): string[] => Buffer.concat(chunks.stdout).toString("utf8").split("\n").slice(0, -1);
  let seen = 0;
  let wake = () => {};
  child.stdout.on("data", (data: Buffer) => {
    chunks.stdout.push(data);
    wake();
  });
  child.stderr.on("data", (data: Buffer) => chunks.stderr.push(data));
  const ended = new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.once("close", (code, signal) => resolve([code, signal]));
  });
  /** The next message that the server has written. */
  const next = async (): Promise<Message> => {
    for (let line = linesOf()[seen]; ; line = linesOf()[seen]) {
      if (line !== undefined) {
        seen += 1;
        return JSON.parse(line) as Message;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  await talk(child, next);
  child.stdin.end();
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  const [code, signal] = await ended;
  clearTimeout(timer);
  const lines = linesOf();
  return {
    code,
    signal,
    lines,
    messages: lines.map((line) => JSON.parse(line) as Message),
    stderr: Buffer.concat(chunks.stderr).toString("utf8"),
  };
}
