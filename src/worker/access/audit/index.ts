/**
 * Writes one audit record for each call and each refused request.
 *
 * @module
 */

import { printable } from "../../../core/basics/quote.ts";
import type { AroundHook, RequestEnd, RequestEndHook } from "../../../core/define/hook-types.ts";
import { checkOptions, type OptionTable } from "../../../core/protocol/check-options.ts";
import type { ClientFacts, Principal } from "../../../core/protocol/client-facts.ts";
import { checkFunction, KitError } from "../../../core/protocol/errors.ts";
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";
import type { RefusedRequest } from "../../../http/endpoint-types.ts";
import { definePlugin } from "../../contributions.ts";
import type { Plugin } from "../../plugin.ts";
import type { AuditRecord } from "./audit-record.ts";
import { type UnusualUseOptions, UnusualUseWatch } from "./unusual.ts";

export type { UnusualUse, UnusualUseOptions } from "./unusual.ts";

/** Options of {@link audit}. */
export interface AuditOptions<Env> {
  /**
   * A function that receives each record, or the name of an Analytics Engine binding. If the function returns a promise, it
   * keeps running after the response; an exception is logged. A data point has the subject as its index, the strings of the
   * record as blobs, in the order of {@link AuditRecord}, and duration, status, error code and sizes as doubles.
   *
   * @default writes a line of JSON to the log
   */
  readonly to?: ((record: AuditRecord, env: Env) => unknown) | { readonly analyticsEngine: string };
  /** Whether records contain arguments and results, which may be personal or secret. @default false */
  readonly contents?: boolean;
  /**
   * Reports callers whose requests are refused or end with an error unusually often, such as an attacker who tries out
   * tokens, tools or session ids. Each isolate counts separately, by principal, or by IP address if a refused request has
   * no principal.
   *
   * @default not watched
   */
  readonly unusual?: UnusualUseOptions<Env>;
}

const OPTIONS: OptionTable<AuditOptions<never>> = { to: null, contents: null, unusual: null };

/**
 * Records who used what, and with which outcome, as a plugin of `edge()`. It writes one record for each call and each
 * refused request: to the log, to Analytics Engine or to a function.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * const log = audit({ to: (record) => console.log(record.kind, record.subject, record.tool, record.outcome) });
 * export default edge(server, { use: [log] });
 * ```
 */
export function audit<Env = unknown>(options: AuditOptions<Env> = {}): AuditPlugin<Env> {
  checkOptions("audit(): ", options, OPTIONS);
  const { contents = false, to, unusual } = options;
  if (typeof to !== "object") checkFunction("audit(): to", to);
  const watch = unusual && new UnusualUseWatch(unusual);
  const results = new Results();
  const send = async (record: AuditRecord, env: Env) => {
    try {
      if (typeof to === "object") writeDataPoint(to.analyticsEngine, record, env);
      else if (to) await to(record, env);
      else console.log(printable(JSON.stringify({ audit: record })));
    } catch (error) {
      console.error("mcp-edge: a record of the audit was lost", error);
    }
    await watch?.see(record, env);
  };
  const around: AroundHook<Env> = async (data, next) => {
    const result = await next();
    results.keep(data.client, data.taskId ?? data.requestId, result);
    return result;
  };
  const onRequestEnd: RequestEndHook<Env> = (end) => {
    const result = results.take(end.client, end.taskId ?? end.requestId);
    return send(toRecord(end, result, contents), end.env);
  };
  const onRefused = (refused: RefusedRequest<Env>) => {
    refused.execution.waitUntil(send(toRefusal(refused), refused.env));
  };
  return {
    ...definePlugin<Env>({ name: "audit()", attach: () => ({ around, onRequestEnd, onRefused }) }),
    hooks: { around: [around], onRequestEnd },
  };
}

/** The plugin that `audit()` creates. */
export interface AuditPlugin<Env> extends Plugin<Env> {
  /**
   * Options for `new McpServer()`, for a server that is not served by `edge()`. They record every call over stdio, where
   * requests are never refused.
   */
  readonly hooks: { readonly around: readonly AroundHook<Env>[]; readonly onRequestEnd: RequestEndHook<Env> };
}

/** The results of calls that have not ended yet. */
class Results {
  readonly #byClient = new WeakMap<ClientFacts, Map<unknown, JsonObject>>();

  keep(client: ClientFacts, id: unknown, result: JsonObject): void {
    const own = this.#byClient.get(client) ?? new Map<unknown, JsonObject>();
    own.set(id, result);
    this.#byClient.set(client, own);
  }

  take(client: ClientFacts, id: unknown): JsonObject | undefined {
    const own = this.#byClient.get(client);
    const result = own?.get(id);
    own?.delete(id);
    return result;
  }
}

function toRecord<Env>(end: RequestEnd<Env>, result: JsonObject | undefined, contents: boolean): AuditRecord {
  const { principal, client, method, tool, prompt, uri, taskId, outcome, errorCode, durationMs } = end;
  const name = client.name === undefined ? undefined : `${client.name} ${client.version}`;
  return present({
    kind: "call",
    at: new Date().toISOString(),
    outcome,
    durationMs,
    ...listNames(principal),
    client: name,
    method,
    tool,
    prompt,
    uri,
    taskId,
    errorCode,
    requestSize: computeSize(end.arguments),
    resultSize: computeSize(result),
    ...(contents && { arguments: end.arguments, result }),
  });
}

/** Returns the record of a refused request. */
function toRefusal<Env>({ request, principal, ...refused }: RefusedRequest<Env>): AuditRecord {
  const { errorCode, status, reason, startedAtMs, clientId, messages = [] } = refused;
  const [first, ...others] = messages;
  const { tool, prompt, uri } = first && others.length === 0 ? first : {};
  const { headers } = request;
  const bytes = headers.get("Content-Length");
  return present({
    kind: "refusal",
    at: new Date().toISOString(),
    outcome: "refused",
    durationMs: Date.now() - startedAtMs,
    ...listNames(principal),
    clientId: principal?.clientId ?? clientId,
    method: first && [...new Set(messages.map(({ method }) => method))].join(", "),
    tool,
    prompt,
    uri,
    errorCode,
    status,
    reason,
    ip: headers.get("CF-Connecting-IP") ?? undefined,
    requestSize: bytes === null ? undefined : Number(bytes),
  });
}

/** Returns the members of a record that identify a principal. */
function listNames(principal: Principal | undefined) {
  return { issuer: principal?.issuer, subject: principal?.subject, clientId: principal?.clientId };
}

function computeSize(value: unknown): number | undefined {
  return value === undefined ? undefined : JSON.stringify(value)?.length;
}

/**
 * The maximum length of a string in a record, except for arguments and results. Clients choose most of these strings, and
 * the platform truncates or drops long log lines, so a caller could otherwise hide its actions.
 * @limit characters A string in an audit record, except for arguments and results. A longer string is cut off.
 */
const TEXT_MAX = 512;

/** Returns the members that are not undefined. Long strings are cut off. */
function present(record: { readonly [K in keyof AuditRecord]: AuditRecord[K] | undefined }): AuditRecord {
  const members = Object.entries(record).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const isLong = typeof value === "string" && value.length > TEXT_MAX;
    return [[name, isLong ? `${value.slice(0, TEXT_MAX)}...` : value] as const];
  });
  return Object.fromEntries(members) as unknown as AuditRecord;
}

/** The strings and numbers of a data point, in their order. */
const BLOBS = [
  "kind",
  "outcome",
  "issuer",
  "subject",
  "clientId",
  "client",
  "method",
  "tool",
  "prompt",
  "uri",
  "taskId",
  "reason",
  "ip",
] as const;
const DOUBLES = ["durationMs", "status", "errorCode", "requestSize", "resultSize"] as const;

/** @throws {KitError} `binding-missing` without the binding. */
function writeDataPoint(binding: string, record: AuditRecord, env: unknown): void {
  const dataset = (env as Record<string, AnalyticsEngineDataset | undefined> | undefined)?.[binding];
  if (typeof dataset?.writeDataPoint !== "function") {
    const text = `audit(): the binding "${binding}" is missing. In wrangler.toml write: [[analytics_engine_datasets]] binding = "${binding}"`;
    throw new KitError("binding-missing", text);
  }
  dataset.writeDataPoint({
    // An index may have at most 96 bytes.
    indexes: [(record.subject ?? "").slice(0, 32)],
    blobs: BLOBS.map((name) => String(record[name] ?? "").slice(0, TEXT_MAX)),
    doubles: DOUBLES.map((name) => record[name] ?? 0),
  });
}
