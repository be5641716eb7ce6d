/**
 * The server an author writes: its identity and what it offers. Runtime-neutral and free of state about clients.
 *
 * @module
 */

import { CACHE, checkOptions, type OptionTable, SIZE } from "../protocol/check-options.ts";
import { pick } from "../protocol/content.ts";
import { checkFunction, KitError, unfit } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { type LoggingLevel, logData } from "../protocol/logging.ts";
import { type ListKind, type Notice, NoticeBus } from "../protocol/notices.ts";
import { quote } from "../protocol/quote.ts";
import { type ServedVersions, serveVersions, type VersionRules } from "../protocol/versions.ts";
import type { Call, ErrorPlace, ErrorReporter, HandlerContext } from "../serve/context.ts";
import type { AroundHook, RequestEnd, SampleHook } from "../serve/hooks.ts";
import { Shelf } from "./catalog.ts";
import { type CustomHandler, type CustomNotificationHandler, checkCustom } from "./custom-methods.ts";
import {
  type CompiledPrompt,
  compilePrompt,
  type PromptArguments,
  type PromptHandler,
  type PromptOptions,
} from "./prompt.ts";
import {
  type CompiledResource,
  type CompiledTemplate,
  compileResource,
  compileTemplate,
  type ResourceOptions,
  type ResourceProvider,
  type ResourceReader,
  type TemplateOptions,
  type TemplateReader,
} from "./resource.ts";
import type {
  CacheableMethod,
  CacheHint,
  CallerFacts,
  ContextFunction,
  Definition,
  Keeps,
  ServerOptions,
} from "./server-options.ts";
import { type AnySchemaOrNone, type CompiledTool, compileTool, type ToolHandler, type ToolOptions } from "./tool.ts";

/** One place a server is mounted at. */
interface Mount<Env> {
  readonly server: McpServer<Env>;
  readonly prefix: string;
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
  readonly notifications: Map<string, CustomNotificationHandler<Env>> = new Map();
  /** Notices of changes, for the ways of serving that can deliver them. */
  readonly notices: NoticeBus = new NoticeBus((error) => {
    this.report(error, { correlationId: crypto.randomUUID(), method: "(notices)" }, () => undefined);
  });
  /** Whether a `visible` that returned no boolean was reported. Once is enough: it is asked for each definition. */
  #hasReportedVisible = false;
  /** What `definitions` returned before. */
  readonly #compiled = new WeakMap<Definition<Env>, Compiled<Env>>();
  #provider: ResourceProvider<Env> | undefined;
  /** Lists something was ever defined for. A client that was told of a list may ask for it when it is empty again. */
  #used = new Set<ListKind>();
  #rootsChanged: ((ctx: HandlerContext<Env>) => void | Promise<void>) | undefined;
  /** Where this server is mounted, and what is mounted here. */
  readonly #mounts: Mount<Env>[] = [];
  readonly #parts: McpServer<Env>[] = [];
  /** The versions this server answers. */
  readonly versions: ServedVersions;

  /**
   * @throws {KitError} `options-invalid` for an option that does not exist or a number out of its range; or when a
   *   definition of a list is refused: the text names its place in the list.
   * @throws {RangeError} when `protocolVersions` is empty or names an unknown version.
   */
  constructor(options: ServerOptions<Env>) {
    if (typeof options?.name !== "string" || typeof options.version !== "string") {
      throw new KitError("options-invalid", "new McpServer({ name, version }) needs both, as strings.");
    }
    this.#options = options;
    this.versions = serveVersions(options.protocolVersions);
    checkFunction("visible of new McpServer()", options.visible);
    checkOptions("new McpServer(): ", options, OPTIONS);
    const { cacheHints = {} } = options;
    checkOptions("new McpServer(): cacheHints: ", cacheHints, CACHEABLE);
    for (const [method, hint] of Object.entries(cacheHints)) {
      checkOptions(`new McpServer(): cacheHints["${method}"].`, hint, CACHE);
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
    for (const put of this.#planNamed("methods", name, handler)) put();
    return this;
  }

  /**
   * Hears of a notification of your own. Context, the limit `handlerTimeoutMs` and `around` hooks apply to it. Throws as
   * {@link McpServer.method} does.
   */
  notification(name: string, handler: CustomNotificationHandler<Env>): this {
    for (const put of this.#planNamed("notifications", name, handler)) put();
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
    // Handlers that need no bindings run with any.
    const other = part as McpServer<Env>;
    if (this.#isPartOf(other)) {
      throw new KitError("definition-invalid", `Server "${other.#options.name}" cannot be mounted in itself.`);
    }
    const mount = { server: this, prefix };
    const lists = Object.values(LISTS).filter(({ shelf }) => other[shelf].size > 0);
    const puts = [
      ...lists.flatMap(({ shelf }) =>
        [...other[shelf].values()].flatMap((item) => other.#planIn(mount, item.definition)),
      ),
      ...(["methods", "notifications"] as const).flatMap((map) => {
        return [...other[map]].flatMap(([name, handler]) => this.#planNamed(map, prefix + name, handler));
      }),
    ];
    for (const put of puts) put();
    other.#mounts.push(mount);
    this.#parts.push(other);
    for (const { notice } of lists) this.#publish({ kind: notice });
    return this;
  }

  #isPartOf(whole: McpServer<Env>): boolean {
    return this === whole || this.#mounts.some(({ server }) => server.#isPartOf(whole));
  }

  #add(definition: Definition<Env>, place: string, isReplacing = false): this {
    for (const put of this.#plan(definition, place, isReplacing)) put();
    this.#publish({ kind: LISTS[definition.kind].notice });
    return this;
  }

  /** What puts a definition here and wherever this server is mounted; throws before any of it is changed. */
  #plan(definition: Definition<Env>, place: string, isReplacing: boolean): (() => void)[] {
    // What is new here must not take the place of something else there.
    const wasHere = this[LISTS[definition.kind].shelf].find(keyOf(definition)) !== undefined;
    const here = this.#planHere(definition, place, isReplacing);
    return [here, ...this.#mounts.flatMap((mount) => this.#planIn(mount, definition, isReplacing && wasHere))];
  }

  #planIn({ server, prefix }: Mount<Env>, definition: Definition<Env>, isReplacing = false): (() => void)[] {
    const place = `"${keyOf(definition)}" of the mounted server "${this.#options.name}"`;
    return server.#plan(
      "name" in definition ? { ...definition, name: prefix + definition.name } : definition,
      place,
      isReplacing,
    );
  }

  #planHere(definition: Definition<Env>, place: string, isReplacing: boolean): () => void {
    return this.#planOn(definition.kind, compile(definition), place, isReplacing);
  }

  /** Each kind has its own shelf; what `compile` makes of a kind fits it. */
  #planOn(kind: Definition<Env>["kind"], item: Compiled<Env>, place: string, isReplacing = false): () => void {
    const { shelf, notice } = LISTS[kind];
    const put = (this[shelf] as Shelf<Compiled<Env>>).plan(item, place, isReplacing);
    return () => {
      put();
      this.#used.add(notice);
    };
  }

  /** The same for what has a name and no list. */
  #planNamed(map: "methods" | "notifications", name: string, handler: unknown): (() => void)[] {
    // Callers take the handler from the same map, or from the parameter of its type.
    const own = this[map] as Map<string, unknown>;
    checkCustom(name, handler, own);
    const above = this.#mounts.flatMap(({ server, prefix }) => server.#planNamed(map, prefix + name, handler));
    return [() => own.set(name, handler), ...above];
  }

  #publish(notice: Notice): void {
    this.notices.publish(notice);
    for (const { server } of this.#mounts) server.#publish(notice);
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
    if (!this[shelf].remove(key)) return false;
    this.#publish({ kind: notice });
    const isNamed = kind === "tool" || kind === "prompt";
    for (const { server, prefix } of this.#mounts) server.remove(kind, isNamed ? prefix + key : key);
    return true;
  }

  /** Puts a definition in the place of the one with its name or URI, or adds it. Throws as {@link McpServer.tool} does. */
  replace(definition: Definition<Env>): this {
    return this.#add(definition, "server.replace()", true);
  }

  /** Tells clients that the list of tools changed: for lists that differ by more than `add` and `remove`. */
  toolsChanged(): void {
    this.#publish({ kind: "tools" });
  }

  promptsChanged(): void {
    this.#publish({ kind: "prompts" });
  }

  resourcesChanged(): void {
    this.#publish({ kind: "resources" });
  }

  /** Tells the subscribers of a resource, and nobody else, that what it holds has changed. */
  resourceUpdated(uri: string): void {
    this.#publish({ kind: "resource", uri });
  }

  /** Tells the client that was asked to visit a URL that what it was to do there is done (2025-11-25). */
  elicitationComplete(elicitationId: string): void {
    this.#publish({ kind: "elicitation", id: elicitationId });
  }

  /**
   * Sends a log message to every legacy client that asked for this level or less grave ones. Outside any request: in a
   * handler use `ctx.log`. Without a listener it is dropped.
   *
   * @param data Any JSON value.
   */
  log(level: LoggingLevel, data: unknown, logger?: string): void {
    this.#publish({ kind: "log", level, data: logData(data), ...(logger === undefined ? {} : { logger }) });
  }

  /** Whether something of the author's is a function of the request. */
  get asksForRequest(): boolean {
    return typeof this.#options.context === "function";
  }

  /** The call with the value its handlers get as `ctx.context`. */
  withContext<Given extends Pick<Call<Env>, "request" | "env" | "principal">>(call: Given): Given | Promise<Given> {
    const { context } = this.#options;
    return context === undefined ? call : this.#withContext(call, context);
  }

  async #withContext<Given extends Pick<Call<Env>, "request" | "env" | "principal">>(call: Given, context: unknown) {
    const { request, env, principal } = call;
    const value =
      typeof context === "function" ? await (context as ContextFunction<Env>)(request, env, principal) : context;
    return { ...call, context: value };
  }

  /** Whether every caller sees the same of it. */
  get isForAll(): boolean {
    return !(this.#options.definitions || this.#options.visible);
  }

  /** This server as one caller sees it. @param runtime Hears of faults when the server has no `onError` of its own. */
  forCaller(caller: CallerFacts<Env>, runtime: ErrorReporter): McpServer<Env> | Promise<McpServer<Env>> {
    return this.isForAll ? this : this.#view(caller, runtime);
  }

  async #view(caller: CallerFacts<Env>, runtime: ErrorReporter): Promise<McpServer<Env>> {
    const { definitions, visible } = this.#options;
    // On top of them: a rest of the options would lack what an instance of a class inherits, such as its `around`.
    const options: ServerOptions<Env> = Object.create(this.#options, VIEWED);
    const view = new McpServer<Env>(options);
    Object.assign(view, { methods: this.methods, notifications: this.notifications, notices: this.notices });
    view.#provider = this.provider;
    view.#rootsChanged = this.#rootsChanged;
    view.#used = new Set(this.#used);
    const isSeen = ({ definition }: Compiled<Env>) => {
      return !visible || this.#isTrue(visible(definition, caller), definition, runtime);
    };
    for (const { shelf } of Object.values(LISTS)) {
      for (const item of this[shelf].values()) if (isSeen(item)) view.#planOn(item.definition.kind, item, "")();
    }
    for (const definition of (await definitions?.(caller)) ?? []) {
      const item = this.#compiled.get(definition) ?? compile(definition);
      this.#compiled.set(definition, item);
      const place = `definitions of new McpServer("${options.name}")`;
      if (isSeen(item)) view.#planOn(definition.kind, item, place)();
    }
    return view;
  }

  /** Only `true` shows a definition: a promise or a forgotten `return` must not. */
  #isTrue(answer: unknown, definition: Definition<Env>, runtime: ErrorReporter): boolean {
    if (typeof answer !== "boolean") {
      const what = unfit(answer);
      if (!this.#hasReportedVisible) {
        this.#hasReportedVisible = true;
        const text = `The option visible returned ${what} for "${keyOf(definition)}", which is hidden therefore. Return true or false, not a Promise.`;
        const where = { correlationId: crypto.randomUUID(), method: "(visible)" };
        this.report(new KitError("options-invalid", text), where, runtime);
      }
    }
    return answer === true;
  }

  get subscriptionHooks(): Pick<ServerOptions<Env>, "onSubscribe" | "onUnsubscribe"> {
    return this.#options;
  }

  get provider(): ResourceProvider<Env> | undefined {
    return this.#provider ?? this.#parts.find(({ provider }) => provider)?.provider;
  }

  /** Whether the server has a list and its methods: something was once defined for it, or the options declare it. */
  offers(list: ListKind): boolean {
    if (this.#used.has(list) || this.#options.capabilities?.[list] !== undefined) return true;
    return list === "resources" && this.provider !== undefined;
  }

  /** Whether any argument or variable can be completed. */
  get hasCompletions(): boolean {
    const completed = ({ complete = {} }: { complete?: object }) => Object.keys(complete).length > 0;
    return (
      [...this.prompts.values()].some(({ options }) => completed(options)) ||
      [...this.templates.values()].some(({ definition }) => completed(definition.options))
    );
  }

  get name(): string {
    return this.#options.name;
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

  get onSample(): SampleHook<Env> | undefined {
    return this.#options.onSample;
  }

  get around(): readonly AroundHook<Env>[] {
    return this.#options.around ?? [];
  }

  /** Whether anybody wants to know when requests end. */
  get hearsOfEnds(): boolean {
    return this.#options.onRequestEnd !== undefined;
  }

  /** Tells `onRequestEnd`. Never throws: its failure goes to `onError`. */
  reportEnd(end: RequestEnd<Env>, runtime: ErrorReporter): void {
    const { method, requestId } = end;
    const failed = (error: unknown) =>
      this.report(
        error,
        { correlationId: crypto.randomUUID(), method: `(onRequestEnd of ${quote(method)})`, requestId },
        runtime,
      );
    attempt(() => this.#options.onRequestEnd?.(end), failed, end.waitUntil);
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

/**
 * Runs a callback nobody waits for; `failed` hears of what it throws, now or later.
 *
 * @param waitUntil Keeps a promise that the callback returns alive. Else the platform would end it with the request.
 */
export function attempt(
  callback: () => void | Promise<void>,
  failed: (error: unknown) => void,
  waitUntil?: (work: Promise<unknown>) => void,
): void {
  try {
    const told = callback();
    if (!told) return;
    const heard = Promise.resolve(told).catch(failed);
    waitUntil?.(heard);
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

const OPTIONS: OptionTable<ServerOptions<unknown>> = {
  name: null,
  version: null,
  title: null,
  description: null,
  websiteUrl: null,
  icons: null,
  instructions: null,
  tools: null,
  prompts: null,
  resources: null,
  pageSize: SIZE,
  capabilities: null,
  protocolVersions: null,
  cacheHints: null,
  around: null,
  context: null,
  definitions: null,
  visible: null,
  onSubscribe: null,
  onUnsubscribe: null,
  onRequestEnd: null,
  onSample: null,
  onError: null,
};

const CACHEABLE: OptionTable<Record<CacheableMethod, CacheHint>> = {
  "server/discover": null,
  "tools/list": null,
  "prompts/list": null,
  "resources/list": null,
  "resources/templates/list": null,
  "resources/read": null,
};

/** What the view of a caller does not take over from the options of its server: it has been decided already. */
const VIEWED = Object.fromEntries(
  ["tools", "prompts", "resources", "definitions", "visible"].map((name) => [name, { value: undefined }]),
);

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
