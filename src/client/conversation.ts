/**
 * The connection to one server: how it is opened, and how a request becomes a result.
 *
 * @module
 */
import type { Implementation } from "../core/protocol/client-facts.ts";
import { pick } from "../core/protocol/content.ts";
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import { metaOf } from "../core/protocol/lifecycle.ts";
import { pause } from "../core/protocol/pause.ts";
import { SPOKEN_VERSIONS, type SpokenVersion, speakVersions } from "../core/protocol/spoken-versions.ts";
import { Answers } from "./answers.ts";
import type { Assumption } from "./assumption.ts";
import { backoffMs } from "./backoff.ts";
import type { Client } from "./client.ts";
import { Deadline, untilAborted } from "./deadline.ts";
import { ClientError, invalidAnswer } from "./errors.ts";
import { type ClientEvent, printProblem } from "./events.ts";
import type { ExtensionContext, ExtensionHooks } from "./extensions.ts";
import type { Link } from "./link.ts";
import { Listening } from "./listening.ts";
import { type Negotiation, negotiate } from "./negotiate.ts";
import { type ConnectTarget, linkOpener } from "./open-link.ts";
import {
  type Amounts,
  type ClientOptions,
  checkRequestOptions,
  type RequestOptions,
  resolveAmounts,
} from "./options.ts";
import { isHeaderMismatch, isInterruption, isRepeatable, mayBeOtherEra, REPEATS_MAX, wasRefused } from "./recovery.ts";
import type { Reopening } from "./reopening.ts";
import type { ServerFacts, Tool } from "./results.ts";
import { answerRound, asksForInput, FROM_ROUNDS } from "./rounds.ts";
import { lackFor } from "./supported.ts";
import { Wire } from "./wire.ts";

/** Requests that run a handler of the server's author, so that progress is to be expected. */
const RUNNING: readonly string[] = ["tools/call", "resources/read", "prompts/get"];

/** Parts of a request that its method determines. */
export interface RequestParts {
  /** Computed before each attempt, because a list may have changed them. */
  readonly headers?: (() => Readonly<Record<string, string>>) | undefined;
  /** Corrects the state that the headers are computed from, after the server has refused them. */
  readonly refresh?: (() => Promise<unknown>) | undefined;
  /** The tool that is called, if it was listed. */
  readonly tool?: (() => Pick<Tool, "annotations"> | undefined) | undefined;
}

/** A request on its way. */
interface Sending {
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly options: RequestOptions;
  readonly parts: RequestParts;
  readonly deadline: Deadline;
}

/** A request that failed. */
interface Failed {
  readonly request: Sending;
  /** The params of the round. */
  readonly params: JsonObject | undefined;
  /** The link that it was sent on. */
  readonly link: Link;
  /** The assumption about the era, if no answer had confirmed it. */
  readonly assumption: Assumption | undefined;
  readonly repeats: number;
}

export class Conversation {
  readonly wire: Wire;
  readonly answers: Answers;
  readonly listening: Listening;
  readonly amounts: Amounts;
  /** What the extensions do, the outermost first. */
  extensions: readonly ExtensionHooks[] = [];
  readonly #options: ClientOptions;
  readonly #negotiation: Negotiation;
  #facts: ServerFacts | undefined;
  #assumption: Assumption | undefined;
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
    // The versions limit the members that are sent; name and version were checked above.
    const info = pick(options, SPOKEN_VERSIONS[0]?.implementationFields ?? []) as unknown as Implementation;
    this.answers = new Answers(options, () => this.extensions);
    const { timeoutMs, reconnectsMax } = this.amounts;
    this.wire = new Wire({
      info,
      timeoutMs,
      capabilities: (era) => this.answers.capabilities(era),
      answer: (method, params, signal) => this.answers.answer(method, params, { signal }),
      notice: (method, params) => this.#notice(method, params),
      closed: (link, error) => this.#onClosed(link, error),
      report: (event) => this.#onLinkEvent(event),
    });
    const report = (event: ClientEvent) => this.report(event);
    const declared = () => this.facts.capabilities;
    this.listening = new Listening({
      wire: this.wire,
      options,
      timeoutMs,
      reconnectsMax,
      capabilities: declared,
      extensions: () => this.extensions,
      notice: (method, params) => this.#notice(method, params),
      report,
    });
    const isHttp = typeof target === "string" || target instanceof URL;
    const { signal: closed } = this.#closing;
    const { open, canReconnect } = linkOpener(target, options, this.amounts, () => this.wire.hold());
    this.#negotiation = {
      wire: this.wire,
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
    return this.wire.rules as SpokenVersion;
  }

  /** Creates the extensions of the options. */
  extend(client: Client): void {
    const { signal } = this.#closing;
    const context: ExtensionContext = {
      client,
      signal,
      hasSession: () => this.wire.link?.sessionId !== undefined,
      answer: (method, params, asked) => this.answers.answer(method, params, asked),
      report: (event) => this.report(event),
      listen: () => this.listening.refresh(),
      totalTimeoutMs: this.amounts.totalTimeoutMs,
    };
    this.extensions = (this.#options.use ?? []).map((extend) => extend(context));
  }

  /** Connects. A failed attempt leaves nothing open. */
  async connect(): Promise<void> {
    const { known } = this.#options;
    try {
      if (known && (await this.#assume(known))) return;
      await this.#negotiate();
      this.listening.start();
    } catch (error) {
      // The reason of the failure is more useful than a second failure while closing.
      await this.close().catch(() => undefined);
      throw error;
    }
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
    try {
      return await this.#rounds({ method, params, options, parts, deadline });
    } finally {
      deadline.stop();
    }
  }

  async notify(method: string, params?: JsonObject): Promise<void> {
    await this.#settled();
    this.checkOpen(method);
    await this.wire.notify(method, params);
  }

  async close(): Promise<void> {
    const reason = new ClientError("closed", "The client is closed.");
    this.#closing.abort(reason);
    this.listening.stop();
    await this.wire.close(reason);
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
    await (this.#reopening ?? this.#assumption?.pending)?.catch(() => undefined);
  }

  /** Sends a request, answers the questions that its results ask, and returns the last result. */
  async #rounds(request: Sending): Promise<JsonObject> {
    const { method, params, options, deadline } = request;
    const meta = { ...metaOf(params), ...options.meta };
    const own = Object.keys(meta).length > 0 ? { ...params, _meta: meta } : params;
    let round: JsonObject = {};
    for (let rounds = 0; ; rounds += 1) {
      const sent = { ...own, ...round };
      const result = await this.#ask(request, Object.keys(sent).length > 0 ? sent : undefined);
      if (rounds > 0) FROM_ROUNDS.add(result);
      const { resultType = "complete" } = result;
      if (resultType === "complete" || this.wire.rules?.era !== "modern" || this.#isExtension(resultType))
        return result;
      if (!asksForInput(result)) {
        throw invalidAnswer(method, `its result type is ${JSON.stringify(resultType)}`);
      }
      if (rounds >= this.amounts.roundsMax) throw (await import("./on-demand.ts")).tooManyRounds(method, rounds);
      round = await answerRound(method, result, this.answers, deadline);
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
    const wantsProgress = onProgress !== undefined || (resetTimeoutOnProgress && RUNNING.includes(method));
    for (let repeats = 0; ; repeats += 1) {
      await untilAborted(this.#settled(), deadline.signal);
      this.checkOpen(method);
      const { rules } = this;
      const lack = lackFor(method, rules, this.facts.capabilities);
      if (lack) throw (await import("./on-demand.ts")).unsupported(method, rules.version, lack);
      const { link } = this.wire;
      const assumption = this.#assumption?.isOpen ? this.#assumption : undefined;
      try {
        const result = await this.wire.ask(method, params, {
          deadline,
          onProgress,
          resetTimeoutOnProgress,
          progressToken: options.progressToken ?? (wantsProgress || undefined),
          headers: this.rules.era === "modern" ? parts.headers?.() : undefined,
        });
        if (this.#assumption) this.#assumption.isOpen = false;
        return result;
      } catch (error) {
        deadline.signal.throwIfAborted();
        if (this.#closing.signal.aborted || !(await this.#cure(error, { request, params, link, assumption, repeats })))
          throw error;
        deadline.restart();
      }
    }
  }

  /** Removes the cause of a failure, if it can. Returns whether the request is to be sent again. */
  async #cure(error: unknown, failed: Failed): Promise<boolean> {
    const { request, params, link, assumption, repeats } = failed;
    const { method, parts, deadline } = request;
    // A legacy server has no such code, so there it is the answer of a tool.
    if (isHeaderMismatch(error) && link.rules?.era === "modern" && parts.refresh && repeats === 0) {
      await parts.refresh();
      return true;
    }
    const isSafe = wasRefused(error) || isRepeatable(method, params, parts.tool?.());
    if (assumption) {
      if (!mayBeOtherEra(error)) return false;
      const isOther = assumption.disprove();
      if (isSafe) return isOther;
      // What the server answered to a call that ran matters more than a failure to detect the era.
      await isOther.catch(() => undefined);
      return false;
    }
    if (!ClientError.is(error)) return false;
    if (error.code === "session-lost") {
      await this.#reopen(link, error);
      if (!isSafe || repeats > 0) return false;
      this.report({ type: "request-repeated", method, error });
      return true;
    }
    if (!isSafe || repeats >= REPEATS_MAX || !this.#comesBack(error)) return false;
    await pause(backoffMs(repeats + 1, undefined), deadline.signal);
    deadline.signal.throwIfAborted();
    this.report({ type: "request-repeated", method, error });
    return true;
  }

  /** Whether the connection of a request that failed comes back. */
  #comesBack(error: ClientError): boolean {
    return this.#canReconnect && (error.code === "closed" || isInterruption(error));
  }

  async #negotiate(isLegacy?: boolean): Promise<void> {
    this.#facts = await negotiate(this.#negotiation, isLegacy);
  }

  /** Connects with the facts of an earlier connection. Returns false if they cannot be used. */
  async #assume(known: ServerFacts): Promise<boolean> {
    const { Assumption } = await import("./on-demand.ts");
    this.#assumption = new Assumption({
      negotiation: this.#negotiation,
      facts: () => this.facts,
      use: (facts) => {
        this.#facts = facts;
      },
      negotiate: (isLegacy) => this.#negotiate(isLegacy),
      listen: () => this.listening.start(),
    });
    return this.#assumption.assume(known);
  }

  /** After a gap in the stream of a legacy session, changes may have been missed: those of a hub have no event id. */
  #onLinkEvent(event: ClientEvent): void {
    this.report(event);
    if (event.type === "stream-resumed" && event.method === undefined) this.listening.assumeChanges();
    if (event.type !== "stream-lost" || !ClientError.is(event.error) || event.error.code !== "session-lost") return;
    // A failure is reported by the request that meets it next.
    this.#reopen(this.wire.link, event.error).catch(() => undefined);
  }

  /** Opens a new session or channel. Several failures open one, and requests wait for it. */
  #reopen(link: Link, lost: Error | undefined): Promise<void> {
    this.#reopening ??= this.wire.link === link ? this.#runReopening(link, lost) : undefined;
    return this.#reopening ?? Promise.resolve();
  }

  async #runReopening(link: Link, lost: Error | undefined): Promise<void> {
    try {
      const { Reopening } = await import("./on-demand.ts");
      this.#reopener ??= new Reopening({
        listening: this.listening,
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
    else if (this.wire.link === link && !this.#reopening) {
      this.#reopen(link, error).catch((failure: ClientError) => {
        if (this.#closing.signal.aborted) return;
        this.#lost = failure;
        this.report({ type: "closed", error: failure });
      });
    }
  }

  #notice(method: string, params: JsonObject): void {
    for (const each of this.extensions)
      this.wire.guard("use: onNotification", () => each.onNotification?.(method, params));
    // Progress without an open request is of interest to extensions only.
    if (method === "notifications/progress" || this.listening.take(method, params)) return;
    const { onNotification } = this.#options;
    this.wire.guard("onNotification", () => onNotification?.(method, params));
  }
}
