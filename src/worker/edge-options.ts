/**
 * Checks what `edge()` was given, so that each mistake is named where it is made.
 *
 * @module
 */

import type { Registry } from "../core/define/registry.ts";
import { REGISTRY } from "../core/define/server.ts";
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import { KitError } from "../core/protocol/errors.ts";
import type { EdgeOptions } from "./edge.ts";

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
  jsonOnly: null,
  className: null,
  binding: null,
  jurisdiction: null,
  locationHint: null,
  allowedHosts: null,
  allowedOrigins: null,
};

/** What makes the value of an option that is a part. */
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

/** @throws {KitError} `options-invalid` naming the mistake and what to write. */
export function checkEdge(source: unknown, options: object): void {
  if (typeof source !== "function") checkServer(source, "edge(): the first argument");
  checkOptions("edge(): ", options, OPTIONS);
  for (const [name, call] of Object.entries(PARTS)) {
    const part: unknown = (options as Record<string, unknown>)[name];
    if (part === undefined || (typeof part === "object" && part !== null)) continue;
    const given = typeof part === "function" ? "a function" : String(part);
    throw new KitError("options-invalid", `edge(): the option ${name} is ${given}; write ${name}: ${call}.`);
  }
}

/** @throws {KitError} `options-invalid` when it is no server. */
export function checkServer(server: unknown, what: string): void {
  // Not by its class: two copies of the package can meet in one Worker.
  if (typeof server === "object" && server !== null && REGISTRY in server) return;
  const message = `${what} is ${String(server)}; it must be a server made by new McpServer({ name, version }).`;
  throw new KitError("options-invalid", message);
}

/**
 * Looks for tools that nobody can call: those with `task: "required"` of an endpoint without the option `tasks`. They are
 * reported once.
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
    const message = `Nobody can call ${names.join(", ")}: task: "required" needs the option tasks. Write edge(server, { tasks: tasks() }), with tasks from "mcp-edge/worker/tasks".`;
    const where = { correlationId: crypto.randomUUID(), method: "(edge)" };
    server.report(new KitError("options-invalid", message), where, onError);
  };
}
