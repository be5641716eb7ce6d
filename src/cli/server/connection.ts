/**
 * The connection of a command: it is opened, used, and closed whatever happens.
 *
 * @module
 */
import { type Client, type ClientOptions, connect, type Transport } from "../../client/index.ts";
import { pause } from "../../core/basics/pause.ts";
import { listenForSignals, untilInterrupted } from "../terminal/signals.ts";
import { createTerminal, type Terminal } from "../terminal/terminal.ts";
import { checkCredentials, type Opened, openTarget } from "./open-target.ts";
import type { ConnectionOptions } from "./options.ts";
import { findName, readTarget } from "./target.ts";

/** The connection that a command uses, and its terminal and signals. */
export interface CommandSession {
  readonly client: Client;
  readonly terminal: Terminal;
  /** Aborts on Ctrl-C, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  /** Aborts when notifications no longer arrive, because the connection or their stream is lost for good. */
  readonly lost: AbortSignal;
  /** Keeps the connection open for work that a failed command leaves, such as a cancellation, for a few seconds at most. */
  beforeClose(work: Promise<unknown>): void;
  /** The end of the log of a server that is a process, unless it was shown; otherwise empty. */
  readonly log: () => string;
}

/** How long a closing connection may take, in milliseconds. The server process of a pipe is ended within it. */
const CLOSE_MS = 6_000;
/** How long the work before it may take, in milliseconds. */
const LAST_WORK_MS = 5_000;

/** For commands in whose course no server asks or logs anything. */
export const noHandlers = (): Partial<ClientOptions> => ({});

/**
 * Connects, runs a command, and closes the connection whatever happens.
 *
 * @param own Options of the client that the command adds, such as handlers.
 * @throws {InterruptedError} after Ctrl-C; the connection is closed by then.
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
          run({ client, terminal, signal, lost: opened.lost, beforeClose, log: opened.log }),
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
 * Connects to a target, passes the client to a function, and closes the connection whatever happens.
 *
 * @param more Options of the client.
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

/** Closes a client, or else the transport that it would have closed. Never rejects, and ends after a while. */
export async function closeInTime(client: Client | undefined, transport: Transport | undefined): Promise<void> {
  // The outcome of the command matters more than a failure while closing.
  await withinMs(CLOSE_MS, Promise.resolve(client ? client.close() : transport?.close()));
}

/** Waits until all work has settled, including what was added meanwhile. */
async function allSettled(work: readonly Promise<unknown>[]): Promise<void> {
  for (let known = -1; known < work.length; ) {
    known = work.length;
    await Promise.allSettled(work);
  }
}

/** Waits until work has settled, but no longer than this. */
export async function withinMs(ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([work.catch(() => undefined), pause(ms, timer.signal)]);
  timer.abort();
}
