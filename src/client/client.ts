import { KitError } from "../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import type { LoggingLevel } from "../core/protocol/logging.ts";
import { CLIENT_REQUESTS, calledTool, type RequestsWith } from "../core/protocol/methods.ts";
import type { StandardSchema } from "../core/protocol/schema.ts";
import type { ClientConnection } from "./client-connection.ts";
import { invalidAnswer } from "./errors.ts";
import type { Root } from "./questions/questions.ts";
import { untilAborted } from "./requests/deadline.ts";
import { declaresKeys, IDEMPOTENCY_KEY, randomKey } from "./requests/idempotency-keys.ts";
import { KnownTools } from "./requests/known-tools.ts";
import { type ListedPage, Listing } from "./requests/listing.ts";
import type { OutgoingRequest } from "./requests/passing-on.ts";
import type { RequestOptions } from "./requests/request-options.ts";
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
} from "./requests/results.ts";
import type { RequestParts } from "./requests/sending.ts";

/** The options of a request for one page. */
export interface ListPageOptions extends RequestOptions {
  /** The `nextCursor` of the page before. Without it, the first page is read. */
  readonly cursor?: string;
}

/** The options of a call whose result is checked. */
export interface CallOptions<Output> extends RequestOptions {
  /** The schema of `structuredContent`. */
  readonly output?: StandardSchema<unknown, Output>;
}

/** The options of a completion. */
export interface CompleteOptions extends RequestOptions {
  /** The values of the other arguments. Sent since 2025-06-18. */
  readonly context?: Readonly<Record<string, string>>;
}

/**
 * A client that is connected to one server. Created by `connect`.
 *
 * Every method works with servers of both eras. It rejects with an `McpError` if the server answers with an error, with
 * a `ClientError` if the connection or a limit fails or the server does not support the request, and with the reason of
 * `signal` if the caller cancels.
 */
export class Client {
  readonly #connection: ClientConnection;
  readonly #tools = new KnownTools();

  /** Use `connect`. */
  constructor(connection: ClientConnection) {
    this.#connection = connection;
  }

  /**
   * The version, the capabilities and the name of the server. May be stored and passed as `serverFacts` the next time.
   */
  get server(): ServerFacts {
    return this.#connection.facts;
  }

  /** Reads one page of the tools. */
  async listTools(options: ListPageOptions = {}): Promise<ListToolsResult> {
    const page = await this.#page<ListToolsResult>("tools/list", options);
    const hasHeaders = this.#connection.rules.era === "modern" && this.server.transport === "streamable-http";
    const warn = hasHeaders ? (message: string) => this.#warn(message) : undefined;
    return { ...page, tools: await this.#tools.remember(page.tools, warn) };
  }

  /** All tools, page by page. */
  tools(options: RequestOptions = {}): Listing<Tool> {
    return this.#listing(async (cursor) => {
      const { tools, nextCursor } = await this.listTools(at(cursor, options));
      return { items: tools, nextCursor };
    });
  }

  /** Reads one page of the prompts. */
  listPrompts(options: ListPageOptions = {}): Promise<ListPromptsResult> {
    return this.#page("prompts/list", options);
  }

  /** All prompts, page by page. */
  prompts(options: RequestOptions = {}): Listing<Prompt> {
    return this.#listing(async (cursor) => {
      const { prompts, nextCursor } = await this.listPrompts(at(cursor, options));
      return { items: prompts, nextCursor };
    });
  }

  /** Reads one page of the resources. */
  listResources(options: ListPageOptions = {}): Promise<ListResourcesResult> {
    return this.#page("resources/list", options);
  }

  /** All resources, page by page. */
  resources(options: RequestOptions = {}): Listing<Resource> {
    return this.#listing(async (cursor) => {
      const { resources, nextCursor } = await this.listResources(at(cursor, options));
      return { items: resources, nextCursor };
    });
  }

  /** Reads one page of the resource templates. */
  listResourceTemplates(options: ListPageOptions = {}): Promise<ListResourceTemplatesResult> {
    return this.#page("resources/templates/list", options);
  }

  /** All resource templates, page by page. */
  resourceTemplates(options: RequestOptions = {}): Listing<ResourceTemplate> {
    return this.#listing(async (cursor) => {
      const { resourceTemplates, nextCursor } = await this.listResourceTemplates(at(cursor, options));
      return { items: resourceTemplates, nextCursor };
    });
  }

  /**
   * Calls a tool. A failure of the tool itself is a result with `isError`.
   *
   * @param tool The name of a tool, or a tool from a list.
   * @param options `output` is a schema of `structuredContent`, of any library with Standard Schema such as zod. The
   * result then has
   *   its type, unless the tool has failed.
   * @throws {ClientError} `answer-invalid` if the structured content does not fit `output`. The tool has run.
   */
  callTool<Output>(
    tool: string | Pick<Tool, "name" | "annotations">,
    args: JsonObject | undefined,
    options: CallOptions<Output> & { readonly output: StandardSchema<unknown, Output> },
  ): Promise<CheckedToolResult<Output>>;
  /** Calls a tool. */
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
    // A server that declares the key recognises a repeated call, so that it runs once. A tool that changes nothing needs none.
    const needsKey =
      declaresKeys(this.server.capabilities) && (given ?? this.#tools.find(name))?.annotations?.readOnlyHint !== true;
    const { output, idempotencyKey = needsKey ? randomKey() : undefined, ...more } = options;
    const key = idempotencyKey === undefined ? {} : { _meta: { [IDEMPOTENCY_KEY]: idempotencyKey } };
    const result = await this.#request("tools/call", { name, arguments: args, ...key }, more, given);
    // Servers of 2024-11-05 may leave out the content of an empty result.
    const called: CallToolResult = { ...result, content: Array.isArray(result.content) ? result.content : [] };
    return output ? (await import("./on-demand.ts")).checkOutput(called, output) : called;
  }

  /**
   * Waits for the answer to a request that was interrupted, also one of another process: after a restart, the call is
   * not made again. Answers of the server's questions and progress go to the handlers of this client.
   *
   * @param token The last token that `onResumeToken` of the request has received.
   * @returns The result of the request, unchecked.
   * @throws {KitError} `options-invalid` if it is not a token for this server.
   * @throws {ClientError} `stream-lost` or `session-lost` if the server no longer has the answer. `mayHaveRun` is true.
   * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
   */
  resume(token: string, options: RequestOptions = {}): Promise<JsonObject> {
    return this.#connection.resume(token, options);
  }

  /** Reads a resource. */
  async readResource(uri: string, options?: RequestOptions): Promise<ReadResourceResult> {
    const result = await this.#request("resources/read", { uri }, options);
    return { ...result, contents: this.#arrayOf("resources/read", result, "contents") };
  }

  /** Gets a prompt with its arguments filled in. */
  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options?: RequestOptions,
  ): Promise<GetPromptResult> {
    const result = await this.#request("prompts/get", { name, arguments: args }, options);
    return { ...result, messages: this.#arrayOf("prompts/get", result, "messages") };
  }

  /**
   * Completes the value of an argument.
   *
   * @param value What was typed so far.
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
      values: this.#arrayOf("completion/complete", completion, "values", (value) => typeof value === "string"),
    };
  }

  /** Asks whether the server answers. Exists in legacy versions only; the error of the others names the replacement. */
  async ping(options?: RequestOptions): Promise<void> {
    await this.#request("ping", undefined, options);
  }

  /**
   * Sets the level from which on the server sends log messages. A modern server learns it with each request that
   * follows.
   */
  async setLevel(level: LoggingLevel, options?: RequestOptions): Promise<void> {
    const { rules, sender } = this.#connection;
    sender.logLevel = level;
    if (rules.era === "legacy") await this.#request("logging/setLevel", { level }, options);
  }

  /**
   * Subscribes to changes of a resource; they reach `onResourceUpdated`. Resolves when the server has agreed.
   *
   * @throws {ClientError} `capability-missing` if the server does not report changes of it.
   */
  async subscribe(uri: string, options?: RequestOptions): Promise<void> {
    const { rules, subscriptions } = this.#connection;
    if (rules.era === "modern") return subscriptions.add(uri);
    await this.#request("resources/subscribe", { uri }, options);
    subscriptions.note(uri);
  }

  /** Ends a subscription. */
  async unsubscribe(uri: string, options?: RequestOptions): Promise<void> {
    const { rules, subscriptions } = this.#connection;
    if (rules.era === "modern") return subscriptions.remove(uri);
    subscriptions.forget(uri);
    await this.#request("resources/unsubscribe", { uri }, options);
  }

  /** Replaces the roots and tells a legacy server. A modern server asks for them whenever it needs them. */
  async setRoots(roots: readonly Root[]): Promise<void> {
    const { answers, rules } = this.#connection;
    if (!answers.roots) {
      throw new KitError("options-invalid", "setRoots(): the client has no roots. Pass roots: [] to connect().");
    }
    answers.roots = roots;
    if (rules.era === "legacy") await this.notify("notifications/roots/list_changed");
  }

  /** Sends any request and returns its result, unchecked. */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject> {
    return this.#request(method, params, options);
  }

  /** Sends any notification. Resolves when the transport has accepted it. */
  notify(method: string, params?: JsonObject): Promise<void> {
    return this.#connection.notify(method, params);
  }

  /** Ends the session and closes the connection. Pending requests reject with `closed`. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  /**
   * Sends a request through the extensions.
   * @param given The definition of the called tool, if the caller has passed it.
   */
  async #request(
    method: string,
    params?: JsonObject,
    options: RequestOptions = {},
    given?: Pick<Tool, "name" | "annotations">,
  ): Promise<JsonObject> {
    const request = { method, params, options };
    const result = this.#connection.send(request, (last) => this.#partsOf(last, given));
    // An extension may wait for something else, such as the user.
    return options.signal ? untilAborted(result, options.signal) : result;
  }

  #partsOf(request: OutgoingRequest, given?: Pick<Tool, "name" | "annotations">): RequestParts {
    const name = calledTool(request);
    if (name === undefined) return {};
    const { arguments: args = {} } = request.params as { arguments?: JsonObject };
    return {
      headers: () => this.#tools.headersFor(name, args),
      refresh: () => this.tools({ fresh: true }).all(),
      tool: () => (given?.name === name ? given : this.#tools.find(name)),
    };
  }

  async #page<R extends Page>(
    method: RequestsWith<{ readonly list: string }>,
    { cursor, ...options }: ListPageOptions,
  ): Promise<R> {
    const items = CLIENT_REQUESTS[method].list;
    const result = await this.#request(method, cursor === undefined ? undefined : { cursor }, options);
    // The items are checked to be objects; the members of each are what the server sent.
    return { ...result, [items]: this.#arrayOf(method, result, items) } as unknown as R;
  }

  #listing<T>(read: (cursor: string | undefined) => Promise<ListedPage<T>>): Listing<T> {
    return new Listing(read, this.#connection.amounts, (message) => this.#warn(message));
  }

  /** @throws {ClientError} `answer-invalid` unless the member is an array of such items. */
  #arrayOf<T>(
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
