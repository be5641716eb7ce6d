/**
 * Prepares a connection from the options of a command.
 *
 * @module
 */
import { ClientError, type ClientEvent, type ClientOptions, type Transport } from "../../client/index.ts";
import { isLoopback } from "../../http/origin.ts";
import { usageError, withMarks } from "../exit.ts";
import { isSecretName, keepSecret, redact, redactText } from "../terminal/redact.ts";
import { type Terminal, toJson } from "../terminal/terminal.ts";
import { packageVersion } from "../version.ts";
import { watchFetch, watchTransport } from "./debug.ts";
import type { ConnectionOptions } from "./options.ts";
import { RetryTimes } from "./retry-times.ts";
import type { ServerAddress } from "./server-address.ts";
import { ServerProcess } from "./server-process.ts";
import type { SignInRules } from "./sign-in.ts";

/** Added to the error about --env, because a tool may have an argument with that name. */
const ARGUMENT = "To pass an argument of that name to a tool, write --arg-env.";

/** The arguments of `connect()`, and what is known about the server. */
export interface Opened {
  readonly target: string | Transport;
  readonly transport: Transport | undefined;
  readonly options: ClientOptions;
  /** Aborts when notifications can no longer arrive, because the connection or their stream is permanently lost. */
  readonly lost: AbortSignal;
  /** Adds details to an error: the log of the server process, or when to try again. */
  explain(error: unknown): unknown;
  /** Returns the end of the log of a server process after a failed call; empty if there is none, or if the log was already shown. */
  logOfFailure(): Promise<string>;
}

/** Prepares a connection without opening it. Events are not shown after the signal has aborted. */
export async function openTarget(
  target: ServerAddress,
  options: ConnectionOptions,
  terminal: Terminal,
  rules: SignInRules,
): Promise<Opened> {
  const { as, timeout, debug } = options;
  const debugLog = debug ? (line: string) => terminal.note(line) : undefined;
  const lost = new AbortController();
  const common: ClientOptions = {
    name: "mcp-edge",
    version: packageVersion(),
    ...(as === undefined ? {} : { protocolVersions: [as] }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout, totalTimeoutMs: timeout }),
    onEvent: eventHook(terminal, debugLog, rules.signal, lost),
  };
  if (target.kind === "http") {
    if (options.env)
      throw usageError(`--env is only for servers that are started by a command; this server has a URL. ${ARGUMENT}`);
    const headers = { ...target.headers, ...readHeaders(options.header) };
    for (const value of Object.values(headers)) keepCredentials(value);
    const times = new RetryTimes(debugLog ? watchFetch(debugLog) : (url, init) => fetch(url, init));
    const auth = mayHoldTokens(target.url, headers)
      ? { auth: await openAuth(target.url, options, terminal, rules) }
      : {};
    const all = { ...common, headers, fetch: times.fetch, ...auth };
    const explain = (error: unknown) => times.explain(error);
    const logOfFailure = async () => "";
    return { target: target.url, transport: undefined, options: all, lost: lost.signal, explain, logOfFailure };
  }
  if (options.header) throw usageError("--header is only for servers with a URL; this server is started by a command.");
  const process = new ServerProcess(target, options, terminal);
  const { transport } = process;
  const watched = debugLog ? watchTransport(transport, debugLog) : transport;
  const explain = (error: unknown) => process.explain(error);
  const logOfFailure = () => process.logOfFailure();
  return { target: watched, transport, options: common, lost: lost.signal, explain, logOfFailure };
}

/**
 * Returns a function that shows the events of the client. A warning about a process that ended is shown only if the process was
 * started again. Otherwise the error that follows has the same text.
 */
function eventHook(
  terminal: Terminal,
  log: ((line: string) => void) | undefined,
  signal: AbortSignal,
  lost: AbortController,
): NonNullable<ClientOptions["onEvent"]> {
  let held: string[] = [];
  const warn = (text: string) => terminal.note(terminal.err.yellow(`Warning: ${withMarks(redactText(text))}`));
  return (event) => {
    // Ctrl-C also ends the server process, so its end is not reported.
    if (signal.aborted) return;
    if (event.type === "warning") {
      const mayEnd = log === undefined && event.message.startsWith("The transport reports:");
      if (mayEnd) held.push(event.message);
      else warn(event.message);
    } else if (event.type === "handler-failed")
      terminal.note(terminal.err.red(withMarks(redactText(`${event.handler}: ${event.error}`))));
    else log?.(`[client] ${toJson(redact(event))}`);
    if (isLoss(event)) lost.abort(event.error ?? new ClientError("closed", "The server has closed the connection."));
    if (event.type !== "reconnected") return;
    for (const text of held) warn(text);
    held = [];
  };
}

/** Whether notifications are permanently lost. If only the session is lost, the client opens the stream again in a new session. */
function isLoss(event: ClientEvent): event is Extract<ClientEvent, { type: "closed" | "stream-lost" }> {
  if (event.type === "closed") return true;
  return event.type === "stream-lost" && !(ClientError.is(event.error) && event.error.code === "session-lost");
}

/** Whether a sign-in is possible: the user has not given credentials, and the connection is encrypted or local. */
function mayHoldTokens(url: string, headers: Readonly<Record<string, string>>): boolean {
  const { protocol, hostname } = new URL(url);
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  return !isGiven && (protocol === "https:" || isLoopback(hostname));
}

async function openAuth(url: string, options: ConnectionOptions, terminal: Terminal, rules: SignInRules) {
  // Imported here, so that commands for local servers start faster.
  const { signInFor } = await import("./sign-in.ts");
  return signInFor(url, options, terminal, rules);
}

/** Registers the value of a header as a secret, with and without its scheme (such as `Bearer`), since a server may repeat either. */
export function keepCredentials(value: string): void {
  keepSecret(value);
  keepSecret(value.replace(/^\S+\s+/, ""));
}

/** @throws {CliError} if a header is not `Name: value`. */
export function readHeaders(lines: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", value = ""] = /^([!#$%&'*+.^_`|~\w-]+)\s*:\s*(.*)$/.exec(line) ?? [];
      if (name === "") throw usageError(`--header ${JSON.stringify(line)}: write it as "Name: value".`);
      return [name, value];
    }),
  );
}

/**
 * Refuses to send secrets over an unencrypted connection.
 *
 * @throws {CliError} naming the header.
 */
export function checkCredentials(target: ServerAddress, header: readonly string[] = []): void {
  if (target.kind !== "http") return;
  const { protocol, hostname } = new URL(target.url);
  if (protocol === "https:" || isLoopback(hostname)) return;
  const secret = Object.keys({ ...target.headers, ...readHeaders(header) }).find(isSecretName);
  if (secret === undefined) return;
  throw usageError(`The header ${secret} would be sent unencrypted (http:) to ${hostname}. Use https:.`);
}
