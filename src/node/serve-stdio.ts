/**
 * Serves an MCP server over stdio, on Node.
 *
 * @module
 */
import { Writable } from "node:stream";
import { serveTransport } from "../core/connection/connection.ts";
import type { McpServer } from "../core/define/server.ts";
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import { failureLine } from "../core/protocol/error-reports.ts";
import { type Limits, resolveLimits } from "../core/protocol/limits.ts";
import { findFilesProblem } from "../files/add-files.ts";
import { DebugTransport } from "./debug-transport.ts";
import type { EnvOptions } from "./env-options.ts";
import { StdioServerTransport, type StdioTransportOptions } from "./stdio-transport.ts";

/** Options of {@link serveStdio}. */
export interface ServeStdioOptions<Env> extends Pick<StdioTransportOptions, "input" | "output"> {
  /**
   * The value of `ctx.env` in handlers, instead of a Worker's bindings. It is optional if handlers use only variables, not bindings
   * such as Durable Objects. @default process.env
   */
  readonly env?: Env;
  /** Limits that override the defaults. @default DEFAULT_LIMITS */
  readonly limits?: Partial<Limits>;
  /**
   * Whether a line of JSON is written to standard error for each message: direction, kind, era, method, tool or prompt, id, error
   * code, size and time, and never the contents. @default false
   */
  readonly debug?: boolean;
}

const OPTIONS: OptionTable<ServeStdioOptions<unknown>> = {
  input: null,
  output: null,
  env: null,
  limits: null,
  debug: null,
};

/**
 * Serves a server on standard input and output. Supports clients of both eras, and requests that are piped in by hand.
 *
 * Standard output must contain only messages. So until this function resolves, all other output of the program (`console.log`) is
 * redirected to standard error. Resolves when the input has ended and every request has been answered; the process can then exit by
 * itself.
 *
 * @see MCP 2026-07-28, basic/transports/stdio
 */
export async function serveStdio<Env>(
  server: McpServer<Env>,
  ...[options = {}]: EnvOptions<Env, ServeStdioOptions<Env>>
): Promise<void> {
  checkOptions("serveStdio(): ", options, OPTIONS);
  const { env = process.env as Env, input } = options;
  const limits = resolveLimits(options.limits, "serveStdio(): limits.");
  const problem = findFilesProblem(server);
  if (problem !== undefined) console.error(`mcp-edge: ${problem}`);
  const { messages, giveBack } = options.output ? { messages: options.output, giveBack: undefined } : takeStdout();
  try {
    const transport = new StdioServerTransport({ output: messages, ...(input ? { input } : {}) });
    const carried = options.debug ? new DebugTransport(transport, (line) => console.error(line)) : transport;
    const connection = await serveTransport(server, carried, { env, onError: logError, limits });
    await transport.ended;
    await connection.idle();
    await connection.close();
  } finally {
    giveBack?.();
  }
}

/** Reserves standard output for messages. Other output is redirected to standard error until `giveBack` is called. */
function takeStdout(): { readonly messages: Writable; giveBack(): void } {
  const { stdout, stderr } = process;
  const { write } = stdout;
  const ownWrite = write.bind(stdout);
  const messages = new Writable({ write: (chunk: Buffer, _, done) => void ownWrite(chunk, done) });
  const fail = (error: Error) => messages.destroy(error);
  stdout.on("error", fail);
  stdout.write = stderr.write.bind(stderr) as typeof write;
  const giveBack = () => {
    stdout.write = write;
    // A failed stream may emit "error" after its writers were notified. Without a listener, the event would end the process.
    if (!stdout.errored) stdout.off("error", fail);
  };
  return { messages, giveBack };
}

const logError: ErrorReporter = (error, where) => {
  console.error(failureLine(where), error);
};
