/**
 * Records the messages between a host and a stdio server. To the host, this process is the server.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Readable, Writable } from "node:stream";
import { RECORDER_PATH } from "../../../recorder/api.ts";
import { MessageConnection } from "../../../recorder/assemble/message-connection.ts";
import { endProgram, findProgram } from "../../program.ts";
import { createRoutes } from "../routes.ts";
import { readLines } from "./lines.ts";
import { type WireOptions, WireRecording } from "./recording.ts";

/** The command that starts a server. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
}

/** The streams of the host. */
export interface HostStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** A running recording. */
export interface StdioRecording {
  /** The URL of the page. */
  readonly page: string;
  /** Resolves with the exit code of the server when it has ended. Rejects if it cannot be started. */
  readonly ended: Promise<number>;
  /** Sends a signal to the server. */
  kill(signal: NodeJS.Signals): void;
  /** Ends the recording. Returns the number of entries if they were written to a file. */
  close(): number | undefined;
}

/** Starts a server, and forwards all bytes between it and the host. It inherits the standard error of this process. */
export async function recordStdio(
  server: ServerCommand,
  options: WireOptions,
  host: HostStreams,
): Promise<StdioRecording> {
  const recording = new WireRecording(options, "");
  const connection = new MessageConnection(recording.recorder);
  const { command, args, env, cwd } = server;
  for (const value of Object.values(env ?? {})) recording.recorder.redactor.secrets.add(value);
  const environment = { ...process.env, ...env };
  const program = findProgram(command, args, { cwd, env: environment });
  const child = spawn(program.command, program.args, {
    stdio: ["pipe", "pipe", "inherit"],
    env: environment,
    windowsVerbatimArguments: program.windowsVerbatimArguments,
    ...(cwd === undefined ? {} : { cwd }),
  });
  const ended = passOn(child, host, connection);
  const page = createServer(createRoutes(recording.routes(() => false)));
  const origin = await listen(page, options.port);
  return {
    page: origin + RECORDER_PATH,
    ended,
    kill: (signal) => endProgram(child, signal),
    close() {
      connection.end("cut-by-client", Date.now());
      page.close();
      page.closeAllConnections();
      return recording.end();
    },
  };
}

function listen(server: ReturnType<typeof createServer>, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      // The page must not keep the process running.
      server.unref();
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    });
  });
}

/** Forwards bytes in both directions, and reports the messages in them. Resolves with the exit code of the server. */
function passOn(child: ChildProcess, { input, output }: HostStreams, connection: MessageConnection): Promise<number> {
  const { stdin, stdout } = child;
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      connection.end("cut-by-server", Date.now());
      resolve(code ?? (signal ? 1 : 0));
    });
  });
  if (!stdin || !stdout) return ended;
  // A server that has exited no longer reads its input.
  stdin.on("error", () => undefined);
  input.on(
    "data",
    readLines((json, characters) => connection.fromClient(json, Date.now(), characters)),
  );
  stdout.on(
    "data",
    readLines((json, characters) => connection.fromServer(json, Date.now(), characters)),
  );
  input.pipe(stdin);
  stdout.pipe(output, { end: false });
  return ended;
}
