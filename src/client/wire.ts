/**
 * Sends requests over a link in the form of the negotiated version, and passes on what arrives.
 *
 * @module
 */
import type { ClientCapabilities, Implementation } from "../core/protocol/client-facts.ts";
import { pick } from "../core/protocol/content.ts";
import { KitError, McpError } from "../core/protocol/errors.ts";
import {
  ErrorCode,
  isObject,
  type JSONRPCErrorObject,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JsonObject,
  type RequestId,
} from "../core/protocol/jsonrpc.ts";
import { META, metaOf } from "../core/protocol/lifecycle.ts";
import type { LoggingLevel } from "../core/protocol/logging.ts";
import type { SpokenVersion } from "../core/protocol/spoken-versions.ts";
import type { Era } from "../core/protocol/versions.ts";
import { Deadline, untilAborted } from "./deadline.ts";
import { textOf } from "./errors.ts";
import type { ClientEvent, EventHook } from "./events.ts";
import type { Link } from "./link.ts";
import type { Progress } from "./results.ts";

/** How one request is sent. */
export interface AskOptions {
  readonly deadline: Deadline;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The progress token, or true to choose one. Without it the server reports no progress. */
  readonly progressToken?: string | number | true | undefined;
  readonly resetTimeoutOnProgress?: boolean | undefined;
  /** Receives the acknowledgement of a `subscriptions/listen` request. */
  readonly onAcknowledged?: ((params: JsonObject) => void) | undefined;
  /** The link to use while a connection is being opened; the current one by default. */
  readonly link?: Link | undefined;
}

/** The author's side of a connection. */
export interface WireHandlers {
  readonly info: Implementation;
  /** The time in which the server has to accept an answer. */
  readonly timeoutMs: number;
  capabilities(era: Era): ClientCapabilities;
  /** Answers a request of a legacy server. */
  answer(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>;
  /** Receives a notification other than progress and cancellation. */
  notice(method: string, params: JsonObject): void;
  closed(link: Link, error: Error | undefined): void;
  report: EventHook;
}

interface Call {
  readonly id: RequestId;
  readonly link: Link;
  readonly options: AskOptions;
}

export class Wire {
  /** The level that modern requests ask log messages for. */
  logLevel: LoggingLevel | undefined;
  readonly #handlers: WireHandlers;
  readonly #calls = new Map<RequestId, Call>();
  /** Open requests by their progress token. */
  readonly #tokens = new Map<string | number, Call>();
  /** Questions of the server that are being answered. */
  readonly #questions = new Map<RequestId, AbortController>();
  #link: Link | undefined;
  #lastId = 0;

  constructor(handlers: WireHandlers) {
    this.#handlers = handlers;
  }

  get link(): Link {
    // Set by the negotiation, before the first request.
    return this.#link as Link;
  }

  /** The rules of the version, once it is negotiated. */
  get rules(): SpokenVersion | undefined {
    return this.#link?.rules;
  }

  /** Opens a link, unless it is in use already. The first one is used at once. */
  async start(link: Link): Promise<void> {
    if (this.#link === link) return;
    this.#link ??= link;
    await link.start({
      message: (message, during) => this.#message(link, message, during),
      closed: (error) => this.#closed(link, error),
      report: this.report,
    });
  }

  /** Uses an open link for everything that follows. Pending requests continue on the link that they were sent on. */
  use(link: Link): void {
    this.#link = link;
  }

  /** Closes a link on which no connection could be opened. */
  drop(link: Link): void {
    // The reason of the failure is more useful than a second failure while closing.
    if (link !== this.#link) link.close().catch(() => undefined);
  }

  async close(reason: unknown): Promise<void> {
    for (const question of this.#questions.values()) question.abort(reason);
    const links = new Set([this.#link, ...[...this.#calls.values()].map(({ link }) => link)]);
    await Promise.all([...links].map((link) => link?.close()));
  }

  /**
   * Sends one request.
   *
   * @throws {McpError} the error that the server answered with.
   * @throws {ClientError} if there is no valid answer.
   * @throws {unknown} the reason of the deadline's signal.
   */
  async ask(method: string, params: JsonObject | undefined, options: AskOptions): Promise<JsonObject> {
    const { link = this.link, deadline, headers } = options;
    const { signal } = deadline;
    signal.throwIfAborted();
    this.#lastId += 1;
    const id = this.#lastId;
    const token = options.progressToken === true ? id : options.progressToken;
    const request: JSONRPCRequest = { jsonrpc: "2.0", id, method, ...this.#withMeta(link, params, token) };
    const call: Call = { id, link, options };
    if (token !== undefined) this.#claimToken(token, call);
    this.#calls.set(id, call);
    try {
      const answer = await untilAborted(link.request(request, { signal, headers }), signal);
      if ("result" in answer) return answer.result;
      const { code, message, data } = answer.error;
      throw new McpError(code, message, data);
    } finally {
      this.#calls.delete(id);
      if (token !== undefined) this.#tokens.delete(token);
    }
  }

  /** Sends a notification. */
  async notify(method: string, params?: JsonObject, link = this.link): Promise<void> {
    await link.send({ jsonrpc: "2.0", method, ...this.#withMeta(link, params) });
  }

  /**
   * Stops the limits of the open calls, or of one of them, until the returned function is called.
   *
   * @param during The call. @default all
   */
  hold(during?: RequestId): () => void {
    const calls = [...this.#calls.values()].filter(({ id }) => during === undefined || id === during);
    const releases = calls.map(({ options }) => options.deadline.hold());
    return () => {
      for (const release of releases) release();
    };
  }

  #message(link: Link, message: JSONRPCRequest | JSONRPCNotification, during: RequestId | undefined): void {
    const { method, params = {} } = message;
    if ("id" in message) void this.#answer(link, message as JSONRPCRequest, during);
    else if (method === "notifications/progress") this.#progress(params);
    else if (method === "notifications/cancelled") this.#cancelled(params);
    else if (method === "notifications/subscriptions/acknowledged") this.#acknowledged(params);
    else this.#handlers.notice(method, params);
  }

  #closed(link: Link, error: Error | undefined): void {
    for (const question of this.#questions.values()) question.abort(error);
    this.#handlers.closed(link, error);
  }

  readonly report = (event: ClientEvent): void => {
    this.#handlers.report(event);
  };

  #claimToken(token: string | number, call: Call): void {
    if (this.#tokens.has(token)) {
      throw new KitError("options-invalid", `progressToken ${JSON.stringify(token)} belongs to another open request.`);
    }
    this.#tokens.set(token, call);
  }

  /** Adds the members of `_meta` that the version and the request need, as the member `params` of a message. */
  #withMeta(link: Link, params: JsonObject | undefined, progressToken?: string | number): { params?: JsonObject } {
    const meta = metaOf(params);
    const whole: JsonObject = {
      ...meta,
      ...this.#envelope(link),
      ...(progressToken === undefined ? {} : { progressToken }),
    };
    if (Object.keys(whole).length > 0) return { params: { ...params, _meta: whole } };
    return params ? { params } : {};
  }

  /** The fields that each modern message has. */
  #envelope({ rules }: Link): JsonObject {
    const { logLevel } = this;
    if (rules?.era !== "modern") return {};
    return {
      [META.protocolVersion]: rules.version,
      [META.clientInfo]: pick(this.#handlers.info, rules.implementationFields),
      [META.clientCapabilities]: this.#handlers.capabilities("modern"),
      ...(logLevel === undefined ? {} : { [META.logLevel]: logLevel }),
    };
  }

  #progress(params: JsonObject): void {
    const { progressToken, progress, total, message } = params;
    const call = this.#tokens.get(progressToken as string | number);
    // Progress of a task, or late progress of a request that is answered or was given up.
    if (!call) this.#handlers.notice("notifications/progress", params);
    if (!call || typeof progress !== "number") return;
    const { deadline, onProgress, resetTimeoutOnProgress = true } = call.options;
    if (resetTimeoutOnProgress) deadline.restart();
    const update: Progress = {
      progress,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof message === "string" ? { message } : {}),
    };
    this.guard("onProgress", () => onProgress?.(update));
  }

  #acknowledged(params: JsonObject): void {
    const id = metaOf(params)["io.modelcontextprotocol/subscriptionId"] as RequestId;
    this.#calls.get(id)?.options.onAcknowledged?.(params);
  }

  #cancelled({ requestId, reason }: JsonObject): void {
    const question = this.#questions.get(requestId as RequestId);
    question?.abort(new Error(`The server withdrew its request${typeof reason === "string" ? `: ${reason}` : "."}`));
  }

  /** Answers a request of the server. The limits of the calls that may have led to it stand still meanwhile. */
  async #answer(link: Link, request: JSONRPCRequest, during: RequestId | undefined): Promise<void> {
    const { id, method, params = {} } = request;
    const { rules } = link;
    if (rules?.era === "modern") {
      const text = `A message of the server was ignored: ${rules.version} does not allow the request ${method}.`;
      return this.report({ type: "warning", message: text });
    }
    const question = new AbortController();
    this.#questions.set(id, question);
    const release = this.hold(during);
    const answer = await this.#outcomeOf(method, params, question.signal);
    this.#questions.delete(id);
    release();
    // A question that the server withdrew is not answered.
    if (question.signal.aborted) return;
    const { timeoutMs } = this.#handlers;
    const deadline = new Deadline({ what: "The message", timeoutMs, totalTimeoutMs: 0 });
    try {
      await link.send({ jsonrpc: "2.0", id, ...answer }, deadline.signal);
    } catch (error) {
      this.report({ type: "warning", message: `The answer to ${method} could not be sent: ${textOf(error)}` });
    } finally {
      deadline.stop();
    }
  }

  async #outcomeOf(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<{ result: JsonObject } | { error: JSONRPCErrorObject }> {
    try {
      const result = await this.#handlers.answer(method, params, signal);
      return isObject(result) ? { result } : { error: internalError() };
    } catch (error) {
      if (!McpError.is(error)) {
        if (!signal.aborted) this.report({ type: "handler-failed", handler: method, error });
        // The text may contain details of the user's machine.
        return { error: internalError() };
      }
      const { code, message, data } = error;
      return { error: { code, message, ...(data === undefined ? {} : { data }) } };
    }
  }

  /** Calls a handler of the author. What it throws is reported, and does not disturb the connection. */
  guard(handler: string, run: () => unknown): void {
    try {
      const returned = run();
      if (returned instanceof Promise) {
        returned.catch((error: unknown) => this.report({ type: "handler-failed", handler, error }));
      }
    } catch (error) {
      this.report({ type: "handler-failed", handler, error });
    }
  }
}

function internalError(): JSONRPCErrorObject {
  return { code: ErrorCode.InternalError, message: "The client failed to answer." };
}
