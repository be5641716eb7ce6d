/**
 * The connection to one server. It is opened, sends requests and answers the questions in their results, and is opened again when it
 * is lost.
 *
 * @module
 */
import type { Implementation } from "../../core/protocol/client-facts.ts";
import { pick } from "../../core/protocol/content.ts";
import type { JsonObject, RequestId } from "../../core/protocol/jsonrpc.ts";
import { readMeta } from "../../core/protocol/lifecycle.ts";
import { findRequest } from "../../core/protocol/methods.ts";
import { SPOKEN_VERSIONS, type SpokenVersion, speakVersions } from "../../core/protocol/spoken-versions.ts";
import { checkRequestOptions } from "../api/check-options.ts";
import type { Client } from "../api/client.ts";
import type { ClientConnection } from "../api/client-connection.ts";
import { type ExtensionContext, type ExtensionHooks, wrap } from "../api/extensions.ts";
import { type ClientLimits, type ClientOptions, resolveLimits } from "../api/options.ts";
import type { OutgoingRequest } from "../api/wrapped-requests.ts";
import { Deadline, untilAborted } from "../basics/deadline.ts";
import { ClientError, invalidAnswer, markMayHaveRun } from "../basics/errors.ts";
import { type ClientEvent, printProblem } from "../basics/events.ts";
import { LazyAnswering } from "../questions/lazy-answering.ts";
import { findMissingSupport } from "../requests/missing-support.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { RequestInProgress, RequestParts } from "../requests/request-parts.ts";
import type { ServerFacts } from "../requests/results.ts";
import { UNCACHEABLE } from "../requests/rounds.ts";
import type { Link } from "../transports/link.ts";
import type { AssumedServer } from "./assumed-server.ts";
import { type Negotiation, negotiate } from "./negotiate.ts";
import { type ConnectTarget, createLinkOpener } from "./open-link.ts";
import type { Recovery, RecoveryParts } from "./recovery.ts";
import type { Reopening } from "./reopening.ts";
import { RequestSender } from "./request-sender.ts";
import { Subscriptions } from "./subscriptions.ts";

export class ServerConnection implements ClientConnection {
  readonly sender: RequestSender;
  readonly answering: LazyAnswering;
  readonly subscriptions: Subscriptions;
  readonly limits: ClientLimits;
  /** The hooks of the extensions, the outermost first. */
  extensions: readonly ExtensionHooks[] = [];
  readonly #options: ClientOptions;
  readonly #negotiation: Negotiation;
  #facts: ServerFacts | undefined;
  #assumed: AssumedServer | undefined;
  #recovery: Recovery | undefined;
  readonly #target: ConnectTarget;
  readonly #closing = new AbortController();
  readonly #canReconnect: boolean;
  #reopener: Reopening | undefined;
  #reopening: Promise<void> | undefined;
  /** The error because of which the connection can no longer be opened. */
  #lost: ClientError | undefined;

  /** @throws {KitError} `options-invalid`. */
  constructor(target: ConnectTarget, options: ClientOptions) {
    this.limits = resolveLimits(options);
    this.#options = options;
    this.#target = target;
    // Only these members are sent. `connect()` has checked name and version.
    const info = pick(options, SPOKEN_VERSIONS[0]?.implementationFields ?? []) as unknown as Implementation;
    const { timeoutMs, reconnectsMax } = this.limits;
    const report = (event: ClientEvent) => this.report(event);
    const extensions = () => this.extensions;
    this.answering = new LazyAnswering({ options, timeoutMs, extensions, report });
    this.sender = new RequestSender({
      info,
      answering: this.answering,
      notification: (method, params) => this.#onNotification(method, params),
      closed: (link, error) => this.#onClosed(link, error),
      report: (event) => this.#onLinkEvent(event),
    });
    const declared = () => this.facts.capabilities;
    this.subscriptions = new Subscriptions({
      sender: this.sender,
      options,
      timeoutMs,
      reconnectsMax,
      capabilities: declared,
      extensions,
      notification: (method, params) => this.#onNotification(method, params),
      report,
    });
    const isHttp = typeof target === "string" || target instanceof URL;
    const { signal: closed } = this.#closing;
    const { open, canReconnect } = createLinkOpener(target, options, this.limits, () => this.sender.hold());
    this.#negotiation = {
      sender: this.sender,
      versions: speakVersions(options.protocolVersions),
      info,
      capabilities: () => this.answering.capabilities("legacy"),
      timeoutMs: this.limits.timeoutMs,
      probeTimeoutMs: this.limits.probeTimeoutMs,
      signal: closed,
      open,
      hasHttpSse: isHttp,
    };
    this.#canReconnect = canReconnect;
  }

  /** The facts about the server. */
  get facts(): ServerFacts {
    // Set by connect(), before a client is returned.
    return this.#facts as ServerFacts;
  }

  get rules(): SpokenVersion {
    // Set by every negotiation, before the first request.
    return this.sender.rules as SpokenVersion;
  }

  /** Creates the extensions from the options. */
  extend(client: Client): void {
    const { signal } = this.#closing;
    const context: ExtensionContext = {
      client,
      signal,
      hasSession: () => this.sender.link?.sessionId !== undefined,
      answer: async (method, params, asked) => (await this.answering.load()).answer(method, params, asked),
      report: (event) => this.report(event),
      listen: () => this.subscriptions.refresh(),
      totalTimeoutMs: this.limits.totalTimeoutMs,
    };
    this.extensions = (this.#options.use ?? []).map((extend) => extend(context));
  }

  /** Opens the connection. If this fails, everything is closed again. */
  async connect(): Promise<void> {
    const { serverFacts: known, signal } = this.#options;
    const abort = () => this.#closing.abort(signal?.reason);
    signal?.addEventListener("abort", abort);
    try {
      if (signal?.aborted) abort();
      this.#closing.signal.throwIfAborted();
      if (known && (await this.#assume(known))) return;
      await this.#negotiate();
      this.subscriptions.start();
    } catch (error) {
      // The first error is more useful than an error while closing.
      await this.close().catch(() => undefined);
      throw signal?.aborted ? signal.reason : error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /**
   * Sends a request through the extensions.
   *
   * @param toParts Returns the parts of the request that the extensions have passed on.
   */
  async send(request: OutgoingRequest, toParts: (last: OutgoingRequest) => RequestParts): Promise<JsonObject> {
    // Checked before the extensions, because an extension such as a cache may return a result without sending the request.
    this.checkOpen(request.method);
    return wrap(this.extensions, "onRequest", (last) =>
      this.request(last.method, last.params, last.options, toParts(last)),
    )(request);
  }

  /** Sends a request, and returns its result. */
  async request(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions = {},
    parts: RequestParts = {},
  ): Promise<JsonObject> {
    const mistake = checkRequestOptions(options);
    if (mistake) await mistake;
    const { signal, timeoutMs = this.limits.timeoutMs, totalTimeoutMs = this.limits.totalTimeoutMs } = options;
    const deadline = new Deadline({ what: method, timeoutMs, totalTimeoutMs, signal });
    const request: RequestInProgress = { method, params, options, parts, deadline };
    try {
      return await this.#sendRounds(request);
    } catch (error) {
      throw request.mayHaveRun ? markMayHaveRun(error) : error;
    } finally {
      deadline.stop();
    }
  }

  /** Waits for the response to a request of another connection. @param token See `onResumeToken` of `RequestOptions`. */
  async resume(token: string, options: RequestOptions): Promise<JsonObject> {
    const mistake = checkRequestOptions(options);
    if (mistake) await mistake;
    const { resumeRequest } = await import("../on-demand.ts");
    return resumeRequest(token, options, {
      target: this.#target,
      sender: this.sender,
      limits: this.limits,
      open: this.#negotiation.open,
    });
  }

  async notify(method: string, params?: JsonObject): Promise<void> {
    await this.#whenSettled();
    this.checkOpen(method);
    await this.sender.notify(method, params);
  }

  async close(): Promise<void> {
    const reason = new ClientError("closed", "The client is closed.");
    this.#closing.abort(reason);
    this.subscriptions.stop();
    await this.sender.close(reason);
  }

  report(event: ClientEvent): void {
    const { onEvent = printProblem } = this.#options;
    for (const each of [...this.extensions, { onEvent }])
      try {
        each.onEvent?.(event);
      } catch {
        // The hook that receives failures has failed itself.
      }
  }

  /** @throws {ClientError} `closed` if the client was closed, or the connection could not be opened again. */
  checkOpen(method: string): void {
    const { aborted, reason } = this.#closing.signal;
    const cause: ClientError | undefined = aborted ? reason : this.#lost;
    if (cause) throw new ClientError("closed", `${method} was not sent. ${cause.message}`, { cause });
  }

  /**
   * Resolves once no session is being opened and no era is being detected. The server would refuse messages that are sent
   * earlier.
   */
  async #whenSettled(): Promise<void> {
    await (this.#reopening ?? this.#assumed?.detection)?.catch(() => undefined);
  }

  /** Sends a request, answers the questions in its results, and returns the last result. */
  async #sendRounds(request: RequestInProgress): Promise<JsonObject> {
    const { method, params, options, deadline } = request;
    const meta = { ...readMeta(params), ...options.meta };
    const own = Object.keys(meta).length > 0 ? { ...params, _meta: meta } : params;
    let round: JsonObject = {};
    for (let rounds = 0; ; rounds += 1) {
      const sent = { ...own, ...round };
      const result = await this.#sendRound(request, Object.keys(sent).length > 0 ? sent : undefined);
      if (rounds > 0) UNCACHEABLE.add(result);
      const { resultType = "complete" } = result;
      if (resultType === "complete" || this.sender.rules?.era !== "modern" || this.#isHandled(resultType))
        return result;
      // Only a request that runs a handler may be answered with questions.
      if (resultType !== "input_required" || !findRequest(method)?.runs) {
        throw invalidAnswer(method, `its result type is ${JSON.stringify(resultType)}`);
      }
      if (rounds >= this.limits.roundsMax) throw (await import("../on-demand.ts")).tooManyRounds(method, rounds);
      // The server has run its handler up to the question.
      request.mayHaveRun = true;
      round = await (await this.answering.load()).answerRound(method, result, deadline);
      deadline.restart();
    }
  }

  /** Whether an extension handles a type of results. */
  #isHandled(resultType: unknown): boolean {
    return this.extensions.some(({ resultTypes }) => resultTypes?.includes(resultType as string));
  }

  /** Sends one round, and sends it again if the recovery decides so. */
  async #sendRound(request: RequestInProgress, params: JsonObject | undefined): Promise<JsonObject> {
    const { method, options, parts, deadline } = request;
    const { onProgress, resetTimeoutOnProgress = this.#options.resetTimeoutOnProgress ?? true } = options;
    // Only requests that run a handler of the server report progress.
    const row = findRequest(method);
    const needsProgress = onProgress !== undefined || (resetTimeoutOnProgress && row?.runs !== undefined);
    for (let repeats = 0; ; repeats += 1) {
      await untilAborted(this.#whenSettled(), deadline.signal);
      this.checkOpen(method);
      const { rules } = this;
      const missing = findMissingSupport(method, rules, this.facts.capabilities);
      if (missing) throw (await import("../on-demand.ts")).toUnsupportedError(method, rules.version, missing);
      const { link } = this.sender;
      const assumed = this.#assumed?.isUnconfirmed ? this.#assumed : undefined;
      try {
        const result = await this.sender.request(method, params, {
          deadline,
          onProgress,
          resetTimeoutOnProgress,
          progressToken: options.progressToken ?? (needsProgress || undefined),
          headers: this.rules.era === "modern" ? parts.headers?.() : undefined,
          onRequestId: options.onRequestId,
          onEventId: options.onResumeToken && this.#createTokens(link, method, options.onResumeToken),
        });
        if (this.#assumed) this.#assumed.isUnconfirmed = false;
        return result;
      } catch (error) {
        deadline.signal.throwIfAborted();
        request.mayHaveRun ||= ClientError.is(error) && error.mayHaveRun;
        if (this.#closing.signal.aborted) throw error;
        const { Recovery } = await import("../on-demand.ts");
        this.#recovery ??= new Recovery(this.#recoveryParts());
        if (!(await this.#recovery.recover(error, { request, row, params, link, assumed, repeats }))) throw error;
        deadline.restart();
      }
    }
  }

  #recoveryParts(): RecoveryParts {
    return {
      canReconnect: this.#canReconnect,
      facts: () => this.facts,
      link: () => this.sender.link,
      report: (event) => this.report(event),
      reopen: (link, error) => this.#reopen(link, error),
      detect: async () => {
        this.#assumed = await this.#createAssumed();
        return this.#assumed.detectAgain();
      },
    };
  }

  /** Returns the function that receives the id of each event of a request, and passes on a token for `resume()`. */
  #createTokens({ rules, sessionId }: Link, method: string, receive: (token: string) => void) {
    return (eventId: string, id: RequestId) => {
      const token = JSON.stringify([String(this.#target), rules?.version, sessionId, id, method, eventId]);
      this.sender.callHandler("onResumeToken", () => receive(btoa(token)));
    };
  }

  async #negotiate(isLegacy?: boolean): Promise<void> {
    this.#facts = await negotiate(this.#negotiation, isLegacy);
  }

  /** Connects with the facts from an earlier connection. Returns false if they cannot be used. */
  async #assume(known: ServerFacts): Promise<boolean> {
    this.#assumed = await this.#createAssumed();
    return this.#assumed.assume(known);
  }

  async #createAssumed(): Promise<AssumedServer> {
    const { AssumedServer } = await import("../on-demand.ts");
    return new AssumedServer({
      negotiation: this.#negotiation,
      facts: () => this.facts,
      use: (facts) => {
        this.#facts = facts;
      },
      negotiate: (isLegacy) => this.#negotiate(isLegacy),
      listen: () => this.subscriptions.start(),
    });
  }

  #onLinkEvent(event: ClientEvent): void {
    this.report(event);
    // Changes may have been missed, because a server may send notifications without an event id.
    if (event.type === "stream-resumed" && event.method === undefined) this.subscriptions.assumeChanges();
    if (event.type !== "stream-lost" || !ClientError.is(event.error) || event.error.code !== "session-lost") return;
    // If this fails, the next request fails as well and reports the error.
    this.#reopen(this.sender.link, event.error).catch(() => undefined);
  }

  /** Opens a new session or channel. Failures at the same time open only one, and requests wait for it. */
  #reopen(link: Link, lost: Error | undefined): Promise<void> {
    this.#reopening ??= this.sender.link === link ? this.#runReopening(link, lost) : undefined;
    return this.#reopening ?? Promise.resolve();
  }

  async #runReopening(link: Link, lost: Error | undefined): Promise<void> {
    try {
      const { Reopening } = await import("../on-demand.ts");
      this.#reopener ??= new Reopening({
        subscriptions: this.subscriptions,
        reconnectsMax: this.limits.reconnectsMax,
        signal: this.#closing.signal,
        report: (event) => this.report(event),
        negotiate: (isLegacy) => this.#negotiate(isLegacy),
      });
      await this.#reopener.run(link, lost);
    } finally {
      this.#reopening = undefined;
    }
  }

  #onClosed(link: Link, error: Error | undefined): void {
    // Before the first connection, connect() throws the error as well.
    if (!this.#facts || !this.#canReconnect) this.report({ type: "closed", error });
    // A channel that was replaced, or that is just being opened, needs no recovery.
    else if (this.sender.link === link && !this.#reopening) {
      this.#reopen(link, error).catch((failure: ClientError) => {
        if (this.#closing.signal.aborted) return;
        this.#lost = failure;
        this.report({ type: "closed", error: failure });
      });
    }
  }

  #onNotification(method: string, params: JsonObject): void {
    for (const each of this.extensions)
      this.sender.callHandler("use: onNotification", () => each.onNotification?.(method, params));
    // Only extensions use progress that belongs to no open request.
    if (method === "notifications/progress" || this.subscriptions.deliver(method, params)) return;
    const { onNotification } = this.#options;
    this.sender.callHandler("onNotification", () => onNotification?.(method, params));
  }
}
