/**
 * Serves an MCP server over HTTP on Node, without Workers.
 *
 * @module
 */
import { checkNumber, checkOptions, type OptionTable, type Range } from "../core/protocol/check-options.ts";
import { listen } from "./http-server.ts";

/** What is served: the app that `edge()` returns, or any other object with such a `fetch`. */
export interface FetchApp<Env> {
  /** Answers a request. Its third argument keeps work alive that outlasts the response. */
  fetch(request: Request, env: Env, execution: HttpExecution): Response | Promise<Response>;
}

/** The part of a Worker's execution context that exists on Node. */
export interface HttpExecution {
  /** Keeps track of work that outlasts the response. `close()` waits for it. */
  waitUntil(work: Promise<unknown>): void;
  /** Does nothing here; on Workers it passes a request on after an error. */
  passThroughOnException(): void;
  /** Empty. */
  readonly props: Readonly<Record<string, never>>;
}

/** Options of {@link serveHttp}. */
export interface ServeHttpOptions<Env> {
  /** The port; 0 for any free one. @default the variable PORT, or 8787 */
  readonly port?: number;
  /**
   * The address to listen at. `0.0.0.0` is reached from other machines, as a container needs it: then pass `allowedHosts`
   * to `edge()`, or put a proxy in front that checks the Host header, and use a plugin that authenticates. @default 127.0.0.1
   */
  readonly hostname?: string;
  /** The value that handlers see as `ctx.env`, in place of a Worker's bindings. @default process.env */
  readonly env?: Env;
  /** Receives the lines that are printed at the start. @default console.error */
  readonly log?: (line: string) => void;
}

/** A server that listens. */
export interface HttpServing extends AsyncDisposable {
  /** The address, such as `http://127.0.0.1:8787`. The path of the endpoint is not part of it. */
  readonly origin: string;
  /** Cuts all connections, and resolves when the work of `waitUntil` has ended. */
  close(): Promise<void>;
}

const PORT: Range = [0, 65_535];
const OPTIONS: OptionTable<ServeHttpOptions<unknown>> = { port: PORT, hostname: null, env: null, log: null };

/** What Workers have and a process of Node does not. */
const LACKS =
  "On Node there are no Durable Objects, so there are no sessions that survive a restart, no streams that can be resumed, no tasks, no notifications to other processes, and no alarms. Bindings are what the option env holds, or else the variables of the process. Clients of every version can call tools, read resources and get prompts.";

/**
 * Serves the app of `edge()` over HTTP on Node, so that the file with your tools also runs on a desktop and in a container.
 * Prints its address, and what this mode lacks, to standard error.
 *
 * ```ts
 * import { edge } from "mcp-edge/worker";
 *
 * const serving = await serveHttp(edge(server), { port: 8787 });
 * console.log(`${serving.origin}/mcp`);
 * await serving.close();
 * ```
 *
 * Pass `edge()` no part that needs objects, such as `durable()`.
 *
 * The header `CF-Connecting-IP` of each request is replaced by the address of its connection, so that no caller can choose the
 * address by which it is counted and recorded. Behind a proxy, that is the address of the proxy.
 *
 * @throws {KitError} `options-invalid` for a port that is none.
 * @throws {Error} if the port is taken, or the address is not one of this machine.
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
