/**
 * The connection of a command: opens it, runs the command, and closes it in any case.
 *
 * @module
 */
import { type Client, type ClientOptions, connect, type Transport } from "../../client/index.ts";
import { pause } from "../../core/basics/pause.ts";
import { listenForSignals, untilInterrupted } from "../terminal/signals.ts";
import { createTerminal, type Terminal } from "../terminal/terminal.ts";
import { checkCredentials, type Opened, openTarget } from "./open-target.ts";
import type { ConnectionOptions } from "./options.ts";
import type { ServerAddress } from "./server-address.ts";
import { findName, readTarget } from "./target.ts";

/** A running command's connection, terminal and signals. */
export interface CommandSession {
  readonly client: Client;
  readonly target: ServerAddress;
  readonly terminal: Terminal;
  /** Aborts on Ctrl-C, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  /** Aborts when notifications can no longer arrive, because the connection or their stream is permanently lost. */
  readonly lost: AbortSignal;
  /** Keeps the connection open for the remaining work of a failed command, such as a cancellation, for at most a few seconds. */
  beforeClose(work: Promise<unknown>): void;
  /** Returns the end of the log of a server process after a failed call; empty if there is none, or if the log was already shown. */
  logOfFailure(): Promise<string>;
}

/** How long closing the connection may take, in milliseconds: long enough to end a server process. */
const CLOSE_MS = 6_000;
/** How long the remaining work before closing may take, in milliseconds. */
const LAST_WORK_MS = 5_000;

/** The client options of commands that do not handle questions or log messages. */
export const noHandlers = (): Partial<ClientOptions> => ({});

/**
 * Connects, runs a command, and closes the connection in any case.
 *
 * @param own Returns the client options that the command adds, such as handlers.
 * @throws {InterruptedError} after Ctrl-C, once the connection is closed.
 */
export async function withClient(
  server: string,
  options: ConnectionOptions,
  own: (terminal: Terminal, signal: AbortSignal, server: string) => Partial<ClientOptions>,
  run: (session: CommandSession) => Promise<number>,
): Promise<number> {
  const terminal = createTerminal();
  const target = await readTarget(server, options);
  checkCredentials(target, options.header);
  const interruption = listenForSignals();
  const { signal } = interruption;
  const opened = await openTarget(target, options, terminal, { signal, mayAsk: terminal.canAsk });
  const work: Promise<unknown>[] = [];
  const beforeClose = (each: Promise<unknown>) => void work.push(each);
  try {
    return await useOpened(opened, own(terminal, signal, findName(target)), signal, async (client) => {
      try {
        return await untilInterrupted(
          run({ client, target, terminal, signal, lost: opened.lost, beforeClose, logOfFailure: opened.logOfFailure }),
          signal,
        );
      } finally {
        terminal.status(undefined);
        await withinMs(LAST_WORK_MS, allSettled(work));
      }
    });
  } finally {
    interruption.stop();
  }
}

/**
 * Connects to a server, passes the client to a function, and closes the connection in any case.
 *
 * @param more Additional options of the client.
 */
export async function useOpened<T>(
  opened: Opened,
  more: Partial<ClientOptions>,
  signal: AbortSignal,
  use: (client: Client) => T | Promise<T>,
): Promise<T> {
  let client: Client | undefined;
  try {
    client = await untilInterrupted(connect(opened.target, { ...opened.options, ...more }), signal);
    return await use(client);
  } catch (error) {
    signal.throwIfAborted();
    throw opened.explain(error);
  } finally {
    await closeInTime(client, opened.transport);
  }
}

/** Closes a client, or the transport if there is no client. Never rejects, and waits for a few seconds at most. */
export async function closeInTime(client: Client | undefined, transport: Transport | undefined): Promise<void> {
  // A failure to close must not hide the outcome of the command.
  await withinMs(CLOSE_MS, Promise.resolve(client ? client.close() : transport?.close()));
}

/** Waits until all work has settled, including work that is added meanwhile. */
async function allSettled(work: readonly Promise<unknown>[]): Promise<void> {
  for (let known = -1; known < work.length; ) {
    known = work.length;
    await Promise.allSettled(work);
  }
}

/** Waits until work has settled, for at most `ms` milliseconds. */
export async function withinMs(ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([work.catch(() => undefined), pause(ms, timer.signal)]);
  timer.abort();
}
