/**
 * The server an author writes: its identity and what it offers. Runtime-neutral and free of state about clients.
 *
 * @module
 */
import type { ClientFacts, Implementation, Principal } from "./client-facts.ts";
import { pick } from "./content.ts";
import type { ErrorPlace, ErrorReporter, HandlerContext } from "./context.ts";
import { type CustomHandler, type CustomNotificationHandler, checkCustom } from "./custom.ts";
import { KitError } from "./errors.ts";
import type { AroundHook, RequestEnd, RequestEndHook } from "./hooks.ts";
import type { JsonObject } from "./jsonrpc.ts";
import type { LoggingLevel } from "./logging.ts";
import { type ListKind, NoticeBus } from "./notices.ts";
import {
  type CompiledPrompt,
  compilePrompt,
  type PromptArguments,
  type PromptDefinition,
  type PromptHandler,
  type PromptOptions,
} from "./prompt.ts";
import {
  type CompiledResource,
  type CompiledTemplate,
  compileResource,
  compileTemplate,
  type ResourceDefinition,
  type ResourceOptions,
  type ResourceProvider,
  type ResourceReader,
  type TemplateDefinition,
  type TemplateOptions,
  type TemplateReader,
} from "./resource.ts";
import { Shelf } from "./shelf.ts";
import {
  type AnySchemaOrNone,
  type CompiledTool,
  compileTool,
  type ToolDefinition,
  type ToolHandler,
  type ToolOptions,
} from "./tool.ts";
import { type ServedVersions, serveVersions, type VersionRules } from "./versions.ts";

/** How long a client may keep a result, and who may share it. @see MCP 2026-07-28, server/utilities/caching */
export interface CacheHint {
  /** Milliseconds, an integer; 0 means "ask again each time". @default 0 */
  readonly ttlMs?: number;
  /** `public`: the same for every caller. @default "private" */
  readonly cacheScope?: "public" | "private";
}

/** The methods whose results carry a {@link CacheHint}. */
export type CacheableMethod =
  | "server/discover"
  | "tools/list"
  | "prompts/list"
  | "resources/list"
  | "resources/templates/list"
  | "resources/read";

/** Anything `add` takes. */
export type Definition<Env> =
  | ToolDefinition<Env>
  | PromptDefinition<Env>
  | ResourceDefinition<Env>
  | TemplateDefinition<Env>;

/** What the way a client is served can keep between its requests. Nothing is declared that it cannot. */
export interface Keeps {
  readonly logLevel: boolean;
  /** Whether notices of changes reach the client. */
  readonly notices: boolean;
}

/** What is known of an HTTP request beside its body; a web `Request` is one. */
export interface RequestFacts {
  readonly url: string;
  readonly headers: { get(name: string): string | null };
}

/** For whom a server is asked what it offers. */
export interface CallerFacts<Env> {
  readonly env: Env;
  readonly principal: Principal | undefined;
}

/** Whose subscription it is. */
export interface SubscriptionPlace<Env> {
  readonly env: Env;
  /** Undefined when anonymous, and when a session that nobody uses any more ends. */
  readonly principal: Principal | undefined;
  readonly client: ClientFacts;
  /** Aborts when the request that subscribes is cancelled. */
  readonly signal: AbortSignal;
}

/** Starts or stops watching a resource for one subscriber. */
export type SubscriptionHook<Env> = (uri: string, place: SubscriptionPlace<Env>) => void | Promise<void>;

export interface ServerOptions<Env> extends Implementation {
  /** How to use the server, for the model; sent with `initialize` and `server/discover`. */
  readonly instructions?: string;
  readonly tools?: readonly ToolDefinition<Env>[];
  readonly prompts?: readonly PromptDefinition<Env>[];
  readonly resources?: readonly (ResourceDefinition<Env> | TemplateDefinition<Env>)[];
  /** Entries on a page of each list. @default all at once */
  readonly pageSize?: number;
  /** Members put over the capabilities that follow from what is defined; `undefined` removes one. */
  readonly capabilities?: JsonObject;
  /** Protocol versions to serve. @default all the kit knows */
  readonly protocolVersions?: readonly string[];
  readonly cacheHints?: Partial<Record<CacheableMethod, CacheHint>>;
  /** Around every request, the first one outermost. */
  readonly around?: readonly AroundHook[];
  /**
   * Definitions that depend on stored state or on the caller, beside the fixed ones. Asked before each request, in
   * whichever isolate serves it, so that none lists what another refuses. Return the same objects where you can: they
   * are compiled once each.
   */
  readonly definitions?: (caller: CallerFacts<Env>) => readonly Definition<Env>[] | Promise<readonly Definition<Env>[]>;
  /** Whether a caller sees a definition. What it does not see it cannot call either. @default everything */
  readonly visible?: (definition: Definition<Env>, caller: CallerFacts<Env>) => boolean;
  /** Before a client is subscribed to a resource. Throw McpError to refuse. */
  readonly onSubscribe?: SubscriptionHook<Env>;
  /** After a client is no longer subscribed: it said so, its listen stream closed, or its session ended. */
  readonly onUnsubscribe?: SubscriptionHook<Env>;
  /** Called once for each request, however it ends. Its own failure changes nothing. */
  readonly onRequestEnd?: RequestEndHook;
  /** Hears of every exception a client was only given a correlation id for. @default the runtime's log */
  readonly onError?: ErrorReporter;
}

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
  readonly #options: ServerOptions<Env>;
  readonly tools: Shelf<CompiledTool<Env>> = new Shelf("Tool");
  readonly prompts: Shelf<CompiledPrompt<Env>> = new Shelf("Prompt");
  readonly resources: Shelf<CompiledResource<Env>> = new Shelf("Resource");
  readonly templates: Shelf<CompiledTemplate<Env>> = new Shelf("Resource template");
  /** Methods and notifications of the author's own, by name. */
  readonly methods: Map<string, CustomHandler<Env>> = new Map();
  readonly notifications: Map<string, CustomNotificationHandler> = new Map();
  /** Notices of changes, for the ways of serving that can deliver them. */
  readonly notices: NoticeBus = new NoticeBus((error) => {
    this.report(error, { correlationId: crypto.randomUUID(), method: "(notices)" }, () => undefined);
  });
  /** What `definitions` returned before. */
  readonly #compiled = new WeakMap<Definition<Env>, Compiled<Env>>();
  #provider: ResourceProvider<Env> | undefined;
  /** Lists something was ever defined for. A client that was told of a list may ask for it when it is empty again. */
  #used = new Set<ListKind>();
  #rootsChanged: ((ctx: HandlerContext<Env>) => void | Promise<void>) | undefined;
  /** The versions this server answers. */
  readonly versions: ServedVersions;

  /**
   * @throws {KitError} when a tool of the list is refused; the text names its place in the list.
   * @throws {RangeError} when `protocolVersions` is empty or names an unknown version.
   */
  constructor(options: ServerOptions<Env>) {
    if (typeof options?.name !== "string" || typeof options.version !== "string") {
      throw new KitError("options-invalid", "new McpServer({ name, version }) needs both, as strings.");
    }
    this.#options = options;
    this.versions = serveVersions(options.protocolVersions);
    const { pageSize } = options;
    if (pageSize !== undefined && !(Number.isSafeInteger(pageSize) && pageSize > 0)) {
      throw new KitError("options-invalid", `pageSize is ${pageSize}; it is a whole number of at least 1.`);
    }
    for (const list of ["tools", "prompts", "resources"] as const) {
      options[list]?.forEach((definition, at) => {
        const place = `${list}[${at}] of new McpServer("${options.name}")`;
        try {
          this.#add(definition, place);
        } catch (error) {
          if (!KitError.is(error) || error.message.includes(place)) throw error;
          throw new KitError(error.code, `${place}: ${error.message}`, { cause: error });
        }
      });
    }
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
    options: PromptOptions<Args>,
    handler: PromptHandler<Args, Env>,
  ): this {
    return this.#add({ kind: "prompt", name, options, handler }, `server.prompt("${name}")`);
  }

  /** Defines a resource by its URI, of any scheme. Throws as {@link McpServer.tool} does. */
  resource(uri: string, options: ResourceOptions, read: ResourceReader<Env>): this {
    return this.#add({ kind: "resource", uri, options, read }, `server.resource("${uri}")`);
  }

  /** Defines a family of resources by a URI template (RFC 6570). Throws as {@link McpServer.tool} does. */
  resourceTemplate(uriTemplate: string, options: TemplateOptions, read: TemplateReader<Env>): this {
    return this.#add({ kind: "template", uriTemplate, options, read }, `server.resourceTemplate("${uriTemplate}")`);
  }

  /**
   * Lists and reads resources whose names live elsewhere. Asked after everything defined.
   *
   * @throws {KitError} `definition-duplicate` when there is one already.
   */
  resourceProvider(provider: ResourceProvider<Env>): this {
    if (this.#provider) throw new KitError("definition-duplicate", "This server has a resource provider already.");
    if (typeof provider.read !== "function")
      throw new KitError("definition-invalid", "A resource provider has no read function.");
    this.#provider = provider;
    this.#used.add("resources");
    return this;
  }

  /**
   * Defines a method of your own. Context, limits and hooks apply to it as to the protocol's.
   *
   * @throws {KitError} `method-defined` when the name is the protocol's, of any version, or taken.
   */
  method(name: string, handler: CustomHandler<Env>): this {
    checkCustom(name, handler, this.methods);
    this.methods.set(name, handler);
    return this;
  }

  /** Hears of a notification of your own. Throws as {@link McpServer.method} does. */
  notification(name: string, handler: CustomNotificationHandler): this {
    checkCustom(name, handler, this.notifications);
    this.notifications.set(name, handler);
    return this;
  }

  /**
   * Hears that the roots of a client are others now; ask for them with `ctx.listRoots()` (2024-11-05 to 2025-11-25).
   *
   * @throws {KitError} `definition-duplicate` when there is a handler already.
   */
  onRootsChanged(handler: (ctx: HandlerContext<Env>) => void | Promise<void>): this {
    if (this.#rootsChanged)
      throw new KitError("definition-duplicate", "This server has an onRootsChanged handler already.");
    this.#rootsChanged = handler;
    return this;
  }

  get rootsChanged(): ((ctx: HandlerContext<Env>) => void | Promise<void>) | undefined {
    return this.#rootsChanged;
  }

  /** Adds a definition made by `defineTool` and its like. Throws as {@link McpServer.tool} does. */
  add(definition: Definition<Env>): this {
    return this.#add(definition, `server.add() of "${keyOf(definition)}"`);
  }

  #add(definition: Definition<Env>, place: string, isReplacing = false): this {
    this.#put(definition.kind, compile(definition), place, isReplacing);
    this.notices.publish({ kind: LISTS[definition.kind].notice });
    return this;
  }

  #put(kind: Definition<Env>["kind"], compiled: Compiled<Env>, place: string, isReplacing = false): void {
    // Each kind has its own shelf; what `compile` made of a kind fits it.
    const shelf = this[LISTS[kind].shelf] as Shelf<Compiled<Env>>;
    shelf.add(compiled, place, isReplacing);
    this.#used.add(LISTS[kind].notice);
  }

  /**
   * Takes a definition away, also while clients are connected: later lists and calls do not have it, calls in flight
   * end as they began.
   *
   * @param key Name of a tool or prompt, URI of a resource, or URI template.
   * @returns Whether there was one.
   */
  remove(kind: Definition<Env>["kind"], key: string): boolean {
    const { shelf, notice } = LISTS[kind];
    const wasThere = this[shelf].remove(key);
    if (wasThere) this.notices.publish({ kind: notice });
    return wasThere;
  }

  /** Puts a definition in the place of the one with its name or URI, or adds it. Throws as {@link McpServer.tool} does. */
  replace(definition: Definition<Env>): this {
    return this.#add(definition, "server.replace()", true);
  }

  /** Tells clients that the list of tools changed: for lists that differ by more than `add` and `remove`. */
  toolsChanged(): void {
    this.notices.publish({ kind: "tools" });
  }

  promptsChanged(): void {
    this.notices.publish({ kind: "prompts" });
  }

  resourcesChanged(): void {
    this.notices.publish({ kind: "resources" });
  }

  /** Tells the subscribers of a resource, and nobody else, that what it holds has changed. */
  resourceUpdated(uri: string): void {
    this.notices.publish({ kind: "resource", uri });
  }

  /** Tells the client that was asked to visit a URL that what it was to do there is done (2025-11-25). */
  elicitationComplete(elicitationId: string): void {
    this.notices.publish({ kind: "elicitation", id: elicitationId });
  }

  /**
   * Sends a log message to every legacy client that asked for this level or less grave ones. Outside any request: in a
   * handler use `ctx.log`. Without a listener it is dropped.
   *
   * @param data Any JSON value.
   */
  log(level: LoggingLevel, data: unknown, logger?: string): void {
    this.notices.publish({ kind: "log", level, data, ...(logger === undefined ? {} : { logger }) });
  }

  /** Whether something of the author's is a function of the request. */
  get asksForRequest(): boolean {
    return false;
  }

  /** This server as one caller sees it. */
  forCaller(caller: CallerFacts<Env>): McpServer<Env> | Promise<McpServer<Env>> {
    return this.#options.definitions || this.#options.visible ? this.#view(caller) : this;
  }

  async #view(caller: CallerFacts<Env>): Promise<McpServer<Env>> {
    const { tools, prompts, resources, definitions, visible, ...options } = this.#options;
    const view = new McpServer<Env>(options);
    Object.assign(view, { methods: this.methods, notifications: this.notifications, notices: this.notices });
    view.#provider = this.#provider;
    view.#rootsChanged = this.#rootsChanged;
    view.#used = new Set(this.#used);
    const isSeen = ({ definition }: Compiled<Env>) => visible?.(definition, caller) ?? true;
    for (const { shelf } of Object.values(LISTS)) {
      for (const item of this[shelf].values()) if (isSeen(item)) view.#put(item.definition.kind, item, "");
    }
    for (const definition of (await definitions?.(caller)) ?? []) {
      const item = this.#compiled.get(definition) ?? compile(definition);
      this.#compiled.set(definition, item);
      if (isSeen(item)) view.#put(definition.kind, item, `definitions of new McpServer("${options.name}")`);
    }
    return view;
  }

  get subscriptionHooks(): Pick<ServerOptions<Env>, "onSubscribe" | "onUnsubscribe"> {
    return this.#options;
  }

  get provider(): ResourceProvider<Env> | undefined {
    return this.#provider;
  }

  /** Whether the server has a list and its methods: something was once defined for it, or the options declare it. */
  offers(list: ListKind): boolean {
    return this.#used.has(list) || this.#options.capabilities?.[list] !== undefined;
  }

  /** Whether any argument or variable can be completed. */
  get hasCompletions(): boolean {
    const completed = ({ complete = {} }: { complete?: object }) => Object.keys(complete).length > 0;
    return (
      [...this.prompts.values()].some(({ options }) => completed(options)) ||
      [...this.templates.values()].some(({ definition }) => completed(definition.options))
    );
  }

  get pageSize(): number | undefined {
    return this.#options.pageSize;
  }

  get instructions(): string | undefined {
    return this.#options.instructions;
  }

  /** Name, version and the rest of the identity, as far as the version has them. */
  info(rules: VersionRules): JsonObject {
    return pick(this.#options, rules.implementationFields);
  }

  /** What this server can do, as far as the version has words for it and the mode can keep it. */
  capabilities(rules: VersionRules, keeps: Keeps): JsonObject {
    const derived: JsonObject = {};
    const changing = keeps.notices ? { listChanged: true } : {};
    if (this.offers("tools")) derived.tools = changing;
    if (this.offers("prompts")) derived.prompts = changing;
    if (this.offers("resources")) derived.resources = keeps.notices ? { ...changing, subscribe: true } : {};
    if (this.hasCompletions && rules.completionsCapability) derived.completions = {};
    if (keeps.logLevel) derived.logging = {};
    return { ...derived, ...this.#options.capabilities };
  }

  cacheHint(method: CacheableMethod): Required<CacheHint> {
    const hint = this.#options.cacheHints?.[method];
    return { ttlMs: hint?.ttlMs ?? 0, cacheScope: hint?.cacheScope ?? "private" };
  }

  get around(): readonly AroundHook[] {
    return this.#options.around ?? [];
  }

  /** Tells `onRequestEnd`. Never throws: its failure goes to `onError`. */
  reportEnd(end: () => RequestEnd, runtime: ErrorReporter): void {
    const { onRequestEnd } = this.#options;
    if (!onRequestEnd) return;
    const { method, requestId, ...rest } = end();
    const failed = (error: unknown) =>
      this.report(
        error,
        { correlationId: crypto.randomUUID(), method: `(onRequestEnd of ${method})`, requestId },
        runtime,
      );
    attempt(() => onRequestEnd({ method, requestId, ...rest }), failed);
  }

  /** Tells `onError`, or else the runtime. Never throws: a failing reporter must not hide the answer. */
  report(error: unknown, where: ErrorPlace, runtime: ErrorReporter): void {
    const { onError } = this.#options;
    // A failing reporter is itself reported, to the runtime; when that fails too there is nobody left to tell.
    const tellRuntime = (failure: unknown) =>
      attempt(
        () => runtime(failure, where),
        () => undefined,
      );
    if (onError) attempt(() => onError(error, where), tellRuntime);
    else tellRuntime(error);
  }
}

/** Runs a callback nobody waits for; `failed` hears of what it throws, now or later. */
function attempt(callback: () => void | Promise<void>, failed: (error: unknown) => void): void {
  try {
    Promise.resolve(callback()).catch(failed);
  } catch (error) {
    failed(error);
  }
}

type Compiled<Env> = CompiledTool<Env> | CompiledPrompt<Env> | CompiledResource<Env> | CompiledTemplate<Env>;

function compile<Env>(definition: Definition<Env>): Compiled<Env> {
  switch (definition.kind) {
    case "tool":
      return compileTool(definition);
    case "prompt":
      return compilePrompt(definition);
    case "resource":
      return compileResource(definition);
    case "template":
      return compileTemplate(definition);
  }
}

/** Where each kind is kept, and which list it is in. */
const LISTS = {
  tool: { shelf: "tools", notice: "tools" },
  prompt: { shelf: "prompts", notice: "prompts" },
  resource: { shelf: "resources", notice: "resources" },
  template: { shelf: "templates", notice: "resources" },
} as const;

function keyOf(definition: Definition<never>): string {
  switch (definition.kind) {
    case "resource":
      return definition.uri;
    case "template":
      return definition.uriTemplate;
    default:
      return definition.name;
  }
}
