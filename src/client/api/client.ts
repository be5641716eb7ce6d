import { KitError } from "../../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { LoggingLevel } from "../../core/protocol/logging.ts";
import type { Root } from "../../core/protocol/root.ts";
import type { StandardSchema } from "../../core/protocol/schema.ts";
import { untilAborted } from "../basics/deadline.ts";
import { invalidAnswer } from "../basics/errors.ts";
import { declaresKeys, IDEMPOTENCY_KEY, randomKey } from "../requests/idempotency-keys.ts";
import { KnownTools } from "../requests/known-tools.ts";
import { type ListedPage, Listing } from "../requests/listing.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { RequestParts } from "../requests/request-parts.ts";
import type {
  CallToolResult,
  CheckedToolResult,
  Completion,
  CompletionReference,
  GetPromptResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  Page,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  ServerFacts,
  Tool,
} from "../requests/results.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { OutgoingRequest } from "./wrapped-requests.ts";

/** The options of a request for one page of a list. */
export interface ListPageOptions extends RequestOptions {
  /** The `nextCursor` of the previous page. @default the first page is read */
  readonly cursor?: string;
}

/** The options of a call whose result is validated. */
export interface CallOptions<Output> extends RequestOptions {
  /** The schema of `structuredContent`, from any library that implements Standard Schema, such as zod. */
  readonly output?: StandardSchema<unknown, Output>;
}

/** The options of a completion. */
export interface CompleteOptions extends RequestOptions {
  /** The values of the arguments that were completed before. Sent since 2025-06-18. */
  readonly context?: Readonly<Record<string, string>>;
}

/**
 * A client that is connected to one server. Created by `connect()`.
 *
 * All methods work with servers of both eras. They reject with an `McpError` if the server responds with an error, with a
 * `ClientError` if the connection fails, a limit is reached or the server does not support the request, and with the reason of
 * `signal` if the caller cancels.
 */
export class Client {
  readonly #connection: ClientConnection;
  readonly #tools = new KnownTools();

  /** Created by `connect()`. @internal */
  constructor(connection: ClientConnection) {
    this.#connection = connection;
  }

  /**
   * The version, the capabilities and the name of the server. Can be stored and passed as `serverFacts` to the next `connect()`.
   */
  get server(): ServerFacts {
    return this.#connection.facts;
  }

  /** Reads one page of the tools. */
  async listTools(options: ListPageOptions = {}): Promise<ListToolsResult> {
    const page = await this.#page<ListToolsResult>("tools/list", "tools", options);
    const hasHeaders = this.#connection.rules.era === "modern" && this.server.transport === "streamable-http";
    const warn = hasHeaders ? (message: string) => this.#warn(message) : undefined;
    return { ...page, tools: await this.#tools.add(page.tools, warn) };
  }

  /** Iterates over all tools, page by page. */
  tools(options: RequestOptions = {}): Listing<Tool> {
    return this.#listing(async (cursor) => {
      const { tools, nextCursor } = await this.listTools(at(cursor, options));
      return { items: tools, nextCursor };
    });
  }

  /** Reads one page of the prompts. */
  listPrompts(options: ListPageOptions = {}): Promise<ListPromptsResult> {
    return this.#page("prompts/list", "prompts", options);
  }

  /** Iterates over all prompts, page by page. */
  prompts(options: RequestOptions = {}): Listing<Prompt> {
    return this.#listing(async (cursor) => {
      const { prompts, nextCursor } = await this.listPrompts(at(cursor, options));
      return { items: prompts, nextCursor };
    });
  }

  /** Reads one page of the resources. */
  listResources(options: ListPageOptions = {}): Promise<ListResourcesResult> {
    return this.#page("resources/list", "resources", options);
  }

  /** Iterates over all resources, page by page. */
  resources(options: RequestOptions = {}): Listing<Resource> {
    return this.#listing(async (cursor) => {
      const { resources, nextCursor } = await this.listResources(at(cursor, options));
      return { items: resources, nextCursor };
    });
  }

  /** Reads one page of the resource templates. */
  listResourceTemplates(options: ListPageOptions = {}): Promise<ListResourceTemplatesResult> {
    return this.#page("resources/templates/list", "resourceTemplates", options);
  }

  /** Iterates over all resource templates, page by page. */
  resourceTemplates(options: RequestOptions = {}): Listing<ResourceTemplate> {
    return this.#listing(async (cursor) => {
      const { resourceTemplates, nextCursor } = await this.listResourceTemplates(at(cursor, options));
      return { items: resourceTemplates, nextCursor };
    });
  }

  /**
   * Calls a tool, and validates its structured content. A failure of the tool itself is a result with `isError`.
   *
   * @param tool The name of a tool, or a tool from a list.
   * @param options With `output`, the schema of `structuredContent`. Unless the tool has failed, the result has its type.
   * @throws {ClientError} `answer-invalid` if the structured content does not match `output`. The tool has run.
   */
  callTool<Output>(
    tool: string | Pick<Tool, "name" | "annotations">,
    args: JsonObject | undefined,
    options: CallOptions<Output> & { readonly output: StandardSchema<unknown, Output> },
  ): Promise<CheckedToolResult<Output>>;
  /** Calls a tool. A failure of the tool itself is a result with `isError`. */
  callTool(
    tool: string | Pick<Tool, "name" | "annotations">,
    args?: JsonObject,
    options?: RequestOptions,
  ): Promise<CallToolResult>;
  async callTool(
    tool: string | Pick<Tool, "name" | "annotations">,
    args: JsonObject = {},
    options: CallOptions<unknown> = {},
  ): Promise<CallToolResult> {
    const given = typeof tool === "string" ? undefined : tool;
    const name = given?.name ?? (tool as string);
    // With a key, a server recognises a repeated call, so that it runs once. A tool without side effects does not need one.
    const needsKey =
      declaresKeys(this.server.capabilities) && (given ?? this.#tools.find(name))?.annotations?.readOnlyHint !== true;
    const { output, idempotencyKey = needsKey ? randomKey() : undefined, ...more } = options;
    const key = idempotencyKey === undefined ? {} : { _meta: { [IDEMPOTENCY_KEY]: idempotencyKey } };
    const result = await this.#request("tools/call", { name, arguments: args, ...key }, more, given);
    // Servers of 2024-11-05 may omit the content of an empty result.
    const called: CallToolResult = { ...result, content: Array.isArray(result.content) ? result.content : [] };
    return output ? (await import("../on-demand.ts")).checkOutput(called, output) : called;
  }

  /**
   * Waits for the response to a request that was interrupted, such as a request of a process that has ended. The request is not sent
   * again. Questions and progress go to the handlers of this client.
   *
   * @param token The last token that `onResumeToken` of the request has received.
   * @returns The result of the request, which is not validated.
   * @throws {KitError} `options-invalid` if it is not a token for this server.
   * @throws {ClientError} `stream-lost` or `session-lost` if the server no longer has the response. `mayHaveRun` is true.
   * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
   */
  resume(token: string, options: RequestOptions = {}): Promise<JsonObject> {
    return this.#connection.resume(token, options);
  }

  /** Reads a resource. */
  async readResource(uri: string, options?: RequestOptions): Promise<ReadResourceResult> {
    const result = await this.#request("resources/read", { uri }, options);
    return { ...result, contents: this.#requireArray("resources/read", result, "contents") };
  }

  /** Gets a prompt with its arguments filled in. */
  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options?: RequestOptions,
  ): Promise<GetPromptResult> {
    const result = await this.#request("prompts/get", { name, arguments: args }, options);
    return { ...result, messages: this.#requireArray("prompts/get", result, "messages") };
  }

  /**
   * Suggests values for an argument of a prompt or a variable of a resource template.
   *
   * @param value The text that was typed so far.
   */
  async complete(
    reference: CompletionReference,
    argument: string,
    value: string,
    { context, ...options }: CompleteOptions = {},
  ): Promise<Completion> {
    const more = context === undefined ? {} : { context: { arguments: context } };
    const params = { ref: reference, argument: { name: argument, value }, ...more };
    const result = await this.#request("completion/complete", params, options);
    const completion = isObject(result.completion) ? result.completion : {};
    return {
      ...completion,
      values: this.#requireArray("completion/complete", completion, "values", (value) => typeof value === "string"),
    };
  }

  /** Checks that the server responds. Exists only in legacy versions; in modern versions, the error names the replacement. */
  async ping(options?: RequestOptions): Promise<void> {
    await this.#request("ping", undefined, options);
  }

  /**
   * Sets the minimum level of the log messages that the server sends. A modern server receives the level with each later request.
   */
  async setLevel(level: LoggingLevel, options?: RequestOptions): Promise<void> {
    const { rules, sender } = this.#connection;
    sender.logLevel = level;
    if (rules.era === "legacy") await this.#request("logging/setLevel", { level }, options);
  }

  /**
   * Subscribes to changes of a resource, which are passed to `onResourceUpdated`. Resolves when the server has agreed.
   *
   * @throws {ClientError} `capability-missing` if the server does not report changes of the resource.
   */
  async subscribe(uri: string, options?: RequestOptions): Promise<void> {
    const { rules, subscriptions } = this.#connection;
    if (rules.era === "modern") return subscriptions.add(uri);
    await this.#request("resources/subscribe", { uri }, options);
    subscriptions.record(uri);
  }

  /** Ends a subscription. */
  async unsubscribe(uri: string, options?: RequestOptions): Promise<void> {
    const { rules, subscriptions } = this.#connection;
    if (rules.era === "modern") return subscriptions.remove(uri);
    subscriptions.discard(uri);
    await this.#request("resources/unsubscribe", { uri }, options);
  }

  /** Replaces the roots, and notifies a legacy server. A modern server asks for the roots whenever it needs them. */
  async setRoots(roots: readonly Root[]): Promise<void> {
    const { answering, rules } = this.#connection;
    if (!answering.roots) {
      throw new KitError("options-invalid", "setRoots(): the client has no roots. Pass roots: [] to connect().");
    }
    answering.roots = roots;
    if (rules.era === "legacy") await this.notify("notifications/roots/list_changed");
  }

  /** Sends any request, and returns its result, which is not validated. */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject> {
    return this.#request(method, params, options);
  }

  /** Sends any notification. Resolves when the transport has accepted it. */
  notify(method: string, params?: JsonObject): Promise<void> {
    return this.#connection.notify(method, params);
  }

  /** Ends the session and closes the connection. Pending requests reject with a `ClientError` with the code `closed`. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  /**
   * Sends a request through the extensions.
   *
   * @param given The called tool, if the caller has passed it instead of its name.
   */
  async #request(
    method: string,
    params?: JsonObject,
    options: RequestOptions = {},
    given?: Pick<Tool, "name" | "annotations">,
  ): Promise<JsonObject> {
    const request = { method, params, options };
    const result = this.#connection.send(request, (last) => this.#createParts(last, given));
    // An extension may not observe the signal while it waits, for example for the user.
    return options.signal ? untilAborted(result, options.signal) : result;
  }

  #createParts({ method, params = {} }: OutgoingRequest, given?: Pick<Tool, "name" | "annotations">): RequestParts {
    if (method !== "tools/call") return {};
    const { name, arguments: args } = params as { name: string; arguments?: JsonObject };
    return {
      headers: () => this.#tools.headersFor(name, args ?? {}),
      refresh: () => this.tools({ fresh: true }).all(),
      tool: () => (given?.name === name ? given : this.#tools.find(name)),
    };
  }

  async #page<R extends Page>(method: string, items: string, { cursor, ...options }: ListPageOptions): Promise<R> {
    const result = await this.#request(method, cursor === undefined ? undefined : { cursor }, options);
    // The cast is safe as far as the items are objects. Their members are not validated.
    return { ...result, [items]: this.#requireArray(method, result, items) } as unknown as R;
  }

  #listing<T>(read: (cursor: string | undefined) => Promise<ListedPage<T>>): Listing<T> {
    return new Listing(read, this.#connection.limits, (message) => this.#warn(message));
  }

  /** Returns a member that must be an array. @throws {ClientError} `answer-invalid` if it is not, or an item is invalid. */
  #requireArray<T>(
    method: string,
    result: JsonObject,
    member: string,
    isItem: (item: unknown) => boolean = isObject,
  ): readonly T[] {
    const value = result[member];
    if (Array.isArray(value) && value.every(isItem)) return value as T[];
    throw invalidAnswer(method, `it has no valid list "${member}"`);
  }

  #warn(message: string): void {
    this.#connection.report({ type: "warning", message });
  }
}

function at(cursor: string | undefined, options: RequestOptions): ListPageOptions {
  return cursor === undefined ? options : { ...options, cursor };
}
