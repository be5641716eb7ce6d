/**
 * The notifications of changes that a client receives. A legacy server sends them on the stream of the session, and a modern server on
 * a `subscriptions/listen` stream.
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

/** The lists, each with the option that receives its changes and its member of the filter. */
const LISTS = [
  ["tools", "onToolsChanged", "toolsListChanged"],
  ["prompts", "onPromptsChanged", "promptsListChanged"],
  ["resources", "onResourcesChanged", "resourcesListChanged"],
] as const;

const LISTEN = "subscriptions/listen";

export interface SubscriptionsParts {
  readonly sender: RequestSender;
  readonly options: ClientOptions;
  /** How long the server may take to acknowledge a stream, in milliseconds. */
  readonly timeoutMs: number;
  readonly reconnectsMax: number;
  capabilities(): ServerCapabilities;
  extensions(): readonly ExtensionHooks[];
  /** Delivers a notification as if the server had sent it. */
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

  /** Whether there is a handler for messages that belong to no request. */
  get #hasHandlers(): boolean {
    const { options, extensions } = this.#parts;
    // The names of all handlers begin with "on". onEvent receives no messages. With roots, the server may ask for them.
    const isHandler = ([name, value]: [string, unknown]) => /^(on(?!Event$)|roots$)/.test(name) && value !== undefined;
    return Object.entries(options).some(isHandler) || extensions().some((each) => each.onNotification);
  }

  /** Opens the stream of changes after the connection was opened, if there is a handler for them. */
  start(): void {
    const { sender, report } = this.#parts;
    if (sender.rules?.era === "legacy") {
      if (this.#hasHandlers) sender.link.listen();
    } else if (Object.keys(this.#filter()).length > 0) {
      this.#open()
        .then((stream) => stream.start())
        .catch((error: Error) => report({ type: "stream-lost", error }));
    }
  }

  /** Opens the stream of a modern server with the current filter. Resolves with the filter that the server has accepted. */
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

  /** Stores a subscription of a legacy session, and opens the stream. */
  record(uri: string): void {
    this.#uris.add(uri);
    this.#parts.sender.link.listen();
  }

  /** Removes a subscription of a legacy session. */
  discard(uri: string): void {
    this.#uris.delete(uri);
  }

  /** Restores the subscriptions and the log level in a new session. Refused subscriptions are reported and removed. */
  async restore(): Promise<void> {
    const { sender, report } = this.#parts;
    const { logLevel: level } = sender;
    if (this.#uris.size === 0 && !level) return;
    const { restoreSession } = await import("../on-demand.ts");
    const request = (method: string, params: JsonObject) => this.#request(method, params);
    await restoreSession({ uris: this.#uris, level, request, report });
    if (this.#uris.size > 0) sender.link.listen();
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Passes a notification to its handler. Returns false if no option is for this method. */
  deliver(method: string, params: JsonObject): boolean {
    const { sender, options } = this.#parts;
    const list = LISTS.find(([name]) => method === `notifications/${name}/list_changed`);
    if (list) sender.callHandler(list[1], () => options[list[1]]?.());
    else if (method === "notifications/resources/updated") {
      sender.callHandler("onResourceUpdated", () => options.onResourceUpdated?.(String(params.uri)));
    } else if (method === "notifications/message") {
      sender.callHandler("onLog", () => options.onLog?.(params as unknown as LogMessage));
    } else if (method === "notifications/elicitation/complete") {
      sender.callHandler("onElicitationComplete", () => options.onElicitationComplete?.(String(params.elicitationId)));
    } else return false;
    return true;
  }

  /** Calls the handlers as if everything had changed, because notifications may have been missed. */
  assumeChanges(): void {
    const { notification } = this.#parts;
    for (const [list] of LISTS) if (this.#hasListChanges(list)) notification(`notifications/${list}/list_changed`, {});
    for (const uri of this.#uris) notification("notifications/resources/updated", { uri });
  }

  #hasListChanges(list: (typeof LISTS)[number][0]): boolean {
    const declared = this.#parts.capabilities()[list];
    return isObject(declared) && declared.listChanged === true;
  }

  /** Returns the filter for the handlers and subscriptions, limited to the changes that the server has declared. */
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
          listen: (notifications, ...rest) => this.#request(LISTEN, { notifications }, ...rest),
          assumeChanges: () => this.assumeChanges(),
        }),
    );
    return this.#stream;
  }

  async #request(
    method: string,
    params: JsonObject,
    signal?: AbortSignal,
    onAccepted?: (accepted: JsonObject) => void,
  ): Promise<void> {
    const { sender, timeoutMs } = this.#parts;
    const deadline = new Deadline({ what: method, timeoutMs, totalTimeoutMs: 0, signal });
    const onAcknowledged = (accepted: JsonObject): void => {
      // The limit without progress ends, because the server may now be silent for any time.
      deadline.hold();
      onAccepted?.(accepted);
    };
    await sender.request(method, params, { deadline, onAcknowledged }).finally(() => deadline.stop());
  }
}
