/**
 * The changes that a client is told of. A legacy server sends them on the session's stream; a modern one on a
 * `subscriptions/listen` stream, which is opened again with another filter when a subscription is added or removed.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/subscriptions; MCP 2025-11-25, server/resources, "Subscriptions"
 */
import { McpError } from "../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import { pause } from "../core/protocol/pause.ts";
import { backoffMs } from "./backoff.ts";
import { Deadline } from "./deadline.ts";
import { ClientError, textOf } from "./errors.ts";
import type { EventHook } from "./events.ts";
import type { ClientOptions } from "./options.ts";
import type { LogMessage } from "./questions.ts";
import { isInterruption } from "./recovery.ts";
import type { ServerCapabilities } from "./results.ts";
import type { Wire } from "./wire.ts";

/** The lists, with the option that is called and the member of the filter. */
const LISTS = [
  ["tools", "onToolsChanged", "toolsListChanged"],
  ["prompts", "onPromptsChanged", "promptsListChanged"],
  ["resources", "onResourcesChanged", "resourcesListChanged"],
] as const;

/** The other options for what arrives outside requests. */
const HANDLERS = [
  "onNotification",
  "onRequest",
  "onElicit",
  "onElicitUrl",
  "onSample",
  "onLog",
  "onElicitationComplete",
  "onResourceUpdated",
  "roots",
] as const;

/** The time after which a stream counts as one that lasted. */
const LASTING_MS = 10_000;

export interface ListeningParts {
  readonly wire: Wire;
  readonly options: ClientOptions;
  /** The time in which the server has to acknowledge a stream. */
  readonly timeoutMs: number;
  readonly reconnectsMax: number;
  capabilities(): ServerCapabilities;
  report: EventHook;
}

/** An open listen stream. */
interface Stream {
  readonly abort: AbortController;
  /** Resolves with what the server agreed to, and rejects if the stream ends before. */
  readonly acknowledged: Promise<JsonObject>;
  /** Resolves when the stream ends, with the reason. */
  readonly ended: Promise<unknown>;
}

export class Listening {
  readonly #parts: ListeningParts;
  readonly #uris = new Set<string>();
  readonly #stopping = new AbortController();
  #stream: Stream | undefined;
  /** Changes of the filter run one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Attempts to open the stream again, since one lasted. */
  #attempts = 0;

  constructor(parts: ListeningParts) {
    this.#parts = parts;
  }

  get uris(): ReadonlySet<string> {
    return this.#uris;
  }

  /** Whether the author has a handler for something that arrives outside requests. */
  get isWanted(): boolean {
    const { options } = this.#parts;
    return [...HANDLERS, ...LISTS.map(([, handler]) => handler)].some((each) => options[each] !== undefined);
  }

  /** Starts to listen after the connection was opened, if there is a handler for what arrives. */
  start(): void {
    const { wire, report } = this.#parts;
    if (wire.rules?.era === "legacy") {
      if (this.isWanted) wire.link.listen();
    } else if (Object.keys(this.#filter()).length > 0) {
      this.#replace().catch((error: Error) => {
        if (isInterruption(error)) return this.#reopen(undefined, error);
        report({ type: "stream-lost", error });
      });
    }
  }

  /** Adds a resource to the stream of a modern server. */
  async add(uri: string): Promise<void> {
    if (this.#uris.has(uri)) return;
    this.#uris.add(uri);
    try {
      const { resourceSubscriptions } = await this.#replace();
      if (Array.isArray(resourceSubscriptions) && resourceSubscriptions.includes(uri)) return;
      throw new ClientError("capability-missing", `The server does not report changes of ${uri}.`);
    } catch (error) {
      this.#uris.delete(uri);
      throw error;
    }
  }

  /** Removes a resource from the stream of a modern server. */
  async remove(uri: string): Promise<void> {
    if (this.#uris.delete(uri)) await this.#replace();
  }

  /** Remembers a subscription of a legacy session. */
  note(uri: string): void {
    this.#uris.add(uri);
    this.#parts.wire.link.listen();
  }

  /** Forgets a subscription of a legacy session. */
  forget(uri: string): void {
    this.#uris.delete(uri);
  }

  /** Brings the subscriptions and the log level into a new session. What the server refuses is reported and forgotten. */
  async restore(): Promise<void> {
    const { wire, timeoutMs, report } = this.#parts;
    const { logLevel: level } = wire;
    const requests = [...this.#uris].map((uri) => ["resources/subscribe", { uri }] as const);
    for (const [what, params] of level ? [...requests, ["logging/setLevel", { level }] as const] : requests) {
      const deadline = new Deadline({ what, timeoutMs, totalTimeoutMs: 0 });
      try {
        await wire.ask(what, params, { deadline });
      } catch (error) {
        if (!McpError.is(error)) throw error;
        if ("uri" in params) this.#uris.delete(params.uri);
        const message = `The new session refused ${what} ${JSON.stringify(params)}: ${error.message}`;
        report({ type: "warning", message });
      } finally {
        deadline.stop();
      }
    }
    if (this.#uris.size > 0) wire.link.listen();
  }

  stop(): void {
    this.#stopping.abort();
    this.#end();
  }

  #end(): void {
    this.#stream?.abort.abort();
    this.#stream = undefined;
  }

  /** Passes a notification to its handler. Returns false if there is none for it. */
  take(method: string, params: JsonObject): boolean {
    const { wire, options } = this.#parts;
    const list = LISTS.find(([name]) => method === `notifications/${name}/list_changed`);
    if (list) wire.guard(list[1], () => options[list[1]]?.());
    else if (method === "notifications/resources/updated") {
      wire.guard("onResourceUpdated", () => options.onResourceUpdated?.(String(params.uri)));
    } else if (method === "notifications/message") {
      wire.guard("onLog", () => options.onLog?.(params as unknown as LogMessage));
    } else if (method === "notifications/elicitation/complete") {
      wire.guard("onElicitationComplete", () => options.onElicitationComplete?.(String(params.elicitationId)));
    } else return false;
    return true;
  }

  /** Calls the handlers of everything listened to, because changes may have been missed. */
  assumeChanges(): void {
    const { wire, options } = this.#parts;
    for (const [list, handler] of LISTS)
      if (this.#hasListChanges(list)) wire.guard(handler, () => options[handler]?.());
    for (const uri of this.#uris) wire.guard("onResourceUpdated", () => options.onResourceUpdated?.(uri));
  }

  #hasListChanges(list: (typeof LISTS)[number][0]): boolean {
    const declared = this.#parts.capabilities()[list];
    return isObject(declared) && declared.listChanged === true;
  }

  /** What the client wants to be told of, as far as the server has declared it. */
  #filter(): JsonObject {
    const { options } = this.#parts;
    const lists = LISTS.filter(([list, handler]) => options[handler] !== undefined && this.#hasListChanges(list));
    const filter: JsonObject = Object.fromEntries(lists.map(([, , member]) => [member, true]));
    if (this.#uris.size > 0) filter.resourceSubscriptions = [...this.#uris];
    return filter;
  }

  /**
   * Opens a stream with the current filter in place of the present one, and resolves with what the server agreed to. The
   * present stream is closed only then, so that no change is missed in between; one may be reported twice.
   */
  #replace(): Promise<JsonObject> {
    const turn = this.#turn.then(async () => {
      const filter = this.#filter();
      const previous = this.#stream;
      if (Object.keys(filter).length === 0) {
        this.#end();
        return {};
      }
      const stream = this.#open(filter);
      const agreed = await stream.acknowledged;
      this.#stream = stream;
      previous?.abort.abort();
      void this.#keep(stream);
      return agreed;
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  #open(filter: JsonObject): Stream {
    const { wire, timeoutMs } = this.#parts;
    const abort = new AbortController();
    const what = "subscriptions/listen";
    const deadline = new Deadline({ what, timeoutMs, totalTimeoutMs: 0, signal: abort.signal });
    let agree: (agreed: JsonObject) => void = () => undefined;
    const agreed = new Promise<JsonObject>((resolve) => {
      agree = resolve;
    });
    const onAcknowledged = (params: JsonObject): void => {
      // From now on silence is normal.
      deadline.hold();
      agree(isObject(params.notifications) ? params.notifications : {});
    };
    const ended = wire
      .ask(what, { notifications: filter }, { deadline, onAcknowledged })
      .then(
        () => new ClientError("stream-lost", "The server closed the listen stream."),
        (error: unknown) => error,
      )
      .finally(() => deadline.stop());
    const acknowledged = Promise.race([agreed, ended.then((error) => Promise.reject(error))]);
    // The race may be lost after nobody waits for it any more.
    acknowledged.catch(() => undefined);
    return { abort, acknowledged, ended };
  }

  /** Opens the stream again when it ends. */
  async #keep(stream: Stream): Promise<void> {
    const openedAtMs = Date.now();
    const failure = await stream.ended;
    // A server that acknowledges and closes at once must not be asked forever.
    if (Date.now() - openedAtMs > LASTING_MS) this.#attempts = 0;
    await this.#reopen(stream, failure);
  }

  /** Opens a stream in place of one that has ended or was never open, and reports what may have been missed. */
  async #reopen(stream: Stream | undefined, reason: unknown): Promise<void> {
    const { report, reconnectsMax } = this.#parts;
    const { signal } = this.#stopping;
    let failure = reason;
    // A channel that has closed does not come back.
    while (this.#stream === stream && !signal.aborted && !(ClientError.is(failure) && failure.code === "closed")) {
      this.#attempts += 1;
      const attempt = this.#attempts;
      if (attempt > reconnectsMax) {
        this.#stream = undefined;
        const text = `The listen stream was lost: ${textOf(failure)}`;
        return report({ type: "stream-lost", error: new ClientError("stream-lost", text, { cause: failure }) });
      }
      const delayMs = backoffMs(attempt, undefined);
      report({ type: "stream-reconnecting", method: "subscriptions/listen", attempt, delayMs });
      await pause(delayMs, signal);
      if (this.#stream !== stream || signal.aborted) return;
      try {
        await this.#replace();
        report({ type: "stream-resumed", method: "subscriptions/listen" });
        return this.assumeChanges();
      } catch (error) {
        failure = error;
      }
    }
  }
}
