/**
 * Subscriptions of one connection: `subscriptions/listen` of the modern era, and in the legacy era list notices for
 * every client and updates of the resources it subscribed to.
 *
 * Not part of the tables of methods: a way of serving adds them where notices can reach its clients.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/subscriptions; MCP 2025-11-25, server/resources, "Subscriptions"
 */
import type { Call } from "./context.ts";
import { invalidParams } from "./errors.ts";
import { isObject, type JSONRPCNotification, type JSONRPCRequest, type JsonObject, type RequestId } from "./jsonrpc.ts";
import type { Method } from "./methods.ts";
import type { Notice } from "./notices.ts";
import { resourceNotFound } from "./resource.ts";
import type { McpServer } from "./server.ts";
import type { Era } from "./versions.ts";

const LIST_CHANGED = {
  tools: "notifications/tools/list_changed",
  prompts: "notifications/prompts/list_changed",
  resources: "notifications/resources/list_changed",
} as const;

const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";

/** URIs one client may be subscribed to: each costs memory for as long as the connection lives. */
const URIS_MAX = 1_000;

/** The subscriptions of one connection. */
export class Subscriptions {
  readonly #server: McpServer<never>;
  readonly #send: (notification: JSONRPCNotification) => void;
  readonly #uris = new Set<string>();
  readonly #enders = new Set<() => void>();
  #stopLegacy: (() => void) | undefined;

  /** @param send Sends a legacy notice to the client of this connection. */
  constructor(server: McpServer<never>, send: (notification: JSONRPCNotification) => void) {
    this.#server = server;
    this.#send = send;
  }

  /** The methods that subscriptions add to an era. */
  methods(era: Era): Readonly<Record<string, Method>> {
    if (era === "modern")
      return { "subscriptions/listen": { serve: (_, request, call) => this.#listen(request, call) } };
    const isOffered = (server: McpServer<never>) => server.hasResources;
    return {
      "resources/subscribe": { isOffered, serve: (server, request, call) => this.#subscribe(server, request, call) },
      "resources/unsubscribe": { isOffered, serve: (_, request) => this.#unsubscribe(request) },
    };
  }

  /** Begins legacy notices: the client has said that it is initialized. */
  startLegacy(): void {
    this.#stopLegacy ??= this.#server.notices.subscribe((notice) => {
      if (notice.kind !== "resource") this.#send({ jsonrpc: "2.0", method: LIST_CHANGED[notice.kind] });
      else if (this.#uris.has(notice.uri)) this.#send(updated(notice.uri));
    });
  }

  /** Ends everything: each listen request is answered, so that its client knows it was no accident. */
  end(): void {
    this.#stopLegacy?.();
    this.#stopLegacy = undefined;
    for (const end of [...this.#enders]) end();
  }

  #subscribe(server: McpServer<never>, request: JSONRPCRequest, call: Call<never>): JsonObject {
    const uri = readUri(request);
    const isKnown =
      server.resources.find(uri) !== undefined ||
      server.provider !== undefined ||
      [...server.templates.values()].some(({ template }) => template.match(uri));
    if (!isKnown) throw resourceNotFound(uri, call.client.rules);
    if (this.#uris.size >= URIS_MAX && !this.#uris.has(uri)) {
      throw invalidParams(`A client subscribes to at most ${URIS_MAX} resources; unsubscribe from one first.`);
    }
    this.#uris.add(uri);
    return {};
  }

  #unsubscribe(request: JSONRPCRequest): JsonObject {
    this.#uris.delete(readUri(request));
    return {};
  }

  /** Stays open until the client cancels it or the connection ends. */
  #listen(request: JSONRPCRequest, call: Call<never>): Promise<JsonObject> {
    const filter = readFilter(request, this.#server);
    const tag = { [SUBSCRIPTION_ID]: request.id };
    call.emit({
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: { _meta: tag, notifications: filter.shown },
    });
    const stop = this.#server.notices.subscribe((notice) => {
      if (filter.admits(notice)) call.emit(tagged(notice, request.id));
    });
    return new Promise((resolve) => {
      const end = () => {
        stop();
        this.#enders.delete(end);
        resolve({ _meta: tag });
      };
      this.#enders.add(end);
      call.signal.addEventListener("abort", end, { once: true });
    });
  }
}

function readUri(request: JSONRPCRequest): string {
  const uri = request.params?.uri;
  if (typeof uri !== "string") throw invalidParams(`${request.method}: params.uri is not a string.`, { field: "uri" });
  return uri;
}

/** What was asked for and is honoured: kinds the server has none of are left out. */
function readFilter(request: JSONRPCRequest, server: McpServer<never>) {
  const asked = request.params?.notifications;
  if (!isObject(asked))
    throw invalidParams("subscriptions/listen: params.notifications is not an object.", { field: "notifications" });
  const uris = asked.resourceSubscriptions ?? [];
  if (!Array.isArray(uris) || uris.length > URIS_MAX || !uris.every((uri) => typeof uri === "string")) {
    throw invalidParams(`subscriptions/listen: resourceSubscriptions is not a list of at most ${URIS_MAX} strings.`, {
      field: "notifications.resourceSubscriptions",
    });
  }
  const honoured = {
    tools: asked.toolsListChanged === true && server.tools.size > 0,
    prompts: asked.promptsListChanged === true && server.prompts.size > 0,
    resources: asked.resourcesListChanged === true && server.hasResources,
  };
  const wanted = new Set<unknown>(server.hasResources ? uris : []);
  const shown: JsonObject = {};
  if (honoured.tools) shown.toolsListChanged = true;
  if (honoured.prompts) shown.promptsListChanged = true;
  if (honoured.resources) shown.resourcesListChanged = true;
  if (wanted.size > 0) shown.resourceSubscriptions = [...wanted];
  const admits = (notice: Notice) => (notice.kind === "resource" ? wanted.has(notice.uri) : honoured[notice.kind]);
  return { shown, admits };
}

function tagged(notice: Notice, id: RequestId): JSONRPCNotification {
  const _meta = { [SUBSCRIPTION_ID]: id };
  if (notice.kind !== "resource") return { jsonrpc: "2.0", method: LIST_CHANGED[notice.kind], params: { _meta } };
  return { jsonrpc: "2.0", method: "notifications/resources/updated", params: { _meta, uri: notice.uri } };
}

function updated(uri: string): JSONRPCNotification {
  return { jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } };
}
