/**
 * The server that an author writes. It is independent of the runtime and holds no state about clients.
 *
 * @module
 */
import { KitError } from "../protocol/errors.ts";
import { type LoggingLevel, logData } from "../protocol/logging.ts";
import type { CustomHandler, CustomNotificationHandler } from "./custom-methods.ts";
import { toKey } from "./definitions.ts";
import type { HandlerContext } from "./handler-context.ts";
import type { PromptArguments, PromptHandler, PromptOptions } from "./prompt.ts";
import { Registry } from "./registry.ts";
import type {
  ResourceOptions,
  ResourceProvider,
  ResourceReader,
  ResourceTemplateOptions,
  ResourceTemplateReader,
} from "./resource.ts";
import type { Definition, ServerOptions } from "./server-options.ts";
import type { AnySchemaOrNone, ToolHandler, ToolOptions } from "./tool.ts";

/**
 * The member of a server that holds its {@link Registry}. The symbol is global, so that two copies of the package can
 * read each other's servers.
 */
export const REGISTRY: unique symbol = Symbol.for("mcp-edge.registry");

declare const ENV: unique symbol;

/**
 * An MCP server: its identity and its tools, prompts and resources. It is served at the edge, over stdio, and in tests.
 *
 * @example
 * ```ts
 * const server = new McpServer({ name: "calculator", version: "1.0.0" });
 * server.tool("add", { input: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => String(a + b));
 * ```
 */
export class McpServer<Env = unknown> {
  /**
   * The definitions of this server, for transports.
   *
   * @internal
   */
  declare readonly [REGISTRY]: Registry;
  /** For types only: a server that needs bindings cannot be used as one that needs none. */
  declare readonly [ENV]: (env: Env) => void;

  /**
   * Creates a server. `edge()` or `serveStdio()` serves it.
   *
   * @throws {KitError} `options-invalid` for an unknown option or a number out of range. If a definition in a list is
   *   refused, the error names its place in the list.
   * @throws {RangeError} if `protocolVersions` is empty or names an unknown version.
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

  /** Defines a prompt. Throws like {@link McpServer.tool}. */
  prompt<const Args extends PromptArguments = undefined>(
    name: string,
    options: PromptOptions<Args, Env>,
    handler: PromptHandler<Args, Env>,
  ): this {
    return this.#add({ kind: "prompt", name, options, handler }, `server.prompt("${name}")`);
  }

  /** Defines a resource by its URI, of any scheme. Throws like {@link McpServer.tool}. */
  resource(uri: string, options: ResourceOptions, read: ResourceReader<Env>): this {
    return this.#add({ kind: "resource", uri, options, read }, `server.resource("${uri}")`);
  }

  /**
   * Defines a resource template: resources whose URIs match a URI template (RFC 6570). It matches the URIs that it would
   * write itself, apart from escapes of characters other than `/`, `?` and `#`, and from the order of a query. Throws like
   * {@link McpServer.tool}.
   */
  resourceTemplate(
    uriTemplate: string,
    options: ResourceTemplateOptions<Env>,
    read: ResourceTemplateReader<Env>,
  ): this {
    return this.#add(
      { kind: "resourceTemplate", uriTemplate, options, read },
      `server.resourceTemplate("${uriTemplate}")`,
    );
  }

  /**
   * Sets the provider of resources that are stored elsewhere. It is called for URIs that no definition matches.
   *
   * @throws {KitError} `definition-duplicate` if there is one already.
   */
  resourceProvider(provider: ResourceProvider<Env>): this {
    this[REGISTRY].setProvider(provider as ResourceProvider);
    return this;
  }

  /**
   * Defines a custom method. Context, limits and hooks apply to it as to standard methods.
   *
   * @throws {KitError} `method-defined` if any protocol version defines the name, or it is taken.
   */
  method(name: string, handler: CustomHandler<Env>): this {
    this[REGISTRY].addNamed("methods", name, handler);
    return this;
  }

  /**
   * Defines a custom notification. Context, the limit `handlerTimeoutMs` and `around` hooks apply to it. Throws like
   * {@link McpServer.method}.
   */
  notification(name: string, handler: CustomNotificationHandler<Env>): this {
    this[REGISTRY].addNamed("notifications", name, handler);
    return this;
  }

  /**
   * Sets the handler that runs when the roots of a client have changed (2024-11-05 to 2025-11-25). Read them with
   * `ctx.listRoots()`.
   *
   * @throws {KitError} `definition-duplicate` if there is a handler already.
   */
  onRootsChanged(handler: (ctx: HandlerContext<Env>) => void | Promise<void>): this {
    const registry = this[REGISTRY];
    if (registry.rootsChanged)
      throw new KitError("definition-duplicate", "This server already has an onRootsChanged handler.");
    registry.rootsChanged = handler as (ctx: HandlerContext) => void | Promise<void>;
    return this;
  }

  /** Adds a definition, such as one created by `defineTool`. Throws like {@link McpServer.tool}. */
  add(definition: Definition<Env>): this {
    return this.#add(definition, `server.add() of "${toKey(definition)}"`);
  }

  /**
   * Adds all definitions of another server (the part) to this one: tools, prompts, custom methods and notifications
   * under `prefix + name`, resources and resource templates under their URIs, and its provider if this server has none. Later
   * changes of the part apply here immediately, with notifications to the clients of both. Only definitions are shared:
   * hooks, `onError` and options are those of this server.
   *
   * @param options.prefix The text before each name, such as "math/".
   * @throws {KitError} `definition-duplicate` (`method-defined` for a custom method) naming both definitions if a name
   *   or URI is taken. Nothing is changed then. The same applies to a definition that is later added to the part.
   *   `definition-invalid` if a server would contain itself, or a name with its prefix is not allowed.
   */
  mount(part: McpServer<Env> | McpServer, { prefix }: { readonly prefix: string }): this {
    this[REGISTRY].mount(part[REGISTRY], prefix);
    return this;
  }

  /**
   * Removes a definition, even while clients are connected. Later lists and calls do not find it; calls in flight
   * continue.
   *
   * @param key The name of a tool or prompt, the URI of a resource, or the URI template.
   * @returns Whether there was one.
   */
  remove(kind: Definition<Env>["kind"], key: string): boolean {
    return this[REGISTRY].remove(kind, key);
  }

  /** Replaces the definition with the same name or URI, or adds this one. Throws like {@link McpServer.tool}. */
  replace(definition: Definition<Env>): this {
    return this.#add(definition, "server.replace()", true);
  }

  /** Notifies clients that the list of tools changed. Adding and removing tools does so by itself. */
  toolsChanged(): void {
    this[REGISTRY].publish({ kind: "tools" });
  }

  /** Notifies clients that the list of prompts changed. Adding and removing prompts does so by itself. */
  promptsChanged(): void {
    this[REGISTRY].publish({ kind: "prompts" });
  }

  /** Notifies clients that the list of resources changed. Adding and removing them does so by itself. */
  resourcesChanged(): void {
    this[REGISTRY].publish({ kind: "resources" });
  }

  /** Notifies the subscribers of a resource that its contents have changed. */
  resourceUpdated(uri: string): void {
    this[REGISTRY].publish({ kind: "resource", uri });
  }

  /** Notifies the client that a URL elicitation is complete, so that it can repeat its request (2025-11-25). */
  elicitationComplete(elicitationId: string): void {
    this[REGISTRY].publish({ kind: "elicitation", id: elicitationId });
  }

  /**
   * Sends a log message to every legacy client that asked for this level or a less severe one. It is dropped if no
   * client listens. In a handler, use `ctx.log` instead.
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
