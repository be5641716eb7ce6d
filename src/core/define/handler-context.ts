/**
 * The context that handlers receive as their second argument.
 *
 * @module
 */
import type { Elicited } from "../ask/answers.ts";
import type { Asker } from "../ask/asker.ts";
import type { ElicitationSchema } from "../ask/elicitation-schema.ts";
import type { QuestionOptions } from "../ask/question-options.ts";
import type { SampleParams, SampleResult } from "../ask/sampling-params.ts";
import type { ElicitUrlOptions, ElicitUrlResult } from "../ask/url-elicitation.ts";
import type { ClientFacts, Principal } from "../protocol/client-facts.ts";
import type { BlobResourceContents, TextResourceContents } from "../protocol/content.ts";
import { KitError } from "../protocol/errors.ts";
import type { Ending } from "../protocol/execution.ts";
import {
  isRequestId,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JsonObject,
  type RequestId,
} from "../protocol/jsonrpc.ts";
import { readMeta } from "../protocol/lifecycle.ts";
import { type LoggingLevel, logNotification, passesLevel } from "../protocol/logging.ts";
import type { Root } from "../protocol/root.ts";
import type { AnySchema } from "../protocol/schema.ts";
import type { HandlerInput, HandlerRun, Step } from "./handler-run.ts";

/** The part of a request that the context of its handler uses. */
export interface HandlerRequest {
  readonly request: JSONRPCRequest;
  readonly client: ClientFacts;
  /** The bindings of the Worker; on stdio, the `env` given to `serveStdio`. */
  readonly env: unknown;
  readonly principal: Principal | undefined;
  /** The value of the server's option `context`, once it is known. */
  readonly context?: unknown;
  /** Its signal aborts when the request is cancelled, times out or, in the modern era, when its client disconnects. */
  readonly ending: Ending;
  /** The least severe level that the client requests; undefined if it does not request log messages. */
  readonly logLevel: LoggingLevel | undefined;
  /** Sends a notification, or a legacy question, that belongs to this request. Never throws. */
  readonly emit: (message: JSONRPCNotification | JSONRPCRequest) => void;
  /**
   * Closes the connection of the request's stream without ending the request. Absent if the client could not reconnect.
   */
  readonly disconnect?: ((retryMs: number) => void) | undefined;
  /** Asks the client in the middle of the request. `dispatch` replaces it with the asker for the request. */
  readonly asker: Asker;
  /** The last progress value that an earlier run sent. */
  readonly progressAfter?: number | undefined;
  /** The id of the task whose handler runs. */
  readonly taskId?: string;
}

/** Options of `ctx.progress`. */
export interface ProgressOptions {
  /** The value at which the work is done, if it is known. */
  readonly total?: number;
  /** A human-readable description of the current work. Sent since 2025-03-26. */
  readonly message?: string;
}

/**
 * The position of a request in a distributed trace, in the formats of W3C Trace Context and W3C Baggage; not validated.
 *
 * @see MCP 2026-07-28, basic, "OpenTelemetry trace context"
 */
export interface TraceContext {
  /** The trace and the span of the caller. */
  readonly traceparent?: string;
  /** The values that other tracing systems add. */
  readonly tracestate?: string;
  /** Names and values that travel with the trace. */
  readonly baggage?: string;
}

/** The contents of a resource, as a client would receive them. */
export type OwnContents = readonly (TextResourceContents | BlobResourceContents)[];

/** The functions through which a context uses its server. */
export interface ContextServer {
  /** Reads a resource of the server. */
  read(uri: string, context: HandlerContext): Promise<OwnContents>;
  /** Called with the name of a step whose result is not stored. */
  onStepNotKept(name: string): void;
}

declare const CONTEXT: unique symbol;

/** Adds the type of `ctx.context` to the bindings of a server: `new McpServer<WithContext<Env, Team>>(...)`. */
export type WithContext<Env, Context> = Env & { readonly [CONTEXT]: Context };

/** The type of `ctx.context` that {@link WithContext} declares; undefined without it. */
export type ContextOf<Env> = Env extends { readonly [CONTEXT]: infer Context } ? Context : undefined;

/**
 * The second argument of every handler. After the handler has returned, it sends nothing more and rejects questions.
 */
export class HandlerContext<Env = unknown> {
  readonly #call: HandlerRequest;
  readonly #asker: Asker;
  readonly #replay: HandlerRun | undefined;
  readonly #progressToken: unknown;
  readonly #server: ContextServer;
  #lastProgress: number;
  #isClosed = false;

  /** The id of the request, as the client sent it. */
  readonly requestId: RequestId;
  /** The request's `_meta`, including unknown keys. */
  readonly meta: JsonObject;
  /** The answers to the questions that an earlier run asked with `inputRequired`, by key. They are not checked yet. */
  readonly inputResponses: JsonObject;
  /** The state that the earlier run passed to `inputRequired`. */
  readonly requestState: string | undefined;

  /**
   * Creates a context for one run of a handler.
   *
   * @internal
   */
  constructor(context: HandlerRequest, input: HandlerInput, server: ContextServer) {
    const { id, params } = context.request;
    this.#call = context;
    this.#lastProgress = context.progressAfter ?? -Infinity;
    this.#replay = input.replay;
    this.#asker = this.#replay?.asker ?? context.asker.forContext?.() ?? context.asker;
    this.#server = server;
    this.requestId = id;
    this.meta = readMeta(params);
    this.#progressToken = this.meta.progressToken;
    this.inputResponses = input.inputResponses;
    this.requestState = input.requestState;
  }

  /** Aborts when the result is no longer needed. Poll `aborted`, call `throwIfAborted()`, or pass it to `fetch`. */
  get signal(): AbortSignal {
    return this.#call.ending.signal;
  }

  /** The bindings of the Worker; on stdio, the `env` given to `serveStdio`. */
  get env(): Env {
    // A server is served with the bindings that its handlers were defined for.
    return this.#call.env as Env;
  }

  /**
   * The value of the server's option `context` for this request. A client cannot set it; see
   * {@link HandlerContext.meta}.
   */
  get context(): ContextOf<Env> {
    // The type of the option guarantees this.
    return this.#call.context as ContextOf<Env>;
  }

  /**
   * The principal that the request acts for, with its scopes, its claims, its client and the expiry of its token;
   * undefined if the request is anonymous.
   */
  get auth(): Principal | undefined {
    return this.#call.principal;
  }

  /** Name, version, capabilities and protocol version of the client. */
  get client(): ClientFacts {
    return this.#call.client;
  }

  /**
   * The id of the task whose handler runs, as the client and the hooks receive it; undefined in an ordinary call. With
   * it, `onRequestEnd` can find what the handler stored when the task was cancelled. Whoever has the id of an
   * anonymous task can use the task, so treat it as a secret.
   */
  get taskId(): string | undefined {
    return this.#call.taskId;
  }

  /** The trace context in the request's `_meta`, to pass on to services that a handler calls. */
  get traceContext(): TraceContext {
    const fields = ["traceparent", "tracestate", "baggage"].map((key) => [key, this.meta[key]] as const);
    return Object.fromEntries(fields.filter(([, value]) => typeof value === "string"));
  }

  /**
   * Reports progress to the client. Nothing is sent if the client did not ask for progress (the response then stays
   * JSON), if the value is not greater than the previous value, or after the result.
   *
   * @throws {KitError} `progress-invalid` if a number is not finite.
   * @see MCP 2026-07-28, basic/patterns/progress
   */
  progress(value: number, options: ProgressOptions = {}): void {
    if (!Number.isFinite(value) || (options.total !== undefined && !Number.isFinite(options.total))) {
      throw new KitError(
        "progress-invalid",
        `ctx.progress(${value}, { total: ${options.total} }) needs finite numbers.`,
      );
    }
    const token = this.#progressToken;
    // A token is a string or an integer, like a request id. With any other value, the notification would not be valid.
    if (!isRequestId(token) || this.#isMute || value <= this.#lastProgress) return;
    this.#lastProgress = value;
    const params: JsonObject = { progressToken: token, progress: value };
    if (options.total !== undefined) params.total = options.total;
    if (options.message !== undefined && this.client.rules.progressMessage) params.message = options.message;
    this.#call.emit({ jsonrpc: "2.0", method: "notifications/progress", params });
  }

  /**
   * Sends a log message to the client of this request, if it asked for this level or a less severe one. Never fails
   * a call: a message that cannot be sent is dropped.
   *
   * @param data Any JSON value.
   * @param logger The name of the component that logs.
   * @see MCP 2026-07-28, server/utilities/logging
   */
  log(level: LoggingLevel, data: unknown, logger?: string): void {
    if (this.#isMute || !passesLevel(level, this.#call.logLevel)) return;
    this.#call.emit(logNotification(level, data, logger));
  }

  /**
   * Returns the contents of one of the server's own resources, as a client would receive them.
   *
   * @throws {McpError} if there is no such resource.
   */
  readResource(uri: string): Promise<OwnContents> {
    const read = async () => this.#server.read(uri, this as HandlerContext);
    return this.#replay?.within(read) ?? read();
  }

  /**
   * Asks the user to fill in a form. Declining and cancelling are values of the result.
   *
   * @param schema A flat form of strings, numbers, booleans and choices. The answer is checked against it.
   * @throws {QuestionError} if the client cannot be asked, does not answer in time, or gives an invalid answer.
   * @see MCP 2025-11-25, client/elicitation
   */
  elicit<const S extends AnySchema | ElicitationSchema>(
    message: string,
    schema: S,
    options?: QuestionOptions,
  ): Promise<Elicited<S>> {
    return this.#asker.elicit(message, schema, this.signal, options);
  }

  /**
   * Asks the user to open a URL, for data that the client must not see, such as passwords and payments. Declining and
   * cancelling are values of the result. `accept` means that the user agreed to open the URL, not that they completed
   * anything there.
   *
   * @param url An absolute URL. It must not contain a secret with which another person could act for the user.
   * @throws {QuestionError} as {@link HandlerContext.elicit} does; {KitError} `options-invalid` if the URL is not
   *   absolute.
   * @see MCP 2025-11-25, client/elicitation, "URL Mode Elicitation Requests"
   */
  elicitUrl(message: string, url: string, options?: ElicitUrlOptions): Promise<ElicitUrlResult> {
    return this.#asker.elicitUrl({ ...options, message, url }, this.signal, options);
  }

  /**
   * Asks the client's model.
   *
   * @throws {QuestionError} as {@link HandlerContext.elicit} does; {KitError} `options-invalid` if a parameter is
   *   invalid.
   * @see MCP 2025-11-25, client/sampling
   */
  sample(params: SampleParams, options?: QuestionOptions): Promise<SampleResult> {
    return this.#asker.sample(params, this.signal, options);
  }

  /**
   * Returns the client's roots: the folders and files that the user has opened to the server. They are guidance, not a
   * security boundary.
   *
   * @throws {QuestionError} as {@link HandlerContext.elicit} does.
   * @see MCP 2025-11-25, client/roots
   */
  listRoots(options?: QuestionOptions): Promise<readonly Root[]> {
    return this.#asker.listRoots(this.signal, options);
  }

  /**
   * Runs a part of the work and stores its result. Use it for effects that must not be repeated, and for values that
   * could differ the next time: a handler that asks may be run again from the top, and then the step returns the stored
   * result. A step that was interrupted before it returned runs again, with the same key.
   *
   * Results are stored for tools, prompts and resources: on a connection (stdio), in a task, and if the option `use` of
   * `edge()` has `replay()`. Otherwise the work runs each time with a new key, and `onError` receives a
   * {@link KitError} `step-not-kept`, once for each server.
   *
   * @param name The name of the step within the handler. Each use of a name is a separate step, so concurrent branches
   *   need different names.
   * @param work Returns a JSON value.
   * @throws the exception of `work`, which is not stored; {@link KitError} `result-invalid` if the result has no JSON
   *   form.
   */
  step<T>(name: string, work: Step<T>): Promise<T> {
    const alone = async () => {
      this.#server.onStepNotKept(name);
      return work({ key: `${crypto.randomUUID()}/${name}` });
    };
    return this.#replay?.step(name, work) ?? alone();
  }

  /**
   * Continues the call as a task, for tools with `taskStartsAt: "handler"`. The handler runs again from the top in the
   * background, where earlier questions and steps return their stored results. Has no effect if the call is already a
   * task, or does not become a task.
   */
  async task(): Promise<void> {
    await this.#replay?.task?.();
  }

  /**
   * Closes the client's connection while the handler continues, for long work. The client reconnects after `retryMs`
   * and receives the messages that it missed. Has no effect if the client could not resume.
   *
   * @param retryMs How long the client waits before it reconnects, in milliseconds.
   * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
   */
  disconnect(retryMs = 1_000): void {
    if (!this.#isMute) this.#call.disconnect?.(retryMs);
  }

  /**
   * Sends the client a ping. Resolves when it has answered.
   *
   * @throws {QuestionError} as {@link HandlerContext.elicit} does.
   * @see MCP 2025-11-25, basic/utilities/ping
   */
  ping(): Promise<void> {
    return this.#asker.ping(this.signal);
  }

  /**
   * Whether messages are dropped: the handler has returned, the request was cancelled, or an earlier run has sent them.
   */
  get #isMute(): boolean {
    return this.#isClosed || this.signal.aborted || (this.#replay?.isSilent ?? false);
  }

  /**
   * Closes a context, so that nothing is sent after the result.
   *
   * @internal
   */
  static close(context: HandlerContext): void {
    context.#isClosed = true;
    context.#asker.close?.();
  }
}
