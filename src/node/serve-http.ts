/**
 * Serves an MCP server over HTTP on Node, without Workers.
 *
 * @module
 */
import { checkNumber, checkOptions, type OptionTable, type Range } from "../core/protocol/check-options.ts";
import { listen } from "./http-server.ts";

/** An app that can be served: the app that `edge()` returns, or any other object with such a `fetch`. */
export interface FetchApp<Env> {
  /** Handles a request. With its third argument, work can continue after the response. */
  fetch(request: Request, env: Env, execution: HttpExecution): Response | Promise<Response>;
}

/** The part of a Worker's execution context that exists on Node. */
export interface HttpExecution {
  /** Registers work that continues after the response. `close()` waits for it. */
  waitUntil(work: Promise<unknown>): void;
  /** Does nothing on Node. On Workers, it forwards requests to the origin after an error. */
  passThroughOnException(): void;
  /** Always empty on Node. */
  readonly props: Readonly<Record<string, never>>;
}

/** Options of {@link serveHttp}. */
export interface ServeHttpOptions<Env> {
  /** The port; 0 chooses a free one. @default the environment variable PORT, or 8787 */
  readonly port?: number;
  /**
   * The address to listen on. With `0.0.0.0`, other machines can connect, which is necessary in a container. In that case, pass
   * `allowedHosts` to `edge()` or use a proxy that checks the Host header, and use a plugin that authenticates. @default 127.0.0.1
   */
  readonly hostname?: string;
  /** The value of `ctx.env` in handlers, instead of a Worker's bindings. @default process.env */
  readonly env?: Env;
  /** Receives the lines that are printed at startup. @default console.error */
  readonly log?: (line: string) => void;
}

/** A running server. */
export interface HttpServing extends AsyncDisposable {
  /** The origin, such as `http://127.0.0.1:8787`, without the path of the endpoint. */
  readonly origin: string;
  /** Closes all connections. Resolves when all work registered with `waitUntil` has finished. */
  close(): Promise<void>;
}

const PORT: Range = [0, 65_535];
const OPTIONS: OptionTable<ServeHttpOptions<unknown>> = { port: PORT, hostname: null, env: null, log: null };

/** Printed at startup: which features of Workers are missing on Node. */
const LACKS =
  "On Node there are no Durable Objects, so there are no sessions that survive a restart, no resumable streams, no tasks, no notifications to other processes, and no alarms. Bindings are the members of the option env or, by default, the environment variables. Clients of every protocol version can call tools, read resources and get prompts.";

/**
 * Serves the app of `edge()` over HTTP on Node, so that the same server also runs on a desktop or in a container. Prints its address,
 * and which features are missing on Node, to standard error.
 *
 * ```ts
 * import { edge } from "mcp-edge/worker";
 *
 * const serving = await serveHttp(edge(server), { port: 8787 });
 * console.log(`${serving.origin}/mcp`);
 * await serving.close();
 * ```
 *
 * Do not pass `edge()` a part that needs objects, such as `durable()`.
 *
 * The header `CF-Connecting-IP` of each request is set to the IP address of its connection, so that a caller cannot forge the address
 * used for rate limits and the audit log. Behind a proxy, it is the address of the proxy.
 *
 * @throws {KitError} `options-invalid` for an invalid port.
 * @throws {Error} if the port is in use, or the address does not belong to this machine.
 */
export async function serveHttp<Env>(app: FetchApp<Env>, options: ServeHttpOptions<Env> = {}): Promise<HttpServing> {
  checkOptions("serveHttp(): ", options, OPTIONS);
  const { port = readPort(process.env.PORT), hostname = "127.0.0.1", log = console.error } = options;
  checkNumber("serveHttp(): the variable PORT", port, PORT);
  const env = options.env ?? (process.env as Env);
  const pending = new Set<Promise<unknown>>();
  const execution: HttpExecution = {
    waitUntil(work) {
      const settled = Promise.resolve(work).catch((error) =>
        console.error("mcp-edge: work after a response failed:", error),
      );
      pending.add(settled);
      void settled.finally(() => pending.delete(settled));
    },
    passThroughOnException() {},
    props: {},
  };
  const { origin, close } = await listen((request) => app.fetch(request, env, execution), port, hostname);
  log(`Serving at ${origin}`);
  log(LACKS);
  const end = async () => {
    await close();
    await Promise.all(pending);
  };
  return { origin, close: end, [Symbol.asyncDispose]: end };
}

function readPort(text: string | undefined): number {
  return text === undefined || text === "" ? 8787 : Number(text);
}
