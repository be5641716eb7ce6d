/**
 * Runs the programs that prepare a new project: git and npm.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { endProgram, findProgram } from "../../../node/program.ts";

/** The outcome of a program. */
export interface Finished {
  readonly isOk: boolean;
  /** The end of its output. */
  readonly output: string;
}

const OUTPUT_CHARACTERS_MAX = 3_000;

/**
 * Runs a program in a folder until it ends. When the signal aborts, the program and its child processes are killed before this
 * rejects, so that none of them writes to the folder afterwards.
 *
 * @throws the reason of the signal.
 */
export async function runIn(
  folder: string,
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<Finished> {
  signal.throwIfAborted();
  const found = findProgram(program, args, { cwd: folder });
  const child = spawn(found.command, found.args, {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    windowsVerbatimArguments: found.windowsVerbatimArguments,
    // A separate process group, so that all child processes can be killed together.
    detached: process.platform !== "win32",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (data: Buffer) => {
      output = (output + data).slice(-OUTPUT_CHARACTERS_MAX);
    });
  }
  const stop = () => endGroup(child);
  signal.addEventListener("abort", stop);
  try {
    const isOk = await new Promise<boolean>((resolve) => {
      child.once("error", (error) => {
        output = error.message;
        resolve(false);
      });
      child.once("close", (code) => resolve(code === 0));
    });
    signal.throwIfAborted();
    return { isOk, output: output.trim() };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null) return;
  if (process.platform === "win32") {
    endProgram(child, "SIGKILL");
    return;
  }
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The processes have already ended.
  }
}
