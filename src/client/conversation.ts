/**
 * The connection to one server: how it is opened, and how a request becomes a result.
 *
 * @module
 */
import type { Implementation } from "../core/protocol/client-facts.ts";
import { pick } from "../core/protocol/content.ts";
import { McpError } from "../core/protocol/errors.ts";
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import { metaOf } from "../core/protocol/lifecycle.ts";
import { pause } from "../core/protocol/pause.ts";
import { SPOKEN_VERSIONS, type SpokenVersion, speakVersions } from "../core/protocol/spoken-versions.ts";
import type { Transport } from "../core/protocol/transport.ts";
import { Answers } from "./answers.ts";
import { backoffMs } from "./backoff.ts";
import { Deadline, untilAborted } from "./deadline.ts";
import { ClientError, invalidAnswer } from "./errors.ts";
import { readEvents } from "./event-reader.ts";
import { type ClientEvent, printProblem } from "./events.ts";
import { HttpLink } from "./http-link.ts";
import type { Link } from "./link.ts";
import { Listening } from "./listening.ts";
import { type Negotiation, negotiate } from "./negotiate.ts";
import {
  type Amounts,
  type ClientOptions,
  checkRequestOptions,
  type RequestOptions,
  resolveAmounts,
} from "./options.ts";
import { isHeaderMismatch, isInterruption, isRepeatable, mayBeOtherEra, REPEATS_MAX, wasRefused } from "./recovery.ts";
import type { ServerFacts, Tool } from "./results.ts";
import { answerRound, asksForInput } from "./rounds.ts";
import { checkSupported } from "./supported.ts";
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
  /** Whether the era had only been assumed. */
  readonly wasAssumed: boolean;
  readonly repeats: number;
}

export class Conversation {
  readonly wire: Wire;
  readonly answers: Answers;
  readonly listening: Listening;
  readonly amounts: Amounts;
  readonly #options: ClientOptions;
  readonly #negotiation: Negotiation;
  #facts: ServerFacts | undefined;
  /** Whether the facts are those of an earlier connection, which no answer has confirmed yet. */
  #isAssumed = false;
  readonly #closing = new AbortController();
  #pipe: Link | undefined;
  #reopening: Promise<void> | undefined;
  #disproving: Promise<boolean> | undefined;

  /** @throws {KitError} `options-invalid`. */
  constructor(target: string | URL | Transport, options: ClientOptions) {
    this.amounts = resolveAmounts(options);
    this.#options = options;
    // The versions limit the members that are sent; name and version were checked above.
    const info = pick(options, SPOKEN_VERSIONS[0]?.implementationFields ?? []) as unknown as Implementation;
    this.answers = new Answers(options);
    const { timeoutMs, reconnectsMax } = this.amounts;
    this.wire = new Wire({
      info,
      timeoutMs,
      capabilities: (era) => this.answers.capabilities(era),
      answer: (method, params, signal) => this.answers.answer(method, params, { signal }),
      notice: (method, params) => this.#notice(method, params),
      closed: (error) => this.report({ type: "closed", error }),
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
      report,
    });
    const isHttp = typeof target === "string" || target instanceof URL;
    this.#negotiation = {
      wire: this.wire,
      versions: speakVersions(options.protocolVersions),
      info,
      capabilities: () => this.answers.capabilities("legacy"),
      timeoutMs: this.amounts.timeoutMs,
      probeTimeoutMs: this.amounts.probeTimeoutMs,
      signal: this.#closing.signal,
      open: (transport) => this.#open(target, transport),
      hasHttpSse: isHttp,
    };
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

  /** Connects. A failed attempt leaves nothing open. */
  async connect(): Promise<void> {
    const { known } = this.#options;
    try {
      if (known && (await this.#assume(known))) return;
      this.#facts = await negotiate(this.#negotiation);
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
    checkRequestOptions(options);
    this.#checkOpen(method);
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
    this.#checkOpen(method);
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
    try {
      onEvent(event);
    } catch {
      // The hook for failures has failed itself, so there is nowhere left to report to.
    }
  }

  #checkOpen(method: string): void {
    if (this.#closing.signal.aborted)
      throw new ClientError("closed", `The client is closed, so ${method} was not sent.`);
  }

  /** Resolves when no session is being opened and no era detected: what is sent meanwhile would be refused. */
  async #settled(): Promise<void> {
    await (this.#reopening ?? this.#disproving)?.catch(() => undefined);
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
      const { resultType = "complete" } = result;
      if (resultType === "complete" || this.wire.rules?.era !== "modern") return result;
      if (!asksForInput(result)) {
        throw invalidAnswer(method, `its result type is ${JSON.stringify(resultType)}`);
      }
      if (rounds >= this.amounts.roundsMax) throw tooManyRounds(method, rounds);
      round = await answerRound(method, result, this.answers, deadline);
      deadline.restart();
    }
  }

  /** Sends one round, and sends it again if the cause of a failure can be removed and repeating is safe. */
  async #ask(request: Sending, params: JsonObject | undefined): Promise<JsonObject> {
    const { method, options, parts, deadline } = request;
    const { onProgress, resetTimeoutOnProgress = this.#options.resetTimeoutOnProgress ?? true } = options;
    const wantsProgress = onProgress !== undefined || (resetTimeoutOnProgress && RUNNING.includes(method));
    for (let repeats = 0; ; repeats += 1) {
      await untilAborted(this.#settled(), deadline.signal);
      checkSupported(method, this.rules, this.facts.capabilities);
      const { link } = this.wire;
      const wasAssumed = this.#isAssumed;
      try {
        const result = await this.wire.ask(method, params, {
          deadline,
          onProgress,
          resetTimeoutOnProgress,
          progressToken: options.progressToken ?? (wantsProgress || undefined),
          headers: this.rules.era === "modern" ? parts.headers?.() : undefined,
        });
        this.#isAssumed = false;
        return result;
      } catch (error) {
        deadline.signal.throwIfAborted();
        if (this.#closing.signal.aborted || !(await this.#cure(error, { request, params, link, wasAssumed, repeats })))
          throw error;
        deadline.restart();
      }
    }
  }

  /** Removes the cause of a failure, if it can. Returns whether the request is to be sent again. */
  async #cure(error: unknown, failed: Failed): Promise<boolean> {
    const { request, params, link, wasAssumed, repeats } = failed;
    const { method, parts, deadline } = request;
    // A legacy server has no such code, so there it is the answer of a tool.
    if (isHeaderMismatch(error) && link.rules?.era === "modern" && parts.refresh && repeats === 0) {
      await parts.refresh();
      return true;
    }
    const isSafe = wasRefused(error) || isRepeatable(method, params, parts.tool?.());
    if (wasAssumed) {
      if (!mayBeOtherEra(error)) return false;
      const isOther = this.#disprove();
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
    if (!isInterruption(error) || !isSafe || repeats >= REPEATS_MAX || !this.#negotiation.hasHttpSse) return false;
    await pause(backoffMs(repeats + 1, undefined), deadline.signal);
    deadline.signal.throwIfAborted();
    this.report({ type: "request-repeated", method, error });
    return true;
  }

  /**
   * Opens a new session in place of one that the server no longer knows. Several failed requests open one session.
   *
   * @throws {ClientError} `lost` if no session can be opened.
   */
  async #reopen(link: Link, lost: ClientError): Promise<void> {
    if (this.wire.link !== link && !this.#reopening) return;
    this.#reopening ??= this.#openSession(link).finally(() => {
      this.#reopening = undefined;
    });
    try {
      await this.#reopening;
    } catch (cause) {
      const { code, message, mayHaveRun, response } = lost;
      throw new ClientError(code, `${message} No other could be opened.`, { mayHaveRun, response, cause });
    }
  }

  async #openSession(old: Link): Promise<void> {
    this.#facts = await negotiate(this.#negotiation, true);
    old.retire();
    this.report({ type: "session-reopened" });
    this.listening.start();
    await this.listening.restore();
    // The old session may have been told of changes that never arrived.
    this.listening.assumeChanges();
  }

  /** Uses the facts of an earlier connection. Returns false if they cannot be used. */
  async #assume(known: ServerFacts): Promise<boolean> {
    const { wire, versions, open } = this.#negotiation;
    const isKnown = ({ version }: SpokenVersion) => version === known.protocolVersion;
    const rules = versions.modern.find(isKnown);
    try {
      if (rules) {
        await wire.start(await open());
        wire.link.rules = rules;
        this.#facts = known;
        this.#isAssumed = true;
      } else if (versions.legacy.some(isKnown)) this.#facts = await negotiate(this.#negotiation, true);
      else return false;
      this.listening.start();
      return true;
    } catch (error) {
      if (!McpError.is(error) && !(ClientError.is(error) && error.code === "http-status")) throw error;
      return false;
    }
  }

  /** Detects the era again after a failure. Returns whether the assumption was wrong, so that the request was refused. */
  #disprove(): Promise<boolean> {
    this.#disproving ??= this.#detectAgain().catch((error) => {
      // The next request that fails tries again.
      this.#isAssumed = true;
      this.#disproving = undefined;
      throw error;
    });
    return this.#disproving;
  }

  async #detectAgain(): Promise<boolean> {
    this.#isAssumed = false;
    const before = this.facts.protocolVersion;
    this.#facts = await negotiate(this.#negotiation);
    this.listening.start();
    return this.#facts.protocolVersion !== before;
  }

  /** Creates a link. What few clients need is loaded on demand. */
  async #open(target: string | URL | Transport, transport: "http-sse" | undefined): Promise<Link> {
    const { fetch, headers } = this.#options;
    const { messageBytesMax, reconnectsMax } = this.amounts;
    if (typeof target !== "string" && !(target instanceof URL)) {
      const { TransportLink } = await import("./transport-link.ts");
      // A transport is started once, however often the era is detected.
      this.#pipe ??= new TransportLink(target);
      return this.#pipe;
    }
    const url = String(target);
    const http = { fetch, headers, messageBytesMax, reconnectsMax };
    if (transport === undefined) return new HttpLink(url, http);
    const { linkOverHttpSse } = await import("./http-sse.ts");
    return linkOverHttpSse(url, { ...http, readEvents });
  }

  /** After a gap in the stream of a legacy session, changes may have been missed: those of a hub have no event id. */
  #onLinkEvent(event: ClientEvent): void {
    this.report(event);
    if (event.type === "stream-resumed" && event.method === undefined) this.listening.assumeChanges();
    if (event.type !== "stream-lost" || !ClientError.is(event.error) || event.error.code !== "session-lost") return;
    // A failure is reported by the request that meets it next.
    this.#reopen(this.wire.link, event.error).catch(() => undefined);
  }

  #notice(method: string, params: JsonObject): void {
    if (this.listening.take(method, params)) return;
    const { onNotification } = this.#options;
    this.wire.guard("onNotification", () => onNotification?.(method, params));
  }
}

function tooManyRounds(method: string, rounds: number): ClientError {
  const text = `${method} was answered with questions more than ${rounds} times (roundsMax).`;
  return new ClientError("rounds-max", text, { mayHaveRun: true });
}
