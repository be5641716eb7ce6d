/**
 * One record for each call and each refusal.
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
   * Receives each record. A returned promise keeps running after the answer; an exception is logged. Or the name of an
   * Analytics Engine binding, whose data points have the texts of the record as blobs, in the order of
   * {@link AuditRecord}, and duration, status, error code and sizes as doubles; their index is the subject.
   *
   * @default writes a line of JSON to the log
   */
  readonly to?: ((record: AuditRecord, env: Env) => unknown) | { readonly analyticsEngine: string };
  /** Whether records contain arguments and results. They may be personal, or secret. @default false */
  readonly contents?: boolean;
  /**
   * Reports callers whose requests are refused, or end with an error, unusually often: someone who tries tokens, tools
   * or session ids. Each isolate counts for itself, by principal, or by address if a refused request has none.
   *
   * @default not watched
   */
  readonly unusual?: UnusualUseOptions<Env>;
}

const OPTIONS: OptionTable<AuditOptions<never>> = { to: null, contents: null, unusual: null };

/**
 * Records who used what, and with which outcome: one record for each call and each refusal, to the log, to Analytics
 * Engine or to a function. It is a plugin of `edge()`.
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

/** An audit of calls and refusals. */
export interface AuditPlugin<Env> extends Plugin<Env> {
  /**
   * Options of `new McpServer()`, for a server that is not served by `edge()`: they record every call over stdio. There
   * are no refusals there.
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

/** Returns the record of a refusal. */
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

/** Returns the members of a record that name a principal. */
function listNames(principal: Principal | undefined) {
  return { issuer: principal?.issuer, subject: principal?.subject, clientId: principal?.clientId };
}

function computeSize(value: unknown): number | undefined {
  return value === undefined ? undefined : JSON.stringify(value)?.length;
}

/**
 * The maximum number of characters of a text in a record, apart from contents. Clients choose most of them, and the
 * platform cuts or drops long lines, so that a caller could hide what it does.
 * @limit characters A text in a record of the audit, apart from contents. A longer one is cut.
 */
const TEXT_MAX = 512;

/** Returns the members that have a value. */
function present(record: { readonly [K in keyof AuditRecord]: AuditRecord[K] | undefined }): AuditRecord {
  const members = Object.entries(record).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const isLong = typeof value === "string" && value.length > TEXT_MAX;
    return [[name, isLong ? `${value.slice(0, TEXT_MAX)}...` : value] as const];
  });
  return Object.fromEntries(members) as unknown as AuditRecord;
}

/** The texts and numbers of a data point, in their order. */
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
    // The index has at most 96 bytes.
    indexes: [(record.subject ?? "").slice(0, 32)],
    blobs: BLOBS.map((name) => String(record[name] ?? "").slice(0, TEXT_MAX)),
    doubles: DOUBLES.map((name) => record[name] ?? 0),
  });
}
