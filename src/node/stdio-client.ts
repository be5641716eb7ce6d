/**
 * The client side of the stdio transport: starts a server as a child process, and shuts it down as the specification requires.
 *
 * @module
 * @see MCP 2026-07-28, basic/transports/stdio
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { DEPTH_MAX } from "../client/transports/received.ts";
import { pause } from "../core/basics/pause.ts";
import { checkOptions, type OptionTable, SIZE, TIMER, TIMER_OR_ZERO } from "../core/protocol/check-options.ts";
import { KitError } from "../core/protocol/errors.ts";
import { isObject, type JSONRPCMessage } from "../core/protocol/jsonrpc.ts";
import { DEFAULT_LIMITS } from "../core/protocol/limits.ts";
import type { Transport, UnreadableMessage } from "../core/protocol/transport.ts";
import { toEnd } from "./last-output.ts";
import { endProgram, findProgram } from "./program.ts";
import { StdioServerTransport } from "./stdio-transport.ts";

/** Options of {@link stdio}. */
export interface StdioOptions {
  /** The program to start. It is looked up in PATH and started without a shell. */
  readonly command: string;
  /** Its arguments. @default [] */
  readonly args?: readonly string[];
  /**
   * Environment variables for the server. It inherits only variables that programs need to run, such as PATH and HOME, so that it does
   * not receive the client's secrets. Pass `process.env` to pass on all variables. A value of undefined removes a variable.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The working directory. @default the working directory of the client */
  readonly cwd?: string;
  /**
   * What to do with the standard error of the server: `inherit` prints it, `ignore` discards it, and a function receives it in pieces.
   * Servers write their logs there, so output does not indicate an error. @default inherit
   */
  readonly stderr?: "inherit" | "ignore" | ((text: string) => void);
  /**
   * How long the server may be silent while a request is open, in milliseconds. When this time expires, the connection is closed with
   * an error. Each message from the server restarts it. It does not run while the server itself waits for a response, and
   * `subscriptions/listen` does not count as an open request. 0 means no limit; the `timeoutMs` of requests still applies.
   * @default 0
   */
  readonly readTimeoutMs?: number;
  /**
   * How long to wait for the server to exit after its input was closed, and again after SIGTERM, in milliseconds. Then it is killed.
   * @default 2,000
   */
  readonly shutdownMs?: number;
  /** The maximum size of a message from the server, in bytes. @default 33,554,432 (32 MiB) */
  readonly messageBytesMax?: number;
}

const OPTIONS: OptionTable<StdioOptions> = {
  command: null,
  args: null,
  env: null,
  cwd: null,
  stderr: null,
  readTimeoutMs: TIMER_OR_ZERO,
  shutdownMs: TIMER,
  messageBytesMax: SIZE,
};

/** The maximum number of characters of the standard error that an error includes. */
const KEPT_CHARS = 1_000;
const SHUTDOWN_MS = 2_000;

/** Variables that programs need to run. None of them is a secret. */
const INHERITED = [
  ..."HOME LANG LC_ALL LOGNAME PATH SHELL TERM TMPDIR TZ USER".split(" "),
  ..."APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROCESSOR_ARCHITECTURE PROGRAMFILES".split(" "),
  ..."SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE WINDIR".split(" "),
];

/**
 * Returns a transport to a server that runs as a child process, for `connect` in `mcp-edge/client`.
 *
 * ```ts
 * import { connect } from "mcp-edge/client";
 *
 * const client = await connect(stdio({ command: "node", args: ["server.js"] }), { name: "my-app", version: "1.0.0" });
 * ```
 *
 * `connect` starts the process. `close()` ends it: it closes the input of the process, then sends SIGTERM, then SIGKILL.
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function stdio(options: StdioOptions): StdioClientTransport {
  return new StdioClientTransport(options);
}

/** The transport that {@link stdio} returns. */
export class StdioClientTransport implements Transport {
  readonly #options: StdioOptions;
  #child: ChildProcess | undefined;
  #lines: StdioServerTransport | undefined;
  #exited: Promise<unknown> = Promise.resolve();
  /** Resolves with the reason when the process has ended and all its output has been read. */
  #ended: Promise<Error> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  /** The ids of open requests to the server. */
  readonly #requests = new Set<unknown>();
  /** The ids of open requests to the client. */
  readonly #questions = new Set<unknown>();
  #isClosed = false;
  #lastOutput = "";
  /** Receives each message from the server. */
  onmessage: ((message: JSONRPCMessage) => void) | undefined;
  /** Called once, when the process has ended or the transport is closed. */
  onclose: (() => void) | undefined;
  /** Receives the errors of the process and of its streams. */
  onerror: ((error: Error) => void) | undefined;
  /** Receives a description of each line that is not a message. */
  onunreadable: ((error: UnreadableMessage) => void) | undefined;

  /** Use {@link stdio} to create a transport. */
  constructor(options: StdioOptions) {
    checkOptions("stdio(): ", options, OPTIONS);
    if (typeof options.command !== "string" || options.command === "") {
      throw new KitError("options-invalid", 'stdio(): command must be the program to start, such as "node".');
    }
    this.#options = options;
  }

  /** The process id; undefined before `start`, and if the process could not be started. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts the process. Rejects if the program does not exist. */
  async start(): Promise<void> {
    const { command, args = [], cwd, stderr = "inherit" } = this.#options;
    const env = this.#environment();
    const program = findProgram(command, args, { cwd, env });
    const child = spawn(program.command, program.args, {
      env,
      windowsVerbatimArguments: program.windowsVerbatimArguments,
      ...(cwd === undefined ? {} : { cwd }),
      stdio: "pipe",
      windowsHide: true,
    });
    this.#child = child;
    this.#exited = new Promise((resolve) => child.once("exit", resolve));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      // Included in the error if the process ends.
      this.#lastOutput = toEnd(this.#lastOutput + text, KEPT_CHARS);
      if (typeof stderr === "function") stderr(text);
      else if (stderr === "inherit") process.stderr.write(text);
    });
    this.#open(child.stdout as Readable, child.stdin as Writable);
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => {
        this.onerror?.(error);
        reject(error);
      });
    });
    this.#ended = new Promise((resolve) => {
      child.once("close", (code, signal) => resolve(this.#onExit(code, signal)));
    });
  }

  /** Sends a message. Rejects if the message is invalid or the process has ended. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#lines) throw new KitError("transport-closed", "stdio: the process is not running.");
    // While only subscriptions/listen is open, silence is normal.
    if (!("method" in message) || message.method !== "subscriptions/listen") {
      note(message, this.#requests, this.#questions);
      this.#restartSilenceTimer();
    }
    try {
      await this.#lines.send(message);
    } catch (error) {
      throw (await this.#endWithin(SHUTDOWN_MS)) ?? error;
    }
  }

  /** Stops reading the output of the process until `resume` is called, so that the process has to wait. */
  pause(): void {
    this.#lines?.pause();
  }

  /** Continues reading after `pause`. */
  resume(): void {
    this.#lines?.resume();
  }

  /** Returns a new transport that starts the same program again. */
  reopen(): StdioClientTransport {
    return new StdioClientTransport(this.#options);
  }

  /** Ends the process. Resolves when it has ended. */
  async close(): Promise<void> {
    this.#finish();
    const { shutdownMs = SHUTDOWN_MS } = this.#options;
    const child = this.#child;
    if (!child?.pid) return;
    child.stdin?.end();
    // If its output were not read, the server could not write its last messages and would not end.
    child.stdout?.resume();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.#hasExited(shutdownMs)) return;
      endProgram(child, signal);
    }
    await this.#exited;
  }

  #environment(): Record<string, string> {
    const inherited = INHERITED.map((name) => [name, process.env[name]]);
    const all: Record<string, string | undefined> = { ...Object.fromEntries(inherited), ...this.#options.env };
    return Object.fromEntries(
      Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
  }

  #open(input: Readable, output: Writable): void {
    const lines = new StdioServerTransport({ input, output });
    const { messageBytesMax = 32 * 1024 * 1024 } = this.#options;
    lines.limits = {
      ...DEFAULT_LIMITS,
      bodyBytesMax: messageBytesMax,
      bodyValuesMax: messageBytesMax,
      bodyDepthMax: DEPTH_MAX,
    };
    lines.onmessage = (message) => {
      // Some servers of 2025-03-26 send batches of responses.
      for (const each of [message].flat()) note(each, this.#questions, this.#requests);
      this.#restartSilenceTimer();
      this.onmessage?.(message);
    };
    lines.onerror = (error) => this.onerror?.(error);
    lines.onunreadable = (problem) => this.onunreadable?.(problem);
    void lines.start();
    this.#lines = lines;
  }

  /** Restarts the time limit for silence if the server has open requests. */
  #restartSilenceTimer(): void {
    const { readTimeoutMs = 0 } = this.#options;
    clearTimeout(this.#silence);
    if (readTimeoutMs === 0 || this.#requests.size === 0 || this.#questions.size > 0) return;
    this.#silence = setTimeout(() => {
      this.onerror?.(new KitError("timeout", `stdio: the server was silent for ${readTimeoutMs} ms (readTimeoutMs).`));
      void this.close();
    }, readTimeoutMs);
  }

  #onExit(code: number | null, signal: string | null): Error {
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    const output = this.#lastOutput.trim();
    const lastOutput = output === "" ? "" : ` Its last output on stderr: ${output}`;
    const reason = new Error(`The server process ended ${how}.${lastOutput}`);
    if (!this.#isClosed) this.onerror?.(reason);
    this.#finish();
    return reason;
  }

  /**
   * Waits for the process to end. When a process ends, its input is closed first, and sending a message fails; the reason returned here
   * has the exit code and the last output, which are more helpful. Returns undefined if the process does not end.
   */
  async #endWithin(ms: number): Promise<Error | undefined> {
    const timer = new AbortController();
    const reason = await Promise.race([this.#ended, pause(ms, timer.signal).then(() => undefined)]);
    timer.abort();
    return reason;
  }

  #finish(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#silence);
    // Without a listener, an error of the pipe that the server has closed would end this process.
    this.#child?.stdin?.on("error", () => undefined);
    void this.#lines?.close();
    this.#lines = undefined;
    this.onclose?.();
  }

  async #hasExited(ms: number): Promise<boolean> {
    const timer = new AbortController();
    const isExited = await Promise.race([this.#exited.then(() => true), pause(ms, timer.signal).then(() => false)]);
    timer.abort();
    return isExited;
  }
}

/**
 * Updates the open requests for a message: a request is added, and a response or a cancellation removes one.
 *
 * @param own The open requests of the sender.
 * @param others The open requests of the receiver.
 */
function note(message: unknown, own: Set<unknown>, others: Set<unknown>): void {
  if (!isObject(message)) return;
  const { id, method, params } = message;
  if (method === undefined) others.delete(id);
  else if (id !== undefined) own.add(id);
  else if (method === "notifications/cancelled" && isObject(params)) own.delete(params.requestId);
}
