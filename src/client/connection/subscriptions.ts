/**
 * The changes that a client is told of. A legacy server sends them on the session's stream, a modern one on a
 * `subscriptions/listen` stream.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/subscriptions; MCP 2025-11-25, server/resources, "Subscriptions"
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { ExtensionHooks } from "../api/extensions.ts";
import type { ClientOptions } from "../api/options.ts";
import type { LogMessage } from "../api/questions.ts";
import { Deadline } from "../basics/deadline.ts";
import { ClientError } from "../basics/errors.ts";
import type { EventHook } from "../basics/events.ts";
import type { ServerCapabilities } from "../requests/results.ts";
import type { ListenStream } from "./listen-stream.ts";
import type { RequestSender } from "./request-sender.ts";

/** The lists, with the option that is called and the member of the filter. */
const LISTS = [
  ["tools", "onToolsChanged", "toolsListChanged"],
  ["prompts", "onPromptsChanged", "promptsListChanged"],
  ["resources", "onResourcesChanged", "resourcesListChanged"],
] as const;

const LISTEN = "subscriptions/listen";

export interface SubscriptionsParts {
  readonly sender: RequestSender;
  readonly options: ClientOptions;
  /** The time in which the server has to acknowledge a stream. */
  readonly timeoutMs: number;
  readonly reconnectsMax: number;
  capabilities(): ServerCapabilities;
  extensions(): readonly ExtensionHooks[];
  /** Passes a notification on as if the server had sent it. */
  notification(method: string, params: JsonObject): void;
  report: EventHook;
}

export class Subscriptions {
  readonly #parts: SubscriptionsParts;
  readonly #uris = new Set<string>();
  readonly #stopping = new AbortController();
  #stream: Promise<ListenStream> | undefined;

  constructor(parts: SubscriptionsParts) {
    this.#parts = parts;
  }

  get uris(): ReadonlySet<string> {
    return this.#uris;
  }

  /** Whether the author has a handler for something that arrives outside requests. */
  get isWanted(): boolean {
    const { options, extensions } = this.#parts;
    // Every handler is called on, and all but onEvent are for what arrives. Roots are asked for.
    const isHandler = ([name, value]: [string, unknown]) => /^(on(?!Event$)|roots$)/.test(name) && value !== undefined;
    return Object.entries(options).some(isHandler) || extensions().some((each) => each.onNotification);
  }

  /** Starts to listen after the connection was opened, if there is a handler for what arrives. */
  start(): void {
    const { sender, report } = this.#parts;
    if (sender.rules?.era === "legacy") {
      if (this.isWanted) sender.link.listen();
    } else if (Object.keys(this.#filter()).length > 0) {
      this.#open()
        .then((stream) => stream.start())
        .catch((error: Error) => report({ type: "stream-lost", error }));
    }
  }

  /** Opens the stream of a modern server with the present filter, and resolves with what the server agreed to. */
  async refresh(): Promise<JsonObject> {
    return (await this.#open()).replace();
  }

  /** Adds a resource to the stream of a modern server. */
  async add(uri: string): Promise<void> {
    if (this.#uris.has(uri)) return;
    this.#uris.add(uri);
    try {
      const { resourceSubscriptions } = await this.refresh();
      if (Array.isArray(resourceSubscriptions) && resourceSubscriptions.includes(uri)) return;
      throw new ClientError("capability-missing", `The server does not report changes of ${uri}.`);
    } catch (error) {
      this.#uris.delete(uri);
      throw error;
    }
  }

  /** Removes a resource from the stream of a modern server. */
  async remove(uri: string): Promise<void> {
    if (this.#uris.delete(uri)) await this.refresh();
  }

  /** Remembers a subscription of a legacy session. */
  note(uri: string): void {
    this.#uris.add(uri);
    this.#parts.sender.link.listen();
  }

  /** Forgets a subscription of a legacy session. */
  forget(uri: string): void {
    this.#uris.delete(uri);
  }

  /** Brings the subscriptions and the log level into a new session. What the server refuses is reported and forgotten. */
  async restore(): Promise<void> {
    const { sender, report } = this.#parts;
    const { logLevel: level } = sender;
    if (this.#uris.size === 0 && !level) return;
    const { restoreSession } = await import("../on-demand.ts");
    const ask = (method: string, params: JsonObject) => this.#ask(method, params);
    await restoreSession({ uris: this.#uris, level, ask, report });
    if (this.#uris.size > 0) sender.link.listen();
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Passes a notification to its handler. Returns false if there is none for it. */
  take(method: string, params: JsonObject): boolean {
    const { sender, options } = this.#parts;
    const list = LISTS.find(([name]) => method === `notifications/${name}/list_changed`);
    if (list) sender.guard(list[1], () => options[list[1]]?.());
    else if (method === "notifications/resources/updated") {
      sender.guard("onResourceUpdated", () => options.onResourceUpdated?.(String(params.uri)));
    } else if (method === "notifications/message") {
      sender.guard("onLog", () => options.onLog?.(params as unknown as LogMessage));
    } else if (method === "notifications/elicitation/complete") {
      sender.guard("onElicitationComplete", () => options.onElicitationComplete?.(String(params.elicitationId)));
    } else return false;
    return true;
  }

  /** Calls the handlers of everything listened to, because changes may have been missed. */
  assumeChanges(): void {
    const { notification } = this.#parts;
    for (const [list] of LISTS) if (this.#hasListChanges(list)) notification(`notifications/${list}/list_changed`, {});
    for (const uri of this.#uris) notification("notifications/resources/updated", { uri });
  }

  #hasListChanges(list: (typeof LISTS)[number][0]): boolean {
    const declared = this.#parts.capabilities()[list];
    return isObject(declared) && declared.listChanged === true;
  }

  /** What the client wants to be told of, as far as the server has declared it. */
  #filter(): JsonObject {
    const { options, extensions } = this.#parts;
    const lists = LISTS.filter(([list, handler]) => {
      const isWanted = options[handler] !== undefined || extensions().some(({ changes }) => changes?.includes(list));
      return isWanted && this.#hasListChanges(list);
    });
    const filter: JsonObject = Object.fromEntries(lists.map(([, , member]) => [member, true]));
    if (this.#uris.size > 0) filter.resourceSubscriptions = [...this.#uris];
    return Object.assign(filter, ...extensions().map((each) => each.filter?.()));
  }

  #open(): Promise<ListenStream> {
    const { reconnectsMax, report } = this.#parts;
    const { signal } = this.#stopping;
    this.#stream ??= import("../on-demand.ts").then(
      ({ ListenStream }) =>
        new ListenStream({
          reconnectsMax,
          report,
          signal,
          filter: () => this.#filter(),
          ask: (notifications, ...asked) => this.#ask(LISTEN, { notifications }, ...asked),
          assumeChanges: () => this.assumeChanges(),
        }),
    );
    return this.#stream;
  }

  async #ask(
    method: string,
    params: JsonObject,
    signal?: AbortSignal,
    agree?: (agreed: JsonObject) => void,
  ): Promise<void> {
    const { sender, timeoutMs } = this.#parts;
    const deadline = new Deadline({ what: method, timeoutMs, totalTimeoutMs: 0, signal });
    const onAcknowledged = (agreed: JsonObject): void => {
      // From now on silence is normal.
      deadline.hold();
      agree?.(agreed);
    };
    await sender.ask(method, params, { deadline, onAcknowledged }).finally(() => deadline.stop());
  }
}
