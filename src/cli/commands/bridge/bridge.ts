/**
 * `mcp-edge bridge`: serves a host over stdio, and forwards its requests to a server.
 *
 * @module
 */
import { setTimeout } from "node:timers/promises";
import { connect } from "../../../client/index.ts";
import { StdioServerTransport } from "../../../node/index.ts";
import { Exit } from "../../exit.ts";
import { hold } from "../../relay/back-pressure.ts";
import { HostConnection, type OpenHeld } from "../../relay/host-connection.ts";
import { whileRead } from "../../relay/host-output.ts";
import { checkCredentials, openTarget } from "../../server/open-target.ts";
import type { ConnectionOptions } from "../../server/options.ts";
import { findName, readTarget } from "../../server/target.ts";
import { redactText } from "../../terminal/redact.ts";
import { createTerminal, oneLine } from "../../terminal/terminal.ts";

/** How long open requests may take after the host has closed the input, in milliseconds. */
const IDLE_MS = 5_000;
/** How long closing may take, in milliseconds: long enough to end a server process. */
const CLOSE_MS = 6_000;
/** The maximum number of characters of a line on standard error. */
const NOTE_CHARS_MAX = 1_000;

/** Runs the command until the host closes the input. Returns the exit code. */
export async function bridge(server: string, options: ConnectionOptions): Promise<number> {
  const terminal = createTerminal();
  const target = await readTarget(server, options);
  checkCredentials(target, options.header);
  const ending = new AbortController();
  const stdio = new StdioServerTransport();
  const note = whileRead(process.stderr, (text) => {
    terminal.note(`mcp-edge bridge: ${oneLine(redactText(text), NOTE_CHARS_MAX)}`);
  });
  const open: OpenHeld = (gate) => async (more) => {
    // Each connection starts a new process.
    const opened = await openTarget(target, options, terminal, { signal: ending.signal, mayAsk: true });
    const held = hold(opened, gate);
    const { protocolVersions } = held.options;
    return connect(held.target, { ...held.options, ...more, ...(protocolVersions ? { protocolVersions } : {}) });
  };
  const host = new HostConnection(stdio, open, note);
  await stdio.start();
  if (options.debug) note(`forwards to ${findName(target)}`);
  const signalled = untilSignal();
  await Promise.race([stdio.ended, signalled]);
  // No one is waiting for a sign-in now.
  ending.abort();
  await Promise.race([host.idle(), signalled, setTimeout(IDLE_MS)]);
  await Promise.race([host.close(), setTimeout(CLOSE_MS)]);
  return Exit.ok;
}

function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
  });
}
