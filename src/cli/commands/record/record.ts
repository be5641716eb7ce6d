/**
 * `mcp-edge record`: records what passes between clients and any server.
 *
 * @module
 */
import { recordHttp } from "../../../node/record/wire/record-http.ts";
import { recordStdio } from "../../../node/record/wire/record-stdio.ts";
import type { WireOptions } from "../../../node/record/wire/recording.ts";
import { CliError, Exit } from "../../exit.ts";
import { readHeaders } from "../../server/open-target.ts";
import type { ServerAddress } from "../../server/server-address.ts";
import { readVariables } from "../../server/server-process.ts";
import { findName, readTarget } from "../../server/target.ts";
import { listenForSignals } from "../../terminal/signals.ts";
import { counted, createTerminal, oneLine, type Terminal } from "../../terminal/terminal.ts";
import type { RecordOptions } from "./options.ts";

/** Runs the command until a signal or the end of the server ends it, and returns the exit code. */
export async function record(server: string, options: RecordOptions): Promise<number> {
  const terminal = createTerminal();
  const target = await readTarget(server, options);
  const wire: WireOptions = {
    port: options.port,
    contents: options.contents === true,
    out: options.out,
    // Over stdio, the standard output belongs to the host.
    print: target.kind === "http" ? (line) => terminal.print(line) : (line) => terminal.note(line),
  };
  return target.kind === "http"
    ? recordUrl(target, options, wire, terminal)
    : recordCommand(target, options, wire, terminal);
}

async function recordUrl(
  target: ServerAddress & { readonly kind: "http" },
  options: RecordOptions,
  wire: WireOptions,
  terminal: Terminal,
): Promise<number> {
  const headers = { ...target.headers, ...readHeaders(options.header) };
  const interruption = listenForSignals();
  const recording = await recordHttp(target.url, wire, headers).catch((error: Error) => {
    throw new CliError(Exit.connection, `Port ${wire.port} cannot be used: ${error.message}`);
  });
  terminal.print(recording.url);
  terminal.note(terminal.err.dim(`Recording ${oneLine(findName(target), 200)}. Page: ${recording.page} Ctrl-C ends.`));
  await new Promise<void>((resolve) => interruption.signal.addEventListener("abort", () => resolve(), { once: true }));
  sayWritten(await recording.close(), options, terminal);
  interruption.stop();
  return Exit.ok;
}

async function recordCommand(
  target: ServerAddress & { readonly kind: "stdio" },
  options: RecordOptions,
  wire: WireOptions,
  terminal: Terminal,
): Promise<number> {
  const command = { ...target, env: { ...target.env, ...readVariables(options.env) } };
  const host = { input: process.stdin, output: process.stdout };
  const recording = await recordStdio(command, wire, host).catch((error: Error) => {
    throw new CliError(Exit.connection, `The server cannot be recorded: ${error.message}`);
  });
  terminal.note(terminal.err.dim(`Recording ${oneLine(findName(target), 200)}. Page: ${recording.page}`));
  const forward = (signal: NodeJS.Signals) => recording.kill(signal);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, forward);
  const code = await recording.ended.catch((error: Error) => {
    throw new CliError(
      Exit.connection,
      `The command ${JSON.stringify(oneLine(target.command, 200))} could not be started: ${error.message}`,
    );
  });
  sayWritten(recording.close(), options, terminal);
  return code;
}

function sayWritten(written: number | undefined, { out }: RecordOptions, terminal: Terminal): void {
  if (written !== undefined)
    terminal.note(
      terminal.err.dim(`${counted(written, "entry").replace(/entrys$/, "entries")} in ${oneLine(out ?? "", 300)}`),
    );
}
