/**
 * A route that says whether the Worker runs and, to operators, what its isolate is doing.
 *
 * @module
 */
import { encodeText, toHex } from "../../core/basics/bytes.ts";
import { printable } from "../../core/basics/quote.ts";
import type { RequestEnd } from "../../core/define/hook-types.ts";
import { type McpServer, REGISTRY } from "../../core/define/server.ts";
import { checkOptions, checkPath, type OptionTable } from "../../core/protocol/check-options.ts";
import { KitError } from "../../core/protocol/errors.ts";
import { definePlugin } from "../contributions.ts";
import type { Contribution, Plugin } from "../plugin.ts";

/** Options of {@link health}. */
export interface HealthOptions<Env> {
  /** The path of the route. @default "/healthz" */
  readonly path?: string;
  /**
   * The server whose name, version and protocol versions everyone may read.
   *
   * @default the response contains only the status
   */
  readonly server?: McpServer<Env>;
  /**
   * The name of a secret of the Worker. A request with `Authorization: Bearer` and this secret also receives the state of
   * the isolate that serves it: requests in progress and the last failure. An isolate does not know the state of others, nor
   * of the objects in other isolates.
   *
   * @default the state is not shown
   */
  readonly token?: string;
}

/** The JSON of the response. */
export interface HealthReport {
  /** Always `ok`: a Worker that does not run sends another response or none. */
  readonly status: "ok";
  /** The name of the server. */
  readonly name?: string;
  /** The version of the server. */
  readonly version?: string;
  /** The protocol versions that the server speaks, the newest first. */
  readonly protocolVersions?: readonly string[];
  /** What the isolate is doing. Only for requests with the token. */
  readonly isolate?: IsolateState;
}

/** The state of an isolate. */
export interface IsolateState {
  /** The number of requests whose handlers run. */
  readonly inFlight: number;
  /** The number of requests that have ended since the isolate started. */
  readonly ended: number;
  /** The number of requests among them that ended with an error or were cancelled. */
  readonly failed: number;
  /** The last request that ended with an error. */
  readonly lastError?: LastError;
  /** The last request that was refused before a handler ran. */
  readonly lastRefusal?: LastRefusal;
}

/** A request that ended with an error. */
export interface LastError {
  /** When it ended, as an ISO 8601 timestamp. */
  readonly at: string;
  /** Its method. */
  readonly method: string;
  /** The tool that it called. */
  readonly tool?: string;
  /** The code of the JSON-RPC error. Absent for a tool result with `isError`. */
  readonly errorCode?: number;
}

/** A request that was refused. */
export interface LastRefusal {
  /** When it was refused, as an ISO 8601 timestamp. */
  readonly at: string;
  /** The reason, such as `unauthorized`. */
  readonly reason: string;
  /** The HTTP status. */
  readonly status: number;
}

const OPTIONS: OptionTable<HealthOptions<never>> = { path: null, server: null, token: null };

/**
 * Adds a route that responds with 200 while the Worker runs, as a plugin of `edge()`. It does not call objects, does not need a
 * caller that is authenticated, and does not check the configuration. By default it reveals only the status.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * export default edge(server, { use: [health({ server, token: "HEALTH_TOKEN" })] });
 * ```
 */
export function health<Env = unknown>(options: HealthOptions<Env> = {}): Plugin<Env> {
  checkOptions("health(): ", options, OPTIONS);
  const { path = "/healthz", server, token } = options;
  checkPath("health(): path", path);
  if (/[*:?#{}]/.test(path))
    throw new KitError("options-invalid", `health(): path is ${path}; write a path without *, :, ?, #, { and }.`);
  const about = server ? describe(server) : {};
  return definePlugin<Env>({
    name: "health()",
    attach: (endpoint) => {
      if (withoutSlash(endpoint.path) === withoutSlash(path)) {
        throw new KitError(
          "options-invalid",
          `health(): path is ${path}, the path of the endpoint. Write another path.`,
        );
      }
      const isolate = new Isolate();
      const mount: Contribution<Env>["mount"] = (app) => {
        app.get(path, async ({ env, req }) => {
          const isKnown = token !== undefined && (await isRight(req.header("Authorization"), env, token));
          const report: HealthReport = { status: "ok", ...about, ...(isKnown ? { isolate: isolate.read() } : {}) };
          return Response.json(report, { headers: { "Cache-Control": "no-store" } });
        });
      };
      return token === undefined ? { mount } : { mount, ...isolate.hooks };
    },
  });
}

function withoutSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}

function describe<Env>(server: McpServer<Env>): Omit<HealthReport, "status" | "isolate"> {
  const { options, versions } = server[REGISTRY];
  const protocolVersions = [...versions.modern, ...versions.legacy].map(({ version }) => version);
  return { name: options.name, version: options.version, protocolVersions };
}

/** Whether a request has the secret. Hashes are compared, so that the time does not reveal how much of it is right. */
async function isRight(header: string | undefined, env: unknown, token: string): Promise<boolean> {
  const secret = (env as Record<string, unknown> | undefined)?.[token];
  if (typeof secret !== "string" || secret === "" || header === undefined) return false;
  // The scheme is case-insensitive (RFC 9110, 11.1).
  const [given, right] = await Promise.all([header.replace(/^bearer /i, "Bearer "), `Bearer ${secret}`].map(hash));
  return given === right;
}

async function hash(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", encodeText(text))));
}

/** Counts the requests of an isolate. */
class Isolate {
  #inFlight = 0;
  #ended = 0;
  #failed = 0;
  #lastError: LastError | undefined;
  #lastRefusal: LastRefusal | undefined;

  readonly hooks: Pick<Contribution, "around" | "onRequestEnd" | "onRefused"> = {
    around: async (_, next) => {
      this.#inFlight += 1;
      try {
        return await next();
      } finally {
        this.#inFlight -= 1;
      }
    },
    onRequestEnd: (end) => this.#end(end),
    onRefused: ({ reason, status }) => {
      this.#lastRefusal = { at: new Date().toISOString(), reason, status };
    },
  };

  read(): IsolateState {
    return {
      inFlight: this.#inFlight,
      ended: this.#ended,
      failed: this.#failed,
      ...(this.#lastError ? { lastError: this.#lastError } : {}),
      ...(this.#lastRefusal ? { lastRefusal: this.#lastRefusal } : {}),
    };
  }

  #end({ outcome, method, tool, errorCode }: RequestEnd): void {
    this.#ended += 1;
    if (outcome === "ok") return;
    this.#failed += 1;
    if (outcome === "cancelled") return;
    this.#lastError = {
      at: new Date().toISOString(),
      method: shorten(method),
      ...(tool === undefined ? {} : { tool: shorten(tool) }),
      ...(errorCode === undefined ? {} : { errorCode }),
    };
  }
}

/** The maximum length of a name that a client chose. @limit internal */
const NAME_MAX = 128;

function shorten(name: string): string {
  return printable(name.slice(0, NAME_MAX));
}
