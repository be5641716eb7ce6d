/**
 * Sends requests over a link in the form of the negotiated version, and passes on what arrives.
 *
 * @module
 */
import type { Implementation } from "../../core/protocol/client-facts.ts";
import { pick } from "../../core/protocol/content.ts";
import { KitError, McpError } from "../../core/protocol/errors.ts";
import type { JSONRPCNotification, JSONRPCRequest, JsonObject, RequestId } from "../../core/protocol/jsonrpc.ts";
import { META, readMeta } from "../../core/protocol/lifecycle.ts";
import type { LoggingLevel } from "../../core/protocol/logging.ts";
import type { SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import { type Deadline, untilAborted } from "../basics/deadline.ts";
import type { ClientEvent, EventHook } from "../basics/events.ts";
import type { Answers } from "../questions/lazy-answering.ts";
import type { Progress } from "../requests/results.ts";
import type { Answer, Link, SendOptions } from "../transports/link.ts";

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
  /** Receives the id of each event from which the answer can be awaited again, and the id of the request. */
  readonly onEventId?: ((eventId: string, id: RequestId) => void) | undefined;
  /** The request of another connection whose answer is awaited here, in place of a new one. */
  readonly resume?: { readonly id: RequestId; readonly lastEventId: string } | undefined;
  /** The link to use while a connection is being opened; the current one by default. */
  readonly link?: Link | undefined;
}

/** The author's side of a connection. */
export interface SenderHandlers {
  readonly info: Implementation;
  readonly answers: Answers;
  /** Receives a notification other than progress and cancellation. */
  notification(method: string, params: JsonObject): void;
  closed(link: Link, error: Error | undefined): void;
  report: EventHook;
}

interface Call {
  readonly id: RequestId;
  /** The progress token. */
  readonly token: string | number | undefined;
  readonly link: Link;
  readonly options: AskOptions;
}

export class RequestSender {
  /** The level that modern requests ask log messages for. */
  logLevel: LoggingLevel | undefined;
  readonly #handlers: SenderHandlers;
  /** The open requests. Ids and progress tokens are unique on each link. */
  readonly #calls = new Set<Call>();
  #link: Link | undefined;
  #lastId = 0;

  constructor(handlers: SenderHandlers) {
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
    this.#handlers.answers.end(reason);
    const links = new Set([this.#link, ...[...this.#calls].map(({ link }) => link)]);
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
    const { link = this.link, deadline, headers, onEventId, resume } = options;
    const { signal } = deadline;
    signal.throwIfAborted();
    this.#lastId += 1;
    const id = resume?.id ?? this.#lastId;
    const token = options.progressToken === true ? id : options.progressToken;
    const request: JSONRPCRequest = { jsonrpc: "2.0", id, method, ...this.#withMeta(link, params, token) };
    if (token !== undefined && this.#find(link, "token", token)) {
      throw new KitError("options-invalid", `progressToken ${JSON.stringify(token)} belongs to another open request.`);
    }
    const call: Call = { id, token, link, options };
    this.#calls.add(call);
    try {
      const send: SendOptions = { signal, headers, onEventId: onEventId && ((eventId) => onEventId(eventId, id)) };
      const sent = resume ? link.resume?.(request, resume.lastEventId, send) : link.request(request, send);
      // Only a link that can resume has given the id of an event.
      const answer = await untilAborted(sent as Promise<Answer>, signal);
      if ("result" in answer) return answer.result;
      const { code, message, data } = answer.error;
      throw new McpError(code, message, data);
    } finally {
      this.#calls.delete(call);
    }
  }

  #find(link: Link, by: "id" | "token", value: unknown): Call | undefined {
    return [...this.#calls].find((call) => call.link === link && call[by] === value);
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
    const calls = [...this.#calls].filter(({ id }) => during === undefined || id === during);
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
    const { answers } = this.#handlers;
    if ("id" in message) {
      const call = this.#find(link, "id", during);
      const hold = () => this.hold(during);
      return answers.answering.then((answering) =>
        answering.answerRequest({ link, request: message as JSONRPCRequest, call, hold }),
      );
    }
    if (method === "notifications/progress") this.#progress(link, params);
    else if (method === "notifications/cancelled") answers.end(undefined, params);
    else if (method === "notifications/subscriptions/acknowledged") this.#acknowledged(link, params);
    else this.#handlers.notification(method, params);
    return undefined;
  }

  #closed(link: Link, error: Error | undefined): void {
    this.#handlers.answers.end(error);
    this.#handlers.closed(link, error);
  }

  readonly report = (event: ClientEvent): void => {
    this.#handlers.report(event);
  };

  /** Adds the members of `_meta` that the version and the request need, as the member `params` of a message. */
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

  /** The fields that each modern message has. */
  #envelope({ rules }: Link): JsonObject {
    const { logLevel } = this;
    if (rules?.era !== "modern") return {};
    return {
      [META.protocolVersion]: rules.version,
      [META.clientInfo]: pick(this.#handlers.info, rules.implementationFields),
      [META.clientCapabilities]: this.#handlers.answers.capabilities("modern"),
      ...(logLevel === undefined ? {} : { [META.logLevel]: logLevel }),
    };
  }

  #progress(link: Link, params: JsonObject): void {
    const { progressToken, progress, total, message } = params;
    const call = progressToken === undefined ? undefined : this.#find(link, "token", progressToken);
    // Progress of a task, or late progress of a request that is answered or was given up.
    if (!call) this.#handlers.notification("notifications/progress", params);
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

  #acknowledged(link: Link, params: JsonObject): void {
    const id = readMeta(params)["io.modelcontextprotocol/subscriptionId"];
    this.#find(link, "id", id)?.options.onAcknowledged?.(params);
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
