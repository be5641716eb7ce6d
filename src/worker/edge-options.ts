/**
 * Checks the arguments of `edge()`, so that each mistake is reported when the endpoint is created.
 *
 * @module
 */

import type { Registry } from "../core/define/registry.ts";
import { REGISTRY } from "../core/define/server.ts";
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import { checkFunction, describeType, KitError } from "../core/protocol/errors.ts";
import { resolveLimits } from "../core/protocol/limits.ts";
import { TIMES } from "../http/response-times.ts";
import type { EdgeOptions } from "./edge.ts";
import type { Problem, ProblemCode } from "./problems.ts";

type AnyOptions = EdgeOptions<unknown, object, object>;

const OPTIONS: OptionTable<AnyOptions> = {
  path: null,
  endpoint: null,
  sessions: null,
  notices: null,
  once: null,
  tasks: null,
  keys: null,
  replay: null,
  httpSse: null,
  page: null,
  auth: null,
  limits: null,
  ...TIMES,
  jsonOnly: null,
  middleware: null,
  className: null,
  binding: null,
  jurisdiction: null,
  locationHint: null,
  allowedHosts: null,
  allowedOrigins: null,
};

/** The functions that create the values of options that are parts. */
const PARTS = {
  sessions: "sessions()",
  notices: "hub()",
  once: "once()",
  tasks: "tasks()",
  keys: "keys()",
  replay: "replay()",
  httpSse: "httpSse()",
  page: "page()",
} as const;

/** Finds every mistake in the arguments of `edge()`. */
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
  const { limits, auth, httpSse, sessions, className } = options as Partial<AnyOptions>;
  attempt("option-invalid", () => resolveLimits(limits, "edge(): limits."));
  attempt("option-invalid", () => checkFunction("auth", auth));
  for (const [name, call] of Object.entries(PARTS)) {
    const part: unknown = (options as Record<string, unknown>)[name];
    if (part === undefined || (typeof part === "object" && part !== null)) continue;
    // Only the type is named, because clients receive this text and the value may be a misplaced secret.
    const given = typeof part === "function" ? "a function" : describeType(part);
    problems.push(`[option-invalid] edge(): the option ${name} is ${given}; write ${name}: ${call}.`);
  }
  if (httpSse && !sessions) problems.push("[option-invalid] edge(): the option httpSse needs the option sessions.");
  if (className !== undefined && !/^[A-Za-z_$][\w$]*$/.test(className)) {
    problems.push(`[option-invalid] edge(): className is ${JSON.stringify(className)}; write the name of a class.`);
  }
  return problems;
}

/** @throws {KitError} `options-invalid` when the value is not a server. */
export function checkServer(server: unknown, what: string): void {
  // Not checked with instanceof, because a Worker may contain two copies of the package.
  if (typeof server === "object" && server !== null && REGISTRY in server) return;
  const message = `${what} is ${String(server)}; it must be a server made by new McpServer({ name, version }).`;
  throw new KitError("options-invalid", message);
}

/**
 * Returns a function that reports tools that cannot be called: tools with `task: "required"` of an endpoint without the
 * option `tasks`. They are reported once.
 */
export function watchForTasks(onError: ErrorReporter): (server: Registry) => void {
  const seen = new WeakSet<Registry>();
  let isReported = false;
  return (server) => {
    if (isReported || seen.has(server)) return;
    seen.add(server);
    const names = [...server.tools.values()]
      .filter(({ options }) => options.task === "required")
      .map(({ name }) => name);
    if (names.length === 0) return;
    isReported = true;
    const message = `No client can call ${names.join(", ")}: task: "required" needs the option tasks. Write edge(server, { tasks: tasks() }), with tasks from "mcp-edge/worker/tasks".`;
    const where = { correlationId: crypto.randomUUID(), method: "(edge)" };
    server.report(new KitError("options-invalid", message), where, onError);
  };
}
