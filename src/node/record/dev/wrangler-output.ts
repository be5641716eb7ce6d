/**
 * Runs in wrangler's process, before wrangler: leaves out and corrects what it prints, because it does not know that it runs behind a
 * proxy. Nothing is piped, so wrangler's colors, keys and questions stay as they are.
 *
 * @module
 */
import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import { stripVTControlCharacters } from "node:util";
import { isMainThread } from "node:worker_threads";

/** What is left out and corrected. */
export interface OutputOptions {
  /** Whether the line that wrangler prints for each request is left out. */
  readonly hidesRequests: boolean;
  /** The origin at which wrangler listens, and the one at which clients connect. */
  readonly inside: string;
  readonly outside: string;
  /** The file names of the copy and of the user's configuration. */
  readonly copy: string;
  readonly original: string;
  /** The name of the user's Worker, with which wrangler marks the lines of each of several Workers. */
  readonly workerName: string;
  /** The name of the tail Worker. */
  readonly tailName: string;
}

/** Matches the line of a request. */
const REQUEST = /^\[wrangler:info\] [A-Z]+ \S+ \d{3} .*\(\d+ms\)\s*$/;

/** Changes what this process writes, and the addresses that it opens in a browser. */
export function correctOutput(options: OutputOptions): void {
  if (!isMainThread) return;
  const correct = createCorrection(options);
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
    stream.write = ((chunk: unknown, ...rest: unknown[]) => {
      if (typeof chunk !== "string") return write(chunk, ...rest);
      const text = correct(chunk);
      if (text !== undefined) return write(text, ...rest);
      const written = rest.find((each) => typeof each === "function") as (() => void) | undefined;
      written?.();
      return true;
    }) as typeof stream.write;
  }
  const { spawn } = childProcess;
  const opened = (argument: unknown) =>
    typeof argument === "string" ? argument.replaceAll(options.inside, options.outside) : argument;
  childProcess.spawn = ((file: string, args?: readonly unknown[], ...rest: unknown[]) =>
    Reflect.apply(spawn, childProcess, [file, Array.isArray(args) ? args.map(opened) : args, ...rest])) as typeof spawn;
  syncBuiltinESMExports();
}

/** Returns the function that corrects a text. It returns undefined for a text that is left out. */
export function createCorrection(options: OutputOptions): (text: string) => string | undefined {
  const { hidesRequests, inside, outside, copy, original, workerName, tailName } = options;
  const mark = `[${workerName}] `;
  return (text) => {
    const plain = stripVTControlCharacters(text);
    if (hidesRequests && REQUEST.test(plain)) return undefined;
    if (isAboutTail(plain, tailName)) return undefined;
    const own = text.startsWith(mark) ? text.slice(mark.length) : text;
    return own.replaceAll(inside, outside).replaceAll(copy, original);
  };
}

/** Whether a text only says that the tail Worker is there. */
function isAboutTail(text: string, tailName: string): boolean {
  if (!text.includes(tailName)) return false;
  return /is sending Tail events to the following Workers:\s+- \S+ \(streaming\)[^\n]*\s*$/.test(text);
}
