/**
 * Sends requests over a link in the form of the negotiated version, and passes received messages on.
 *
 * @module
 */
import type { Implementation } from "../../core/protocol/client-facts.ts";
import { pick } from "../../core/protocol/content.ts";
import { KitError, McpError } from "../../core/protocol/errors.ts";
import type { JSONRPCNotification, JSONRPCRequest, JsonObject, RequestId } from "../../core/protocol/jsonrpc.ts";
import { readMeta } from "../../core/protocol/lifecycle.ts";
import type { LoggingLevel } from "../../core/protocol/logging.ts";
import * as META from "../../core/protocol/meta.ts";
import type { SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import { type Deadline, untilAborted } from "../basics/deadline.ts";
import type { ClientEvent, EventHook } from "../basics/events.ts";
import type { LazyAnswering } from "../questions/lazy-answering.ts";
import type { Progress } from "../requests/results.ts";
import type { JSONRPCResponse, Link, SendOptions } from "../transports/link.ts";

/** The options with which one request is sent. */
export interface SentRequestOptions {
  readonly deadline: Deadline;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The progress token, or true to use the id of the request. Without it the server does not report progress. */
  readonly progressToken?: string | number | true | undefined;
  readonly resetTimeoutOnProgress?: boolean | undefined;
  /** Receives the acknowledgement of a `subscriptions/listen` request. */
  readonly onAcknowledged?: ((params: JsonObject) => void) | undefined;
  /** Receives the id of each event from which the stream can be resumed, and the id of the request. */
  readonly onEventId?: ((eventId: string, id: RequestId) => void) | undefined;
  /** Receives the id of the request. */
  readonly onRequestId?: ((id: RequestId) => void) | undefined;
  /** The request of another connection whose stream is resumed. If present, no request is sent. */
  readonly resume?: { readonly id: RequestId; readonly lastEventId: string } | undefined;
  /** The link to use. @default the current link */
  readonly link?: Link | undefined;
}

/** The parts of the connection that the sender uses. */
export interface SenderHandlers {
  readonly info: Implementation;
  readonly answering: LazyAnswering;
  /** Receives each notification except cancellations and the progress of open requests. */
  notification(method: string, params: JsonObject): void;
  closed(link: Link, error: Error | undefined): void;
  report: EventHook;
}

/** A request without a response. */
interface OpenRequest {
  readonly id: RequestId;
  /** The progress token. */
  readonly token: string | number | undefined;
  readonly link: Link;
  readonly options: SentRequestOptions;
}

export class RequestSender {
  /** The minimum level of log messages that modern requests ask for. */
  logLevel: LoggingLevel | undefined;
  readonly #handlers: SenderHandlers;
  /** The open requests. Their ids and progress tokens are unique on each link. */
  readonly #open = new Set<OpenRequest>();
  #link: Link | undefined;
  #lastId = 0;

  constructor(handlers: SenderHandlers) {
    this.#handlers = handlers;
  }

  get link(): Link {
    // Set by the negotiation, before the first request.
    return this.#link as Link;
  }

  /** The rules of the negotiated version. */
  get rules(): SpokenVersion | undefined {
    return this.#link?.rules;
  }

  /** Opens a link, unless it is already in use. The first link is used at once. */
  async start(link: Link): Promise<void> {
    if (this.#link === link) return;
    this.#link ??= link;
    await link.start({
      message: (message, during) => this.#message(link, message, during),
      closed: (error) => this.#closed(link, error),
      report: this.report,
    });
  }

  /** Uses an open link for all later requests. Pending requests continue on their own link. */
  use(link: Link): void {
    this.#link = link;
  }

  /** Closes a link on which no connection could be opened. */
  drop(link: Link): void {
    // The error of the connection is more useful than an error while closing.
    if (link !== this.#link) link.close().catch(() => undefined);
  }

  async close(reason: unknown): Promise<void> {
    this.#handlers.answering.end(reason);
    const links = new Set([this.#link, ...[...this.#open].map(({ link }) => link)]);
    await Promise.all([...links].map((link) => link?.close()));
  }

  /**
   * Sends one request, and returns its result.
   *
   * @throws {McpError} if the response is an error.
   * @throws {ClientError} if there is no valid response.
   * @throws {unknown} the reason of the deadline's signal.
   */
  async request(method: string, params: JsonObject | undefined, options: SentRequestOptions): Promise<JsonObject> {
    const { link = this.link, deadline, headers, onEventId, resume } = options;
    const { signal } = deadline;
    signal.throwIfAborted();
    this.#lastId += 1;
    const id = resume?.id ?? this.#lastId;
    const token = options.progressToken === true ? id : options.progressToken;
    const request: JSONRPCRequest = { jsonrpc: "2.0", id, method, ...this.#withMeta(link, params, token) };
    if (token !== undefined && this.#find(link, "token", token)) {
      throw new KitError("options-invalid", `progressToken ${JSON.stringify(token)} is used by another open request.`);
    }
    const call: OpenRequest = { id, token, link, options };
    this.#open.add(call);
    options.onRequestId?.(id);
    try {
      const send: SendOptions = { signal, headers, onEventId: onEventId && ((eventId) => onEventId(eventId, id)) };
      const sent = resume ? link.resume?.(request, resume.lastEventId, send) : link.request(request, send);
      // Never undefined, because only a link with resume() has passed on the id of an event.
      const response = await untilAborted(sent as Promise<JSONRPCResponse>, signal);
      if ("result" in response) return response.result;
      const { code, message, data } = response.error;
      throw new McpError(code, message, data);
    } finally {
      this.#open.delete(call);
    }
  }

  #find(link: Link, by: "id" | "token", value: unknown): OpenRequest | undefined {
    return [...this.#open].find((call) => call.link === link && call[by] === value);
  }

  /** Sends a notification. */
  async notify(method: string, params?: JsonObject, link = this.link): Promise<void> {
    await link.send({ jsonrpc: "2.0", method, ...this.#withMeta(link, params) });
  }

  /**
   * Pauses the limits of open requests until the returned function is called.
   *
   * @param during The id of one request. @default all requests
   */
  hold(during?: RequestId): () => void {
    const calls = [...this.#open].filter(({ id }) => during === undefined || id === during);
    const releases = calls.map(({ options }) => options.deadline.hold());
    return () => {
      for (const release of releases) release();
    };
  }

  #message(
    link: Link,
    message: JSONRPCRequest | JSONRPCNotification,
    during: RequestId | undefined,
  ): Promise<void> | undefined {
    const { method, params = {} } = message;
    const { answering } = this.#handlers;
    if ("id" in message) {
      const call = this.#find(link, "id", during);
      const hold = () => this.hold(during);
      return answering
        .load()
        .then((loaded) => loaded.answerRequest({ link, request: message as JSONRPCRequest, call, hold }));
    }
    if (method === "notifications/progress") this.#progress(link, params);
    else if (method === "notifications/cancelled") answering.end(undefined, params);
    else if (method === "notifications/subscriptions/acknowledged") this.#acknowledged(link, params);
    else this.#handlers.notification(method, params);
    return undefined;
  }

  #closed(link: Link, error: Error | undefined): void {
    this.#handlers.answering.end(error);
    this.#handlers.closed(link, error);
  }

  readonly report = (event: ClientEvent): void => {
    this.#handlers.report(event);
  };

  /** Returns the member `params` of a message, with the members of `_meta` that the version and the request need. */
  #withMeta(link: Link, params: JsonObject | undefined, progressToken?: string | number): { params?: JsonObject } {
    const meta = readMeta(params);
    const whole: JsonObject = {
      ...meta,
      ...this.#envelope(link),
      ...(progressToken === undefined ? {} : { progressToken }),
    };
    if (Object.keys(whole).length > 0) return { params: { ...params, _meta: whole } };
    return params ? { params } : {};
  }

  /** Returns the members of `_meta` that each modern message has. */
  #envelope({ rules }: Link): JsonObject {
    const { logLevel } = this;
    if (rules?.era !== "modern") return {};
    return {
      [META.protocolVersion]: rules.version,
      [META.clientInfo]: pick(this.#handlers.info, rules.implementationFields),
      [META.clientCapabilities]: this.#handlers.answering.capabilities("modern"),
      ...(logLevel === undefined ? {} : { [META.logLevel]: logLevel }),
    };
  }

  #progress(link: Link, params: JsonObject): void {
    const { progressToken, progress, total, message } = params;
    const call = progressToken === undefined ? undefined : this.#find(link, "token", progressToken);
    // Progress of a task, or of a request that has ended.
    if (!call) this.#handlers.notification("notifications/progress", params);
    if (!call || typeof progress !== "number") return;
    const { deadline, onProgress, resetTimeoutOnProgress = true } = call.options;
    if (resetTimeoutOnProgress) deadline.restart();
    const update: Progress = {
      progress,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof message === "string" ? { message } : {}),
    };
    this.callHandler("onProgress", () => onProgress?.(update));
  }

  #acknowledged(link: Link, params: JsonObject): void {
    const id = readMeta(params)["io.modelcontextprotocol/subscriptionId"];
    this.#find(link, "id", id)?.options.onAcknowledged?.(params);
  }

  /** Calls a handler from the options. If it throws or rejects, the error is reported. */
  callHandler(handler: string, run: () => unknown): void {
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
