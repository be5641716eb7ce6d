/**
 * The connection to one server: how it is opened, and how a request becomes a result.
 *
 * @module
 */
import type { Implementation } from "../../core/protocol/client-facts.ts";
import { pick } from "../../core/protocol/content.ts";
import type { JsonObject, RequestId } from "../../core/protocol/jsonrpc.ts";
import { readMeta } from "../../core/protocol/lifecycle.ts";
import { findRequest } from "../../core/protocol/methods.ts";
import { SPOKEN_VERSIONS, type SpokenVersion, speakVersions } from "../../core/protocol/spoken-versions.ts";
import type { Client } from "../client.ts";
import type { ClientConnection } from "../client-connection.ts";
import { afterOtherAttempt, ClientError, invalidAnswer } from "../errors.ts";
import { type ClientEvent, printProblem } from "../events.ts";
import { type ExtensionContext, type ExtensionHooks, wrap } from "../extensions.ts";
import { type Amounts, type ClientOptions, checkRequestOptions, resolveAmounts } from "../options.ts";
import { Answers } from "../questions/lazy-answering.ts";
import { Deadline, untilAborted } from "../requests/deadline.ts";
import type { OutgoingRequest } from "../requests/passing-on.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { ServerFacts } from "../requests/results.ts";
import { FROM_ROUNDS } from "../requests/rounds.ts";
import type { RequestParts, Sending } from "../requests/sending.ts";
import type { Link } from "../transports/link.ts";
import { type ConnectTarget, linkOpener } from "../transports/open-link.ts";
import { missingSupport } from "./missing-support.ts";
import { type Negotiation, negotiate } from "./negotiate.ts";
import type { Recovery, RecoveryParts } from "./recovery.ts";
import type { RememberedServer } from "./remembered-server.ts";
import type { Reopening } from "./reopening.ts";
import { RequestSender } from "./request-sender.ts";
import { Subscriptions } from "./subscriptions.ts";

export class Connection implements ClientConnection {
  readonly sender: RequestSender;
  readonly answers: Answers;
  readonly subscriptions: Subscriptions;
  readonly amounts: Amounts;
  /** What the extensions do, the outermost first. */
  extensions: readonly ExtensionHooks[] = [];
  readonly #options: ClientOptions;
  readonly #negotiation: Negotiation;
  #facts: ServerFacts | undefined;
  #remembered: RememberedServer | undefined;
  #recovery: Recovery | undefined;
  readonly #target: ConnectTarget;
  readonly #closing = new AbortController();
  readonly #canReconnect: boolean;
  #reopener: Reopening | undefined;
  #reopening: Promise<void> | undefined;
  /** Why the connection cannot be opened any more. */
  #lost: ClientError | undefined;

  /** @throws {KitError} `options-invalid`. */
  constructor(target: ConnectTarget, options: ClientOptions) {
    this.amounts = resolveAmounts(options);
    this.#options = options;
    this.#target = target;
    // The versions limit the members that are sent; name and version were checked above.
    const info = pick(options, SPOKEN_VERSIONS[0]?.implementationFields ?? []) as unknown as Implementation;
    const { timeoutMs, reconnectsMax } = this.amounts;
    const report = (event: ClientEvent) => this.report(event);
    const extensions = () => this.extensions;
    this.answers = new Answers({ options, timeoutMs, extensions, report });
    this.sender = new RequestSender({
      info,
      answers: this.answers,
      notification: (method, params) => this.#notification(method, params),
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
      notification: (method, params) => this.#notification(method, params),
      report,
    });
    const isHttp = typeof target === "string" || target instanceof URL;
    const { signal: closed } = this.#closing;
    const { open, canReconnect } = linkOpener(target, options, this.amounts, () => this.sender.hold());
    this.#negotiation = {
      sender: this.sender,
      versions: speakVersions(options.protocolVersions),
      info,
      capabilities: () => this.answers.capabilities("legacy"),
      timeoutMs: this.amounts.timeoutMs,
      probeTimeoutMs: this.amounts.probeTimeoutMs,
      signal: closed,
      open,
      hasHttpSse: isHttp,
    };
    this.#canReconnect = canReconnect;
  }

  /** The facts about the server. */
  get facts(): ServerFacts {
    // Set by connect(), before anyone gets a client.
    return this.#facts as ServerFacts;
  }

  get rules(): SpokenVersion {
    // Set by every negotiation, before the first request.
    return this.sender.rules as SpokenVersion;
  }

  /** Creates the extensions of the options. */
  extend(client: Client): void {
    const { signal } = this.#closing;
    const context: ExtensionContext = {
      client,
      signal,
      hasSession: () => this.sender.link?.sessionId !== undefined,
      answer: async (method, params, asked) => (await this.answers.answering).answer(method, params, asked),
      report: (event) => this.report(event),
      listen: () => this.subscriptions.refresh(),
      totalTimeoutMs: this.amounts.totalTimeoutMs,
    };
    this.extensions = (this.#options.use ?? []).map((extend) => extend(context));
  }

  /** Connects. A failed attempt leaves nothing open. */
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
      // The reason of the failure is more useful than a second failure while closing.
      await this.close().catch(() => undefined);
      throw signal?.aborted ? signal.reason : error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /**
   * Sends a request through the extensions. `partsOf` returns the parts of the request as the extensions have changed
   * it.
   */
  async send(request: OutgoingRequest, partsOf: (last: OutgoingRequest) => RequestParts): Promise<JsonObject> {
    // Before the extensions, because one of them may have the result itself.
    this.checkOpen(request.method);
    return wrap(this.extensions, "onRequest", (last) =>
      this.request(last.method, last.params, last.options, partsOf(last)),
    )(request);
  }

  /** Sends a request and returns its result. @see RequestOptions */
  async request(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions = {},
    parts: RequestParts = {},
  ): Promise<JsonObject> {
    const mistake = checkRequestOptions(options);
    if (mistake) await mistake;
    const { signal, timeoutMs = this.amounts.timeoutMs, totalTimeoutMs = this.amounts.totalTimeoutMs } = options;
    const deadline = new Deadline({ what: method, timeoutMs, totalTimeoutMs, signal });
    const request: Sending = { method, params, options, parts, deadline };
    try {
      return await this.#rounds(request);
    } catch (error) {
      throw request.mayHaveRun ? afterOtherAttempt(error) : error;
    } finally {
      deadline.stop();
    }
  }

  /** Waits for the answer to a request of another connection. @see RequestOptions.onResumeToken */
  async resume(token: string, options: RequestOptions): Promise<JsonObject> {
    const mistake = checkRequestOptions(options);
    if (mistake) await mistake;
    const { resumeRequest } = await import("../on-demand.ts");
    return resumeRequest(token, options, {
      target: this.#target,
      sender: this.sender,
      amounts: this.amounts,
      open: this.#negotiation.open,
    });
  }

  async notify(method: string, params?: JsonObject): Promise<void> {
    await this.#settled();
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
        // The hook for failures has failed itself, so there is nowhere left to report to.
      }
  }

  /** @throws {ClientError} `closed`. */
  checkOpen(method: string): void {
    const { aborted, reason } = this.#closing.signal;
    const cause: ClientError | undefined = aborted ? reason : this.#lost;
    if (cause) throw new ClientError("closed", `${method} was not sent. ${cause.message}`, { cause });
  }

  /** Resolves when no session is being opened and no era detected: what is sent meanwhile would be refused. */
  async #settled(): Promise<void> {
    await (this.#reopening ?? this.#remembered?.pending)?.catch(() => undefined);
  }

  /** Sends a request, answers the questions that its results ask, and returns the last result. */
  async #rounds(request: Sending): Promise<JsonObject> {
    const { method, params, options, deadline } = request;
    const meta = { ...readMeta(params), ...options.meta };
    const own = Object.keys(meta).length > 0 ? { ...params, _meta: meta } : params;
    let round: JsonObject = {};
    for (let rounds = 0; ; rounds += 1) {
      const sent = { ...own, ...round };
      const result = await this.#ask(request, Object.keys(sent).length > 0 ? sent : undefined);
      if (rounds > 0) FROM_ROUNDS.add(result);
      const { resultType = "complete" } = result;
      if (resultType === "complete" || this.sender.rules?.era !== "modern" || this.#isExtension(resultType))
        return result;
      // Only a request that runs a handler may be answered with questions.
      if (resultType !== "input_required" || !findRequest(method)?.runs) {
        throw invalidAnswer(method, `its result type is ${JSON.stringify(resultType)}`);
      }
      if (rounds >= this.amounts.roundsMax) throw (await import("../on-demand.ts")).tooManyRounds(method, rounds);
      // The handler of the server has run up to its question.
      request.mayHaveRun = true;
      round = await (await this.answers.answering).answerRound(method, result, deadline);
      deadline.restart();
    }
  }

  #isExtension(resultType: unknown): boolean {
    return this.extensions.some(({ resultTypes }) => resultTypes?.includes(resultType as string));
  }

  /** Sends one round, and sends it again if the cause of a failure can be removed and repeating is safe. */
  async #ask(request: Sending, params: JsonObject | undefined): Promise<JsonObject> {
    const { method, options, parts, deadline } = request;
    const { onProgress, resetTimeoutOnProgress = this.#options.resetTimeoutOnProgress ?? true } = options;
    // Progress is to be expected of requests that run a handler of the server's author.
    const row = findRequest(method);
    const wantsProgress = onProgress !== undefined || (resetTimeoutOnProgress && row?.runs !== undefined);
    for (let repeats = 0; ; repeats += 1) {
      await untilAborted(this.#settled(), deadline.signal);
      this.checkOpen(method);
      const { rules } = this;
      const missing = missingSupport(method, rules, this.facts.capabilities);
      if (missing) throw (await import("../on-demand.ts")).unsupported(method, rules.version, missing);
      const { link } = this.sender;
      const remembered = this.#remembered?.isOpen ? this.#remembered : undefined;
      try {
        const result = await this.sender.ask(method, params, {
          deadline,
          onProgress,
          resetTimeoutOnProgress,
          progressToken: options.progressToken ?? (wantsProgress || undefined),
          headers: this.rules.era === "modern" ? parts.headers?.() : undefined,
          onEventId: options.onResumeToken && this.#tokens(link, method, options.onResumeToken),
        });
        if (this.#remembered) this.#remembered.isOpen = false;
        return result;
      } catch (error) {
        deadline.signal.throwIfAborted();
        request.mayHaveRun ||= ClientError.is(error) && error.mayHaveRun;
        if (this.#closing.signal.aborted) throw error;
        const { Recovery } = await import("../on-demand.ts");
        this.#recovery ??= new Recovery(this.#recoveryParts());
        if (!(await this.#recovery.cure(error, { request, row, params, link, remembered, repeats }))) throw error;
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
        this.#remembered = await this.#newRemembered();
        return this.#remembered.disprove();
      },
    };
  }

  /** Returns what makes a token of each event of a request. */
  #tokens({ rules, sessionId }: Link, method: string, receive: (token: string) => void) {
    return (eventId: string, id: RequestId) => {
      const token = JSON.stringify([String(this.#target), rules?.version, sessionId, id, method, eventId]);
      this.sender.guard("onResumeToken", () => receive(btoa(token)));
    };
  }

  async #negotiate(isLegacy?: boolean): Promise<void> {
    this.#facts = await negotiate(this.#negotiation, isLegacy);
  }

  /** Connects with the facts of an earlier connection. Returns false if they cannot be used. */
  async #assume(known: ServerFacts): Promise<boolean> {
    this.#remembered = await this.#newRemembered();
    return this.#remembered.assume(known);
  }

  async #newRemembered(): Promise<RememberedServer> {
    const { RememberedServer } = await import("../on-demand.ts");
    return new RememberedServer({
      negotiation: this.#negotiation,
      facts: () => this.facts,
      use: (facts) => {
        this.#facts = facts;
      },
      negotiate: (isLegacy) => this.#negotiate(isLegacy),
      listen: () => this.subscriptions.start(),
    });
  }

  /** After a gap in the stream of a legacy session, changes may have been missed: those of a hub have no event id. */
  #onLinkEvent(event: ClientEvent): void {
    this.report(event);
    if (event.type === "stream-resumed" && event.method === undefined) this.subscriptions.assumeChanges();
    if (event.type !== "stream-lost" || !ClientError.is(event.error) || event.error.code !== "session-lost") return;
    // A failure is reported by the request that meets it next.
    this.#reopen(this.sender.link, event.error).catch(() => undefined);
  }

  /** Opens a new session or channel. Several failures open one, and requests wait for it. */
  #reopen(link: Link, lost: Error | undefined): Promise<void> {
    this.#reopening ??= this.sender.link === link ? this.#runReopening(link, lost) : undefined;
    return this.#reopening ?? Promise.resolve();
  }

  async #runReopening(link: Link, lost: Error | undefined): Promise<void> {
    try {
      const { Reopening } = await import("../on-demand.ts");
      this.#reopener ??= new Reopening({
        subscriptions: this.subscriptions,
        reconnectsMax: this.amounts.reconnectsMax,
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
    // Until the connection is open, connect() reports the failure.
    if (!this.#facts || !this.#canReconnect) this.report({ type: "closed", error });
    // A channel that was given up for another, or that is being opened, concerns nobody else.
    else if (this.sender.link === link && !this.#reopening) {
      this.#reopen(link, error).catch((failure: ClientError) => {
        if (this.#closing.signal.aborted) return;
        this.#lost = failure;
        this.report({ type: "closed", error: failure });
      });
    }
  }

  #notification(method: string, params: JsonObject): void {
    for (const each of this.extensions)
      this.sender.guard("use: onNotification", () => each.onNotification?.(method, params));
    // Progress without an open request is of interest to extensions only.
    if (method === "notifications/progress" || this.subscriptions.take(method, params)) return;
    const { onNotification } = this.#options;
    this.sender.guard("onNotification", () => onNotification?.(method, params));
  }
}
