/**
 * The Node shim: the same server over stdio.
 *
 * @module
 */
import { Writable } from "node:stream";
import { connect } from "../core/connection.ts";
import type { ErrorReporter } from "../core/context.ts";
import type { Limits } from "../core/limits.ts";
import type { McpServer } from "../core/server.ts";
import { StdioServerTransport, type StdioTransportOptions } from "./stdio-transport.ts";

export interface ServeStdioOptions<Env> extends Omit<StdioTransportOptions, "lineBytesMax"> {
  /** What handlers see as `ctx.env`, in place of a Worker's bindings. @default process.env */
  readonly env?: Env;
  readonly limits?: Partial<Limits>;
}

/**
 * Serves a server on standard input and output, to clients of both eras and to requests piped in by hand.
 *
 * While it serves, whatever else the program writes to standard output (`console.log`) goes to standard error: only
 * messages may travel there. Resolves when the input has ended and every request read from it is answered; the
 * process then ends by itself.
 *
 * @see MCP 2026-07-28, basic/transports/stdio
 */
export async function serveStdio<Env>(server: McpServer<Env>, options: ServeStdioOptions<Env> = {}): Promise<void> {
  const { env = process.env as Env, limits } = options;
  const output = options.output ?? keepForMessages();
  const transport = new StdioServerTransport({
    output,
    ...(options.input ? { input: options.input } : {}),
    ...(limits?.bodyBytesMax === undefined ? {} : { lineBytesMax: limits.bodyBytesMax }),
  });
  const connection = await connect(server, transport, { env, onError: logError, ...(limits ? { limits } : {}) });
  await transport.ended;
  await connection.idle();
  await connection.close();
}

/** Standard output for messages alone: other writers are sent to standard error from here on. */
function keepForMessages(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  const messages = new Writable({ write: (chunk: Buffer, _, done) => void write(chunk, done) });
  stdout.on("error", (error) => messages.destroy(error));
  stdout.write = stderr.write.bind(stderr) as typeof write;
  return messages;
}

const logError: ErrorReporter = (error, where) => {
  console.error(
    `mcp-edge: ${where.method}${where.tool ? ` ${where.tool}` : ""} failed (${where.correlationId})`,
    error,
  );
};
