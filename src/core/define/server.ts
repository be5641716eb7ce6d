/**
 * The server an author writes: its identity and what it offers. Runtime-neutral and free of state about clients.
 *
 * @module
 */
import { KitError } from "../protocol/errors.ts";
import { type LoggingLevel, logData } from "../protocol/logging.ts";
import type { CustomHandler, CustomNotificationHandler } from "./custom-methods.ts";
import { keyOf } from "./definitions.ts";
import type { HandlerContext } from "./handler-context.ts";
import type { PromptArguments, PromptHandler, PromptOptions } from "./prompt.ts";
import { Registry } from "./registry.ts";
import type { ResourceOptions, ResourceProvider, ResourceReader, TemplateOptions, TemplateReader } from "./resource.ts";
import type { Definition, ServerOptions } from "./server-options.ts";
import type { AnySchemaOrNone, ToolHandler, ToolOptions } from "./tool.ts";

/** The member of a server that holds its {@link Registry}. Global, so that two copies of the package find each other's. */
export const REGISTRY: unique symbol = Symbol.for("mcp-edge.registry");

declare const ENV: unique symbol;

/**
 * One definition of tools, served at the edge, over stdio, and in tests.
 *
 * @example
 * ```ts
 * const server = new McpServer({ name: "calculator", version: "1.0.0" });
 * server.tool("add", { input: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => String(a + b));
 * ```
 */
export class McpServer<Env = unknown> {
  /** The definitions behind this server, for the ways of serving it. Not part of the API. */
  declare readonly [REGISTRY]: Registry;
  /** Exists for types alone: a server that needs bindings is none that needs no bindings. */
  declare readonly [ENV]: (env: Env) => void;

  /**
   * Makes a server; `edge()` or `serveStdio()` serves it.
   *
   * @throws {KitError} `options-invalid` for an option that does not exist or a number out of its range; or when a
   *   definition of a list is refused: the text names its place in the list.
   * @throws {RangeError} when `protocolVersions` is empty or names an unknown version.
   */
  constructor(options: ServerOptions<Env>) {
    // A server is only served with the bindings that its options were written for.
    this[REGISTRY] = new Registry(options as ServerOptions<unknown>);
  }

  /**
   * Defines a tool on this server.
   *
   * @throws {KitError} `definition-duplicate`, `definition-invalid` or `schema-unsupported`, naming the tool.
   */
  tool<const In extends AnySchemaOrNone = undefined, const Out extends AnySchemaOrNone = undefined>(
    name: string,
    options: ToolOptions<In, Out>,
    handler: ToolHandler<In, Out, Env>,
  ): this {
    return this.#add({ kind: "tool", name, options, handler }, `server.tool("${name}")`);
  }

  /** Defines a prompt. Throws as {@link McpServer.tool} does. */
  prompt<const Args extends PromptArguments = undefined>(
    name: string,
    options: PromptOptions<Args, Env>,
    handler: PromptHandler<Args, Env>,
  ): this {
    return this.#add({ kind: "prompt", name, options, handler }, `server.prompt("${name}")`);
  }

  /** Defines a resource by its URI, of any scheme. Throws as {@link McpServer.tool} does. */
  resource(uri: string, options: ResourceOptions, read: ResourceReader<Env>): this {
    return this.#add({ kind: "resource", uri, options, read }, `server.resource("${uri}")`);
  }

  /** Defines a family of resources by a URI template (RFC 6570). Throws as {@link McpServer.tool} does. */
  resourceTemplate(uriTemplate: string, options: TemplateOptions<Env>, read: TemplateReader<Env>): this {
    return this.#add({ kind: "template", uriTemplate, options, read }, `server.resourceTemplate("${uriTemplate}")`);
  }

  /**
   * Lists and reads resources whose names live elsewhere. Asked after everything defined.
   *
   * @throws {KitError} `definition-duplicate` when there is one already.
   */
  resourceProvider(provider: ResourceProvider<Env>): this {
    this[REGISTRY].setProvider(provider as ResourceProvider);
    return this;
  }

  /**
   * Defines a method of your own. Context, limits and hooks apply to it as to the protocol's.
   *
   * @throws {KitError} `method-defined` when the name is the protocol's, of any version, or taken.
   */
  method(name: string, handler: CustomHandler<Env>): this {
    this[REGISTRY].addNamed("methods", name, handler);
    return this;
  }

  /**
   * Defines a notification of your own. Context, the limit `handlerTimeoutMs` and `around` hooks apply to it. Throws as
   * {@link McpServer.method} does.
   */
  notification(name: string, handler: CustomNotificationHandler<Env>): this {
    this[REGISTRY].addNamed("notifications", name, handler);
    return this;
  }

  /**
   * Sets the handler that runs when the roots of a client have changed (2024-11-05 to 2025-11-25). Read them with
   * `ctx.listRoots()`.
   *
   * @throws {KitError} `definition-duplicate` when there is a handler already.
   */
  onRootsChanged(handler: (ctx: HandlerContext<Env>) => void | Promise<void>): this {
    const registry = this[REGISTRY];
    if (registry.rootsChanged)
      throw new KitError("definition-duplicate", "This server has an onRootsChanged handler already.");
    registry.rootsChanged = handler as (ctx: HandlerContext) => void | Promise<void>;
    return this;
  }

  /** Adds a definition made by `defineTool` and its like. Throws as {@link McpServer.tool} does. */
  add(definition: Definition<Env>): this {
    return this.#add(definition, `server.add() of "${keyOf(definition)}"`);
  }

  /**
   * Shows all that another server (the part) defines, now and later, as this server's own: tools, prompts, custom methods and
   * notifications under `prefix + name`, resources and templates under their URIs, and its provider where this server
   * has none. What is added to, replaced on or removed from the part follows at once, with notices to the clients of
   * both. Only definitions are shared: hooks, `onError` and options are this server's.
   *
   * @param options.prefix Put before each name as it is, such as "math/".
   * @throws {KitError} `definition-duplicate` (`method-defined` for a custom method) naming both when something is
   *   defined already, here or later where it is added to the part; nothing is changed then. `definition-invalid` when
   *   a server would contain itself, or a name with its prefix is not allowed.
   */
  mount(part: McpServer<Env> | McpServer, { prefix }: { readonly prefix: string }): this {
    this[REGISTRY].mount(part[REGISTRY], prefix);
    return this;
  }

  /**
   * Takes a definition away, also while clients are connected: later lists and calls do not have it, calls in flight
   * end as they began.
   *
   * @param key Name of a tool or prompt, URI of a resource, or URI template.
   * @returns Whether there was one.
   */
  remove(kind: Definition<Env>["kind"], key: string): boolean {
    return this[REGISTRY].remove(kind, key);
  }

  /** Puts a definition in the place of the one with its name or URI, or adds it. Throws as {@link McpServer.tool} does. */
  replace(definition: Definition<Env>): this {
    return this.#add(definition, "server.replace()", true);
  }

  /** Tells clients that the list of tools changed: for lists that differ by more than `add` and `remove`. */
  toolsChanged(): void {
    this[REGISTRY].publish({ kind: "tools" });
  }

  /** Tells clients that the list of prompts changed. Adding and removing prompts does so by itself. */
  promptsChanged(): void {
    this[REGISTRY].publish({ kind: "prompts" });
  }

  /** Tells clients that the list of resources changed. Adding and removing them does so by itself. */
  resourcesChanged(): void {
    this[REGISTRY].publish({ kind: "resources" });
  }

  /** Tells the subscribers of a resource that its contents have changed. */
  resourceUpdated(uri: string): void {
    this[REGISTRY].publish({ kind: "resource", uri });
  }

  /** Tells the client that a URL elicitation is complete: its user has done what the URL was for (2025-11-25). */
  elicitationComplete(elicitationId: string): void {
    this[REGISTRY].publish({ kind: "elicitation", id: elicitationId });
  }

  /**
   * Sends a log message to every legacy client that asked for this level or a less severe one. In a handler use `ctx.log`
   * instead. Dropped if no client listens.
   *
   * @param data Any JSON value.
   */
  log(level: LoggingLevel, data: unknown, logger?: string): void {
    this[REGISTRY].publish({ kind: "log", level, data: logData(data), ...(logger === undefined ? {} : { logger }) });
  }

  #add(definition: Definition<Env>, place: string, isReplacing = false): this {
    this[REGISTRY].add(definition, place, isReplacing);
    return this;
  }
}
