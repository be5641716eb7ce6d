/** Runs the command line without a terminal, in this process or in its own. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { format } from "node:util";
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
  /** Whether standard output and standard error say that they are a terminal. Only within this process. */
  readonly isTerminal?: boolean;
}

/** Runs the program to its end, in a separate process, for behaviour that only a process has, such as signals. */
export function cliProcess(
  args: readonly string[],
  { input = "", env = {}, cwd = ROOT }: RunOptions = {},
): Promise<Ran> {
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

/** Ends when the program that was started last in this process has ended: its streams and variables are the process's own. */
let last: Promise<unknown> = Promise.resolve();

/** Runs the program to its end within this process, which takes a few milliseconds instead of a quarter of a second. */
export function cli(args: readonly string[], options?: RunOptions): Promise<Ran> {
  const ran = last.then(() => runHere(args, options));
  last = ran.catch(() => undefined);
  return ran;
}

async function runHere(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { input = "", env = {}, cwd = ROOT, isTerminal = false } = options;
  const output = { stdout: "", stderr: "" };
  const undo = [
    capture("stdout", isTerminal, (text) => (output.stdout += text)),
    capture("stderr", isTerminal, (text) => (output.stderr += text)),
    replaceInput(input),
    replaceVariables({ NO_COLOR: undefined, ...env }),
    enter(cwd),
  ];
  process.exitCode = undefined;
  try {
    const { run } = await import("../../src/cli/program.ts");
    const code = await run(args);
    return { code, ...output };
  } finally {
    process.exitCode = undefined;
    for (const each of undo.reverse()) each();
  }
}

/** Passes what is written to a stream, also by the console, to a function. Returns a function that ends this. */
function capture(name: "stdout" | "stderr", isTerminal: boolean, take: (text: string) => void): () => void {
  const stream = process[name];
  const { write, isTTY } = stream;
  stream.isTTY = isTerminal;
  const decoder = new StringDecoder();
  const captured = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    take(typeof chunk === "string" ? chunk : decoder.write(Buffer.from(chunk)));
    const done = rest.findLast((each) => typeof each === "function") as (() => void) | undefined;
    if (done) queueMicrotask(done);
    return true;
  };
  stream.write = captured as typeof stream.write;
  const methods = name === "stdout" ? (["log", "info"] as const) : (["error", "warn"] as const);
  const restored = methods.map((method) => {
    const own = console[method];
    console[method] = (...values: unknown[]) => take(`${format(...values)}\n`);
    return () => {
      console[method] = own;
    };
  });
  return () => {
    stream.write = write;
    stream.isTTY = isTTY;
    for (const restore of restored) restore();
  };
}

function replaceInput(text: string): () => void {
  const own = Object.getOwnPropertyDescriptor(process, "stdin") ?? {};
  Object.defineProperty(process, "stdin", {
    configurable: true,
    value: Readable.from(text === "" ? [] : [Buffer.from(text)]),
  });
  return () => Object.defineProperty(process, "stdin", own);
}

function replaceVariables(changed: Readonly<Record<string, string | undefined>>): () => void {
  const before = { ...process.env };
  assignVariables(changed);
  return () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    assignVariables(before);
  };
}

function assignVariables(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

function enter(folder: string): () => void {
  const before = process.cwd();
  process.chdir(folder);
  return () => process.chdir(before);
}

/** Runs the program with the stdio server after `--`. */
export function withServer(args: readonly string[], options?: RunOptions): Promise<Ran> {
  return cli([...args, "--", ...SERVER], options);
}
