/**
 * `mcp-edge expose`: serves a local stdio server over HTTP on this machine.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { connect } from "../../../client/index.ts";
import { type Listening, listen } from "../../../node/http-server.ts";
import { CliError, Exit, usageError } from "../../exit.ts";
import type { ConnectToServer } from "../../relay/relay.ts";
import { useOpened } from "../../server/connection.ts";
import { openTarget } from "../../server/open-target.ts";
import { findName, readTarget } from "../../server/target.ts";
import { printJson } from "../../terminal/show.ts";
import { listenForSignals } from "../../terminal/signals.ts";
import { createTerminal, oneLine } from "../../terminal/terminal.ts";
import { Gateway } from "./gateway.ts";
import type { ExposeOptions } from "./options.ts";

const PATH = "/mcp";
/** The minimum length of a token. A shorter one could be guessed. */
const TOKEN_LENGTH_MIN = 16;

/** Runs the command until a signal ends it. Returns the exit code. */
export async function expose(server: string, options: ExposeOptions): Promise<number> {
  const terminal = createTerminal();
  const token = options.token ? chooseToken() : undefined;
  const target = await readTarget(server, options);
  const interruption = listenForSignals();
  const { signal } = interruption;
  const prepare = () => openTarget(target, options, terminal, { signal, mayAsk: false });
  const open: ConnectToServer = async (more) => {
    const opened = await prepare();
    return connect(opened.target, { ...opened.options, ...more });
  };
  // A server that does not start is reported here, not only to clients.
  terminal.status("Starting the server");
  await useOpened(await prepare(), {}, signal, () => undefined).finally(() => terminal.status(undefined));
  const log = (text: string) => terminal.note(terminal.err.dim(oneLine(text, 500)));
  const gateway = new Gateway({ connect: open, path: PATH, token, log });
  const listening = await start(gateway, options.port);
  const url = listening.origin + PATH;
  if (options.json) printJson(terminal, { url, ...(token === undefined ? {} : { token }) });
  else {
    terminal.print(url);
    if (token !== undefined) terminal.print(`Authorization: Bearer ${token}`);
  }
  terminal.note(terminal.err.dim(`Serving ${oneLine(findName(target), 200)}. Ctrl-C ends.`));
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  await gateway.close();
  await listening.close();
  interruption.stop();
  return Exit.ok;
}

/**
 * Returns the token that clients must send. It is read from an environment variable, because other users of the machine can see the
 * arguments of a process.
 *
 * @throws {CliError} if the value of the variable is too short, or cannot be sent in a header.
 */
function chooseToken(): string {
  // White space around the value of a header is not part of it.
  const given = process.env.MCP_EDGE_TOKEN?.trim();
  if (given === undefined) return randomBytes(24).toString("base64url");
  const advice = "Choose another token, unset the variable to get a new one, or write --no-token.";
  if (given.length < TOKEN_LENGTH_MIN)
    throw usageError(`MCP_EDGE_TOKEN has fewer than ${TOKEN_LENGTH_MIN} characters. ${advice}`);
  if (/^[\x21-\x7e]+$/.test(given)) return given;
  throw usageError(`MCP_EDGE_TOKEN has spaces or non-ASCII characters, which a header cannot contain. ${advice}`);
}

async function start(gateway: Gateway, port: number): Promise<Listening> {
  try {
    return await listen((request) => gateway.handle(request), port);
  } catch (error) {
    throw new CliError(Exit.connection, `Port ${port} cannot be used: ${(error as Error).message}`);
  }
}
