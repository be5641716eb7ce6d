/**
 * The options of `edge()`, and the validation of its arguments, which reports every mistake when the endpoint is created.
 *
 * @module
 */

import type { Registry } from "../core/define/registry.ts";
import { REGISTRY } from "../core/define/server.ts";
import { checkOptions, checkPath, type OptionTable } from "../core/protocol/check-options.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import { KitError } from "../core/protocol/errors.ts";
import { isObject } from "../core/protocol/jsonrpc.ts";
import { type Limits, resolveLimits } from "../core/protocol/limits.ts";
import type { OriginRules } from "../http/origin.ts";
import { type ResponseTimes, TIMES } from "../http/response-times.ts";
import type { Use } from "./plugin.ts";
import type { Problem, ProblemCode } from "./problems.ts";

/** Options of {@link edge}. */
export interface EdgeOptions<Env, P extends readonly Use<Env>[] = readonly Use<Env>[]>
  extends OriginRules,
    ResponseTimes {
  /** The path of the endpoint within the app. @default "/mcp" */
  readonly path?: string;
  /**
   * The name of the endpoint. Session ids, request states, tasks and list cursors are valid only at the endpoint that
   * issued them, and idempotency keys apply to one endpoint only. Set it if paths do not distinguish endpoints (such as two
   * endpoints that are chosen by host), if one endpoint has several paths, or to keep these values valid when the path
   * changes.
   *
   * @default the path of the request's URL
   */
  readonly endpoint?: string;
  /**
   * The components of the endpoint: parts such as `durable()` and `page()`, plugins such as `bearer()`, `rates()` and
   * `audit()`, and Hono middleware that every request passes first. A part that is listed next to `durable()` replaces the
   * corresponding part of `durable()`. The order matters only among plugins of the same kind, and among middleware.
   *
   * @default none: a stateless endpoint that everyone may call
   */
  readonly use?: P;
  /** Limits that override the defaults. @default DEFAULT_LIMITS */
  readonly limits?: Partial<Limits>;
  /**
   * Whether the response to every POST is a single JSON object. Progress and log messages of calls are then dropped, and
   * handlers cannot ask legacy clients questions.
   *
   * @default false
   */
  readonly jsonOnly?: boolean;
}

type AnyOptions = EdgeOptions<unknown>;

const OPTIONS: OptionTable<AnyOptions> = {
  path: null,
  endpoint: null,
  use: null,
  limits: null,
  ...TIMES,
  jsonOnly: null,
  allowedHosts: null,
  allowedOrigins: null,
};

/** Returns a problem for every mistake in the arguments of `edge()`. */
export function findOptionProblems(source: unknown, options: object): Problem[] {
  const problems: Problem[] = [];
  const attempt = (code: ProblemCode, check: () => unknown) => {
    try {
      check();
    } catch (error) {
      problems.push(`[${code}] ${(error as Error).message}`);
    }
  };
  if (typeof source !== "function") {
    attempt("option-invalid", () => checkServer(source, "edge(): the first argument"));
  }
  if (typeof options !== "object" || options === null) {
    attempt("option-invalid", () => checkOptions("edge(): ", options, OPTIONS));
    return problems;
  }
  for (const [name, value] of Object.entries(options)) {
    const code = name in OPTIONS ? "option-invalid" : "option-unknown";
    attempt(code, () => checkOptions("edge(): ", { [name]: value }, OPTIONS));
  }
  const { limits, path } = options as Partial<AnyOptions>;
  attempt("option-invalid", () => resolveLimits(limits, "edge(): limits."));
  attempt("option-invalid", () => checkPath("edge(): path", path));
  return problems;
}

/** @throws {KitError} `options-invalid` if the value is not a server. */
export function checkServer(server: unknown, what: string): void {
  // Not checked with `instanceof`, because a Worker may contain two copies of the package.
  if (isObject(server) && REGISTRY in server) return;
  const message = `${what} is ${String(server)}; it must be a server made by new McpServer({ name, version }).`;
  throw new KitError("options-invalid", message);
}

/**
 * Returns a function that reports, once, the tools that cannot be called: tools with `task: "required"` on an endpoint
 * without `tasks()`.
 */
export function watchForTasks(onError: ErrorReporter): (registry: Registry) => void {
  const seen = new WeakSet<Registry>();
  let isReported = false;
  return (registry) => {
    if (isReported || seen.has(registry)) return;
    seen.add(registry);
    const names = [...registry.tools.values()]
      .filter(({ options }) => options.task === "required")
      .map(({ name }) => name);
    if (names.length === 0) return;
    isReported = true;
    const message = `No client can call ${names.join(", ")}: task: "required" needs tasks() of "mcp-edge/worker/durable" in the option use.`;
    const where = { method: "(edge)" };
    registry.report(new KitError("options-invalid", message), where, onError);
  };
}
