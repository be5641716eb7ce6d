/** Runs the command line as a process, without a terminal. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { NODE } from "../oracle/node.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The program, as its source. */
export const CLI = join(ROOT, "src/cli/main.ts");
/** The command of a server for every feature of the client, over stdio. */
export const SERVER: readonly string[] = [NODE, join(ROOT, "test/client/fixtures/stdio.ts")];

/** What a run wrote, and how it ended. */
export interface Ran {
  /** The exit code; null after a signal that the program did not handle. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a run differs from the usual. */
export interface RunOptions {
  /** The text for standard input, which then ends. */
  readonly input?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

/** Runs the program to its end. */
export function cli(args: readonly string[], { input = "", env = {}, cwd = ROOT }: RunOptions = {}): Promise<Ran> {
  const child = spawn(NODE, [CLI, ...args], { cwd, env: { ...process.env, NO_COLOR: undefined, ...env } });
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (data: Buffer) => stdout.push(data));
  child.stderr.on("data", (data: Buffer) => stderr.push(data));
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      resolve({ code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() });
    });
  });
}

/** Runs the program with the stdio server after `--`. */
export function withServer(args: readonly string[], options?: RunOptions): Promise<Ran> {
  return cli([...args, "--", ...SERVER], options);
}
