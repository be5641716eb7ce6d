/**
 * Spans and measurements of a server, as hooks around its requests.
 *
 * @module
 */

import type { AroundHook, RequestData, RequestEnd, RequestEndHook } from "../core/define/hook-types.ts";
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import type { ClientFacts } from "../core/protocol/client-facts.ts";
import * as ErrorCode from "../core/protocol/error-codes.ts";
import { CancelledError, McpError } from "../core/protocol/errors.ts";
import type { JsonObject, ParsedMessage } from "../core/protocol/jsonrpc.ts";
import { readMeta } from "../core/protocol/lifecycle.ts";
import { findRequest } from "../core/protocol/methods.ts";
import type { RefusedRequest } from "../http/endpoint-types.ts";
import { definePlugin } from "../worker/contributions.ts";
import type { Contribution, Plugin } from "../worker/plugin.ts";
import {
  CANCELLED,
  describeMeasurement,
  describeOperation,
  describeOutcome,
  type NetworkTransport,
  type Operation,
  OTHER,
  type Outcome,
  ofCode,
  TOOL_ERROR,
  toAttributes,
  toContents,
  toFailure,
  toHash,
  toOutcome,
  toSpanName,
} from "./conventions.ts";
import { KnownNames } from "./known-names.ts";
import { type Metric, REFUSALS, SERVER_OPERATION, TASK } from "./metrics.ts";
import { type Recording, type RecordingOptions, toRecording } from "./recording.ts";
import type { Failure, OpenSpan, SpanStart } from "./spans.ts";
import { watchExceptions } from "./tool-exceptions.ts";
import { type RemoteSpan, readTraceContext } from "./trace-context.ts";

/** Options of {@link telemetry}. */
export interface TelemetryOptions<Env = unknown> extends RecordingOptions<Env> {
  /**
   * How the span in the `traceparent` of a request is used: as the `parent`, so that client and server are in one trace; or
   * as a `link`, for a server that everyone may call, because a caller otherwise decides to which trace a span belongs and,
   * with most samplers, whether it is recorded. With `link`, each span begins a trace, and an active span, which may have
   * adopted the caller's trace from an HTTP header, is linked too. Only for `openTelemetry`; with `tracing`, it becomes
   * attributes.
   *
   * @default "parent"
   */
  readonly callers?: "parent" | "link";
}

const OPTIONS: OptionTable<TelemetryOptions<never>> = {
  tracing: null,
  openTelemetry: null,
  metrics: null,
  contents: null,
  stacks: null,
  callers: null,
};

/** The plugin that `telemetry()` creates. */
export interface TelemetryPlugin<Env> extends Plugin<Env> {
  /** Options for `new McpServer()`, for a server that is not served by `edge()`, such as a server on stdio. */
  readonly hooks: { readonly around: readonly AroundHook<Env>[]; readonly onRequestEnd: RequestEndHook<Env> };
}

/**
 * Records a span and a duration for each request, each custom notification and each run of a task, by the semantic
 * conventions of OpenTelemetry for MCP, as a plugin of `edge()`. It works in the Worker, in sessions and in tasks.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @see MCP 2026-07-28, basic, "OpenTelemetry trace context"
 * @example
 * ```ts
 * import { tracing } from "cloudflare:workers";
 *
 * export default edge(server, { use: [telemetry({ tracing })] });
 * ```
 */
export function telemetry<Env = unknown>(options: TelemetryOptions<Env>): TelemetryPlugin<Env> {
  checkOptions("telemetry(): ", options, OPTIONS);
  const recording = toRecording("telemetry()", options);
  const isLinked = options.callers === "link";
  const overHttp = new ServerSpans<Env>({ ...recording, isLinked, transport: "tcp" });
  const { around, onRequestEnd } = new ServerSpans<Env>({ ...recording, isLinked, transport: "pipe" });
  const contribution: Contribution<Env> = {
    around: overHttp.around,
    onRequestEnd: overHttp.onRequestEnd,
    authorize: ({ request, messages }) => overHttp.arrived(request, messages),
    onRefused: (refused) => overHttp.refused(refused),
  };
  const attach = () => contribution;
  return { ...definePlugin<Env>({ name: "telemetry()", attach }), hooks: { around: [around], onRequestEnd } };
}

/** A span whose request has not ended. */
interface Open {
  readonly span: OpenSpan;
  isCancelled: boolean;
}

/** The data of a measurement of an operation. */
interface Ended<Env> {
  readonly data: RequestData<Env> | RequestEnd<Env>;
  /** The operation, without names that the server does not have. */
  readonly operation: Operation;
  readonly outcome: Outcome;
}

interface ServerRecording extends Recording {
  readonly isLinked: boolean;
  readonly transport: NetworkTransport;
}

/** The hooks that record the operations of a server on one kind of transport. */
class ServerSpans<Env> {
  readonly #recording: ServerRecording;
  /** The spans of unfinished requests. Request ids are unique for each client. */
  readonly #open = new WeakMap<ClientFacts, Map<unknown, Open>>();

  /** The spans that HTTP requests name, by the params of the messages in them. Not known in the object of a session. */
  readonly #arrived = new WeakMap<JsonObject, RemoteSpan>();

  /** The messages of HTTP requests, except requests that an earlier plugin has refused. */
  readonly #received = new WeakMap<Request, readonly ParsedMessage[]>();

  readonly #names = new KnownNames<Env>();

  constructor(recording: ServerRecording) {
    this.#recording = recording;
  }

  /** Stores the messages of an HTTP request, and the span that its headers name for each of them. */
  arrived(request: Request, messages: readonly ParsedMessage[]): undefined {
    this.#received.set(request, messages);
    const span = readHeaders(request.headers);
    if (!span) return;
    for (const each of messages)
      if ("message" in each && "params" in each.message && each.message.params)
        this.#arrived.set(each.message.params, span);
  }

  /** Records a request that was refused before it reached a handler. */
  refused(refused: RefusedRequest<Env>): void {
    recordRefusal(this.#recording, refused, this.#received.get(refused.request) ?? []);
  }

  readonly around: AroundHook<Env> = (data, next) =>
    this.#recording.spans.run(this.#start(data), (span) => this.#serve(data, { span, isCancelled: false }, next));

  readonly onRequestEnd: RequestEndHook<Env> = (end) => {
    const { client, taskId, requestId, outcome, durationMs } = end;
    // The handler may run for long after its request was cancelled, so the span ends now.
    const open = outcome === "cancelled" ? this.#open.get(client)?.get(taskId ?? requestId) : undefined;
    if (open) {
      open.isCancelled = true;
      finish(open.span, CANCELLED);
    }
    const metric = taskId === undefined ? SERVER_OPERATION : TASK;
    this.#measure(metric, durationMs, { data: end, operation: this.#names.ended(end), outcome: outcomeOf(end) });
  };

  #start(data: RequestData<Env>): SpanStart {
    const { transport, contents, isLinked } = this.#recording;
    const { client, params, session, taskId, tool } = data;
    const input = contents && tool !== undefined ? toContents(data.arguments) : undefined;
    return {
      name: toSpanName(this.#names.serving(data)),
      kind: "server",
      attributes: {
        ...describeOperation(data, client.protocolVersion, transport),
        ...toAttributes({
          "mcp.session.id": session === undefined ? undefined : toHash(session),
          "mcp.client.name": client.name,
          "mcp.client.version": client.version,
          "mcp_edge.task.id": taskId === undefined ? undefined : toHash(taskId),
        }),
        ...(input === undefined ? {} : { "gen_ai.tool.call.arguments": input }),
      },
      parent: readTraceContext(readMeta(params)),
      isLinked,
      isRoot: isLinked,
      transport: params && this.#arrived.get(params),
    };
  }

  /** Runs a request within its span, and ends the span. */
  async #serve(data: RequestData<Env>, open: Open, next: () => Promise<JsonObject>): Promise<JsonObject> {
    const { contents, stacks } = this.#recording;
    const startedAtMs = performance.now();
    const remove = this.#add(data, open);
    const endWatch = watchExceptions(data);
    let outcome: Outcome = {};
    try {
      const result = await next();
      const [failure] = endWatch(result).map((error) => toFailure(error, stacks));
      outcome = toOutcome(result);
      const output = contents && data.tool !== undefined ? toContents(result) : undefined;
      if (output !== undefined) open.span.set({ "gen_ai.tool.call.result": output });
      if (!open.isCancelled) finish(open.span, outcome, failure);
      return result;
    } catch (error) {
      endWatch();
      outcome = CancelledError.is(error)
        ? CANCELLED
        : ofCode(McpError.is(error) ? error.code : ErrorCode.InternalError);
      if (!open.isCancelled) finish(open.span, outcome, toFailure(error, stacks));
      throw error;
    } finally {
      remove();
      // `onRequestEnd` does not report notifications.
      if (data.requestId === undefined) {
        const operation = this.#names.serving(data);
        this.#measure(SERVER_OPERATION, performance.now() - startedAtMs, { data, operation, outcome });
      }
    }
  }

  #add({ client, taskId, requestId }: RequestData<Env>, open: Open): () => void {
    const id = taskId ?? requestId;
    const own = this.#open.get(client) ?? new Map<unknown, Open>();
    this.#open.set(client, own.set(id, open));
    return () => {
      if (own.get(id) === open) own.delete(id);
    };
  }

  #measure(metric: Metric, durationMs: number, { data, operation, outcome }: Ended<Env>): void {
    const attributes = describeMeasurement(operation, outcome, data.client.protocolVersion, this.#recording.transport);
    this.#recording.measure(metric, durationMs / 1000, attributes, data.env);
  }
}

function readHeaders(headers: Headers): RemoteSpan | undefined {
  return readTraceContext({ traceparent: headers.get("traceparent"), tracestate: headers.get("tracestate") });
}

/** Returns the outcome that `onRequestEnd` reports. */
function outcomeOf<Env>({ outcome, errorCode }: RequestEnd<Env>): Outcome {
  if (outcome === "cancelled") return CANCELLED;
  if (errorCode !== undefined) return ofCode(errorCode);
  return outcome === "error" ? TOOL_ERROR : {};
}

/** Sets the outcome of an operation, and ends its span. */
function finish(span: OpenSpan, outcome: Outcome, failure: Failure = {}): void {
  if (outcome.errorType !== undefined) {
    span.set(describeOutcome(outcome));
    span.fail(failure);
  }
  span.end();
}

/** The maximum number of messages of a refused request that get a span. @limit internal */
const REFUSED_MAX = 10;

/**
 * Records a request that was refused before it reached a handler: a span for each message, and a measurement.
 *
 * @param received The messages of the request.
 */
function recordRefusal<Env>(
  recording: ServerRecording,
  refused: RefusedRequest<Env>,
  received: readonly ParsedMessage[],
): void {
  const { isLinked } = recording;
  const callers = received.flatMap((parsed) =>
    parsed.kind === "request" || parsed.kind === "notification"
      ? [readTraceContext(readMeta(parsed.message.params))]
      : [],
  );
  const { reason, status, errorCode, env, startedAtMs, protocolVersion, messages = [], request } = refused;
  const outcome: Outcome = errorCode === undefined ? { errorType: String(status) } : ofCode(errorCode);
  const about = { "mcp_edge.reason": reason, "http.response.status_code": status };
  for (const [at, message] of messages.slice(0, REFUSED_MAX).entries()) {
    // The caller may have made up all names, and might not be allowed to use any of them.
    const known = { method: findRequest(message.method) ? message.method : OTHER };
    const start: SpanStart = {
      name: known.method,
      kind: "server",
      attributes: { ...describeOperation(message, protocolVersion, "tcp"), ...toAttributes(about) },
      parent: callers[at],
      isLinked,
      isRoot: isLinked,
      transport: readHeaders(request.headers),
      startedAtMs,
    };
    recording.spans.run(start, (span) => finish(span, outcome));
    const attributes = describeMeasurement(known, outcome, undefined, "tcp");
    recording.measure(SERVER_OPERATION, (Date.now() - startedAtMs) / 1000, attributes, env);
  }
  recording.measure(REFUSALS, 1, toAttributes(about), env);
}
