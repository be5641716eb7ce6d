/**
 * Runs the package `mcp-edge-openapi` in a separate process with limited memory and time, so that a hostile description can exhaust no
 * other resources.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { endProgram } from "../../../../node/program.ts";
import { CliError, Exit, usageError } from "../../../exit.ts";
import { type Prepared, preparePackage } from "../../../fetched/fetched-package.ts";
import type { ListedTool } from "../../../host-profiles/find-limits.ts";
import { oneLine } from "../../../terminal/terminal.ts";
import { packageVersion } from "../../../version.ts";

const PACKAGE = { name: "mcp-edge-openapi", megabytes: 5 };
/** The maximum time for an answer, in milliseconds, including the time to fetch the package. */
const ANSWER_MS_MAX = 180_000;
/** How long to wait for the remaining output of a process that has ended, in milliseconds. */
const LAST_WORDS_MS = 1_000;
/** The maximum memory of the process, in MiB. */
const MEMORY_MIB_MAX = 3_072;
/** The maximum number of characters of the error output that are kept. */
const SAID_CHARS_MAX = 10_000;
/** The maximum length of an error message, in characters. */
const ERROR_CHARS_MAX = 500;
/** The signals that end the command. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** The maximum size of an answer, in characters. */
const ANSWER_CHARS_MAX = 200_000_000;

/** An operation of the API as a tool. */
export interface OfferedTool {
  /** The method and path. */
  readonly id: string;
  /** The first tag, which names its file. */
  readonly tag: string;
  readonly tags: readonly string[];
  readonly method: string;
  readonly name: string;
  /** The size that the tool adds to the list of tools, in bytes. */
  readonly bytes: number;
  readonly listed: ListedTool;
  /** Whether calls require a secret of the server, because the API does not accept the token of a user. */
  readonly needsSecret: boolean;
}

/** The response to a request to read a description. */
export interface ReadAnswer {
  readonly title: string;
  readonly version: string;
  /** Files that the description refers to but that were not sent. */
  readonly missing: readonly string[];
  readonly servers: readonly string[];
  readonly tools: readonly OfferedTool[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
}

/** The hashes of generated files, by their paths. */
export type Records = Readonly<Record<string, object>>;

/** The files to write. */
export interface WriteAnswer {
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly records: Records;
  readonly conflicts: readonly {
    readonly path: string;
    readonly part: string;
    readonly kept: string;
    readonly offered: string;
  }[];
  readonly orphans: readonly string[];
  readonly secrets: readonly string[];
  /** The binding with which the operator can name another base URL. */
  readonly urlBinding: string;
  readonly functionName: string;
}

/** A running generator. */
export class Generator {
  readonly #child: ChildProcess;
  readonly #prepared: Prepared;
  readonly #lines: AsyncIterator<string>;
  readonly #timeMs: number;
  /** The end of the error output of the process or of npm. */
  #said = "";
  #isEnded = false;

  private constructor(child: ChildProcess, prepared: Prepared, timeMs: number) {
    this.#child = child;
    this.#timeMs = timeMs;
    this.#prepared = prepared;
    if (child.stdout === null) throw new Error("the process has no output");
    process.once("exit", this.#end);
    for (const name of SIGNALS) process.on(name, this.#interrupted);
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#said = `${this.#said}${text}`.slice(-SAID_CHARS_MAX);
    });
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** Starts the package, which is fetched if it is not installed. */
  static async start(isAgreed: boolean): Promise<Generator> {
    return Generator.run(await preparePackage(PACKAGE, [], isAgreed));
  }

  /** Starts a program. @param timeMs The maximum time for an answer, in milliseconds. */
  static run(prepared: Prepared, timeMs = ANSWER_MS_MAX): Generator {
    const { command, args, windowsVerbatimArguments = false } = prepared.program;
    const env = { ...(prepared.options.env ?? process.env), NODE_OPTIONS: `--max-old-space-size=${MEMORY_MIB_MAX}` };
    const stdio = ["pipe", "pipe", "pipe"] as const;
    // npx starts the package in another process. In a process group, both can be killed.
    const detached = process.platform !== "win32";
    const child = spawn(command, args, {
      ...prepared.options,
      env,
      windowsVerbatimArguments,
      detached,
      stdio: [...stdio],
    });
    // Both errors lead to a missing response, which is reported.
    child.once("error", () => undefined);
    child.stdin?.once("error", () => undefined);
    return new Generator(child, prepared, timeMs);
  }

  /** Reads a description. @throws {CliError} if it cannot be used. */
  read(request: object): Promise<ReadAnswer> {
    return this.#ask<ReadAnswer>({ type: "read", ...request });
  }

  /** Writes the files of the chosen operations. */
  write(request: object): Promise<WriteAnswer> {
    return this.#ask<WriteAnswer>({ type: "write", ...request });
  }

  /** Ends the process, and those that it has started. */
  stop(): void {
    process.off("exit", this.#end);
    for (const name of SIGNALS) process.off(name, this.#interrupted);
    this.#end();
    this.#prepared.remove();
  }

  readonly #end = (): void => {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { pid, stdin, stdout, stderr } = this.#child;
    stdin?.destroy();
    // Open pipes, which another process may still hold, would keep this process running.
    stdout?.destroy();
    stderr?.destroy();
    try {
      if (process.platform === "win32" || pid === undefined) endProgram(this.#child, "SIGKILL");
      else process.kill(-pid, "SIGKILL");
    } catch {
      // The group has ended.
    }
  };

  /** The group does not receive the signals of the terminal. */
  readonly #interrupted = (name: NodeJS.Signals): void => {
    this.stop();
    // While the user is asked, the question handles the signal.
    if (process.listenerCount(name) === 0) process.kill(process.pid, name);
  };

  /** Returns the error of a process that has ended without a response. Its last output may arrive after its end. */
  async #whyEnded(): Promise<CliError> {
    const { stderr } = this.#child;
    if (stderr !== null && !stderr.readableEnded && !stderr.destroyed)
      await new Promise((done) => {
        for (const event of ["end", "close", "error"]) stderr.once(event, done);
        setTimeout(done, LAST_WORDS_MS).unref();
      });
    return failed(describeEnd(this.#said));
  }

  async #ask<T>(request: object): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#end();
        reject(failed(`The package ${NAME} needs more than ${this.#timeMs / 1000} seconds.`));
      }, this.#timeMs);
    });
    try {
      this.#child.stdin?.write(`${JSON.stringify(request)}\n`);
      const { value, done = false } = await Promise.race([this.#lines.next(), late]);
      if (done || typeof value !== "string") throw await this.#whyEnded();
      if (value.length > ANSWER_CHARS_MAX)
        throw failed("The description has too many operations. Remove those that you do not need.");
      return readAnswer<T>(value);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** @throws {CliError} if the response is an error, or does not come from the package. */
function readAnswer<T>(line: string): T {
  let answer: { readonly type: string; readonly message?: string } & T;
  try {
    answer = JSON.parse(line) as typeof answer;
  } catch {
    throw failed(`The package ${NAME} could not be run: its answer cannot be read.`);
  }
  if (answer.type === "error")
    throw usageError(oneLine(answer.message ?? "The description cannot be used.", ERROR_CHARS_MAX));
  return answer;
}

/** The package with its version. */
const NAME = `${PACKAGE.name}@${packageVersion()}`;

/** Explains a missing response, from the output of the process or npm. */
function describeEnd(said: string): string {
  const code = /^npm (?:error|ERR!) code (\w{1,40})\s*$/m.exec(said)?.[1];
  if (code !== undefined) {
    const lines = [...said.matchAll(/^npm (?:error|ERR!) (.*)$/gm)].map(([, line = ""]) => line.trim());
    const number = code.replace(/^E(?=\d)/, "");
    const [why = ""] = lines
      .filter((line) => !/^(?:code|syscall|errno|path|dest)\b/.test(line))
      .map((line) => (line.startsWith(number) ? line.slice(number.length).trim() : line))
      .filter((line) => line !== "");
    return sentence(`npm could not install ${NAME}: ${code} ${oneLine(why, ERROR_CHARS_MAX)}`);
  }
  if (/heap out of memory|heap limit/i.test(said)) return `The description needs more than ${MEMORY_MIB_MAX} MiB.`;
  const last = said.trim().split("\n").at(-1) ?? "";
  return sentence(`The package ${NAME} could not be run${last === "" ? "" : `: ${oneLine(last, ERROR_CHARS_MAX)}`}`);
}

function sentence(text: string): string {
  return `${text.trim().replace(/\.$/, "")}.`;
}

function failed(why: string): CliError {
  return new CliError(Exit.serverError, `${why} Nothing was changed.`);
}
