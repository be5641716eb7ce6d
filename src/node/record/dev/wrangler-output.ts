/**
 * Runs in wrangler's process before wrangler. Filters and corrects its output, because wrangler does not know that it runs
 * behind a proxy. The output is not piped, so wrangler's colors, keyboard shortcuts and prompts keep working.
 *
 * @module
 */
import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import { stripVTControlCharacters } from "node:util";
import { isMainThread } from "node:worker_threads";

export interface OutputOptions {
  /** Whether the lines that wrangler prints for requests are removed. */
  readonly hidesRequests: boolean;
  /** The origin at which wrangler listens, and the origin to which clients connect. */
  readonly inside: string;
  readonly outside: string;
  /** The file names of the copied and of the original configuration. */
  readonly copy: string;
  readonly original: string;
  /** The name of the user's Worker, which wrangler writes before its log lines if it runs several Workers. */
  readonly workerName: string;
  /** The name of the tail Worker. */
  readonly tailName: string;
}

/** Matches the log line of a request. */
const REQUEST = /^\[wrangler:info\] [A-Z]+ \S+ \d{3} .*\(\d+ms\)\s*$/;

/** Corrects the output of this process, and the URLs that it opens in a browser. */
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

/** Returns a function that corrects a string. It returns undefined for a string that is not printed. */
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

/** Returns whether a string only announces the tail Worker. */
function isAboutTail(text: string, tailName: string): boolean {
  if (!text.includes(tailName)) return false;
  return /is sending Tail events to the following Workers:\s+- \S+ \(streaming\)[^\n]*\s*$/.test(text);
}
