/**
 * The options of every command that talks to a server, and the connection they describe.
 *
 * @module
 */
import { type Client, type ClientOptions, connect, type Transport } from "../client/index.ts";
import { isLoopback } from "../http/origin.ts";
import { stdio } from "../node/index.ts";
import { watchFetch, watchTransport } from "./debug.ts";
import { CliError, Exit, Interrupted, usageError } from "./exit.ts";
import type { ConnectionOptions } from "./options.ts";
import { isSecretName } from "./redact.ts";
import type { SignInRules } from "./sign-in.ts";
import { nameOf, readTarget, type Target } from "./target.ts";
import { clean, createTerminal, type Terminal } from "./terminal.ts";
import { packageVersion } from "./version.ts";

/** What a command works with. */
export interface Session {
  readonly client: Client;
  readonly terminal: Terminal;
  /** Aborts on Ctrl-C, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
}

/** The numbers of the signals that end a command. */
const SIGNALS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;
/** How long a closing connection may take, in milliseconds. The server process of a pipe is ended within it. */
const CLOSE_MS = 6_000;

/**
 * Connects, runs a command, and closes the connection whatever happens.
 *
 * @param own Options of the client that the command adds, such as handlers.
 * @throws {Interrupted} after Ctrl-C; the connection is closed by then.
 */
export async function withClient(
  server: string,
  options: ConnectionOptions,
  own: (terminal: Terminal, signal: AbortSignal, server: string) => Partial<ClientOptions>,
  run: (session: Session) => Promise<number>,
): Promise<number> {
  const terminal = createTerminal();
  const target = await readTarget(server, options);
  checkCredentials(target, options.header);
  const interruption = listenForSignals();
  const { signal } = interruption;
  const opened = await openTarget(target, options, terminal, { signal, mayAsk: terminal.canAsk });
  let client: Client | undefined;
  try {
    const more = own(terminal, signal, nameOf(target));
    client = await untilInterrupted(connect(opened.target, { ...opened.options, ...more }), signal);
    return await untilInterrupted(run({ client, terminal, signal }), signal);
  } catch (error) {
    signal.throwIfAborted();
    throw opened.explain(error);
  } finally {
    terminal.status(undefined);
    await closeInTime(client, opened.transport);
    interruption.stop();
  }
}

/** A target in the form that `connect` takes. */
export interface Opened {
  readonly target: string | Transport;
  readonly transport: Transport | undefined;
  readonly options: ClientOptions;
  /** Adds what is known about the server's process to an error. */
  explain(error: unknown): unknown;
}

/** Prepares a connection; nothing is opened yet. Errors and events after the signal are not shown. */
export async function openTarget(
  target: Target,
  options: ConnectionOptions,
  terminal: Terminal,
  rules: SignInRules,
): Promise<Opened> {
  const { signal } = rules;
  const { as, timeout, debug } = options;
  const log = debug ? (line: string) => terminal.note(clean(line)) : undefined;
  const common: ClientOptions = {
    name: "mcp-edge",
    version: packageVersion(),
    ...(as === undefined ? {} : { protocolVersions: [as] }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout, totalTimeoutMs: timeout }),
    onEvent: (event) => {
      // A process that Ctrl-C has ended too is no news.
      if (signal.aborted) return;
      if (event.type === "warning") terminal.note(terminal.err.yellow(`Warning: ${clean(event.message)}`));
      else if (event.type === "handler-failed") terminal.note(terminal.err.red(`${event.handler}: ${event.error}`));
      else if (log) log(`[client] ${JSON.stringify(event)}`);
    },
  };
  if (target.kind === "http") {
    const headers = { ...target.headers, ...headersOf(options.header) };
    const fetch = log ? { fetch: watchFetch(log) } : {};
    const explain = (error: unknown) => error;
    const auth = mayHoldTokens(target.url, headers) ? { auth: await authOf(target.url, options, terminal, rules) } : {};
    return { target: target.url, transport: undefined, options: { ...common, headers, ...fetch, ...auth }, explain };
  }
  if (options.header) throw usageError("--header is for servers with a URL; this one is a command.");
  const output = new LastLines();
  const { command, args, env, cwd } = target;
  const transport: Transport = stdio({
    command,
    args,
    ...(env === undefined ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
    // The log of a server would mix with the output; it is shown if the server fails.
    stderr: options.debug ? "inherit" : (text) => output.add(text),
  });
  const explain = (error: unknown) => withOutput(error, output.text);
  return { target: log ? watchTransport(transport, log) : transport, transport, options: common, explain };
}

/** Whether a sign-in is possible: the user gives no credentials, and nobody on the way can read a token. */
function mayHoldTokens(url: string, headers: Readonly<Record<string, string>>): boolean {
  const { protocol, hostname } = new URL(url);
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  return !isGiven && (protocol === "https:" || isLoopback(hostname));
}

async function authOf(url: string, options: ConnectionOptions, terminal: Terminal, rules: SignInRules) {
  // Commands for local servers start without it.
  const { signInFor } = await import("./sign-in.ts");
  return signInFor(url, options, terminal, rules);
}

/** Adds the last lines of a server's log to the error that ended the connection. */
function withOutput(error: unknown, text: string): unknown {
  const isLost = error instanceof Error && /closed|started|unreachable/.test(error.message);
  if (!isLost || text === "") return error;
  return new CliError(Exit.connection, `${error.message}\nThe server's log ends with:\n${text}`);
}

/** The end of what a server wrote to standard error. */
class LastLines {
  text = "";

  add(text: string): void {
    this.text = (this.text + text).slice(-2_000);
  }
}

/** @throws {CliError} if a header is not `Name: value`. */
function headersOf(lines: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", value = ""] = /^([!#$%&'*+.^_`|~\w-]+)\s*:\s*(.*)$/.exec(line) ?? [];
      if (name === "") throw usageError(`--header ${JSON.stringify(line)}: write it as "Name: value".`);
      return [name, value];
    }),
  );
}

/**
 * Refuses to send secrets over a connection that anyone on the way can read.
 *
 * @throws {CliError} naming the header.
 */
export function checkCredentials(target: Target, header: readonly string[] = []): void {
  if (target.kind !== "http") return;
  const { protocol, hostname } = new URL(target.url);
  if (protocol === "https:" || isLoopback(hostname)) return;
  const secret = Object.keys({ ...target.headers, ...headersOf(header) }).find(isSecretName);
  if (secret === undefined) return;
  throw usageError(
    `The header ${secret} would be sent over http: to ${hostname}, readable for everyone on the way. Use https:.`,
  );
}

/** Aborts on the first signal. The second one ends the process at once. */
export function listenForSignals(): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const listeners = Object.entries(SIGNALS).map(([name, number]) => {
    const listener = () => {
      if (controller.signal.aborted) process.exit(128 + number);
      controller.abort(new Interrupted(number));
    };
    process.on(name, listener);
    return () => process.off(name, listener);
  });
  return {
    signal: controller.signal,
    stop: () => {
      for (const remove of listeners) remove();
    },
  };
}

/** Settles like the promise, or rejects when the signal aborts. A call that saw the signal first may end in its own way. */
export async function untilInterrupted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw signal.reason;
  let stop = () => {};
  const interrupted = new Promise<never>((_, reject) => {
    // The call gets a moment to tell the server.
    const listener = () => setTimeout(() => reject(signal.reason), 50);
    signal.addEventListener("abort", listener);
    stop = () => signal.removeEventListener("abort", listener);
  });
  try {
    return await Promise.race([promise, interrupted]);
  } finally {
    stop();
    promise.catch(() => undefined);
  }
}

/** Closes a client, or else the transport that it would have closed. Never rejects, and ends after a while. */
export async function closeInTime(client: Client | undefined, transport: Transport | undefined): Promise<void> {
  const closed = client ? client.close() : transport?.close();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, CLOSE_MS);
  });
  // The outcome of the command matters more than a failure while closing.
  await Promise.race([Promise.resolve(closed).catch(() => undefined), late]);
  clearTimeout(timer);
}
