/**
 * All definitions and options of one server, in the form that transports read: lists, capabilities, hooks, and the view
 * of one caller. Authors use it through `McpServer`. The type of `Env` is erased here.
 *
 * @module
 */
import type { QuestionReporter } from "../ask/asked-by.ts";
import { quote } from "../basics/quote.ts";
import { ChangeBus, type ChangeNotification, LIST_KINDS, type ListKind } from "../protocol/change-notifications.ts";
import type { Principal } from "../protocol/client-facts.ts";
import { pick } from "../protocol/content.ts";
import { type ErrorReporter, type ErrorSubject, runDetached } from "../protocol/error-reports.ts";
import { describeType, KitError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { ServerIdentity, TransportFeatures } from "../protocol/lifecycle.ts";
import { uriKey } from "../protocol/uri.ts";
import { type ServedVersions, serveVersions, type VersionRules } from "../protocol/versions.ts";
import type { CacheableMethod, CacheHint } from "./cache-hint.ts";
import { Catalog } from "./catalog.ts";
import { type CustomHandler, type CustomNotificationHandler, checkCustom } from "./custom-methods.ts";
import { type Compiled, compile, LISTS, toKey } from "./definitions.ts";
import type { HandlerContext } from "./handler-context.ts";
import type { AroundHook, RequestEnd, RequestEndHook } from "./hook-types.ts";
import type { CompiledPrompt } from "./prompt.ts";
import type { CompiledResource, CompiledResourceTemplate, ResourceProvider } from "./resource.ts";
import {
  type CallerFacts,
  type ContextFunction,
  checkServerOptions,
  type Definition,
  type RequestFacts,
  type ServerOptions,
} from "./server-options.ts";
import type { CompiledTool } from "./tool.ts";

/** A server in which this server is mounted, and the prefix of the names there. */
interface Mount {
  readonly registry: Registry;
  readonly prefix: string;
}

/** Handles `notifications/roots/list_changed`. */
type RootsHandler = (ctx: HandlerContext) => void | Promise<void>;

/** The arguments of a `context` function. */
interface ContextFacts {
  readonly http?: RequestFacts | undefined;
  readonly env: unknown;
  readonly principal: Principal | undefined;
}

export class Registry implements ServerIdentity, QuestionReporter {
  /** The options as the author gave them. */
  readonly options: ServerOptions<unknown>;
  #extensions: JsonObject | undefined;
  readonly tools: Catalog<CompiledTool> = new Catalog("Tool");
  readonly prompts: Catalog<CompiledPrompt> = new Catalog("Prompt");
  readonly resources: Catalog<CompiledResource> = new Catalog("Resource", uriKey);
  readonly resourceTemplates: Catalog<CompiledResourceTemplate> = new Catalog("Resource template", uriKey);
  /** Custom methods and notifications, by name. */
  readonly methods: Map<string, CustomHandler<unknown>> = new Map();
  readonly notifications: Map<string, CustomNotificationHandler<unknown>> = new Map();
  /** Notifications of changes, for transports that can deliver them. */
  readonly changes: ChangeBus = new ChangeBus((error) => {
    this.report(error, { method: "(notifications)" }, () => undefined);
  });
  /** The protocol versions that this server serves. */
  readonly versions: ServedVersions;
  /**
   * Whether a `visible` that did not return a boolean was reported. It is reported once, because it is called for each
   * definition.
   */
  #hasReportedVisible = false;
  /** The compiled definitions that the option `definitions` has returned. */
  readonly #compiled = new WeakMap<Definition<unknown>, Compiled>();
  #provider: ResourceProvider<unknown> | undefined;
  /** The resources and templates that `visible` hides from the caller of this view. */
  readonly #hidden: Compiled[] = [];
  /**
   * The lists that have ever had a definition. A client that has seen a list may request it after it has become empty.
   */
  #used = new Set<ListKind>();
  /** The handler of `onRootsChanged`. */
  rootsChanged: RootsHandler | undefined;
  /** The servers in which this server is mounted. */
  readonly #mounts: Mount[] = [];
  /** The servers that are mounted in this server. */
  readonly #parts: Registry[] = [];

  /** Throws like the constructor of `McpServer`. */
  constructor(options: ServerOptions<unknown>) {
    if (typeof options?.name !== "string" || typeof options.version !== "string") {
      throw new KitError("options-invalid", "new McpServer({ name, version }) needs both, as strings.");
    }
    this.options = options;
    this.versions = serveVersions(options.protocolVersions);
    checkServerOptions(options);
    for (const list of LIST_KINDS) {
      options[list]?.forEach((definition, at) => {
        const where = `${list}[${at}] of new McpServer("${options.name}")`;
        try {
          this.add(definition, where);
        } catch (error) {
          if (!KitError.is(error) || error.message.includes(where)) throw error;
          throw new KitError(error.code, `${where}: ${error.message}`, { cause: error });
        }
      });
    }
  }

  // Definitions

  /**
   * Adds a definition, or replaces the one with the same key.
   *
   * @param where Where the definition is made, for error messages.
   */
  add<Env>(definition: Definition<Env>, where: string, isReplacing = false): void {
    for (const put of this.#plan(definition, where, isReplacing)) put();
    this.publish({ kind: LISTS[definition.kind].list });
  }

  /** Adds a custom method or notification. */
  addNamed(map: "methods" | "notifications", name: string, handler: unknown): void {
    for (const put of this.#planNamed(map, name, handler)) put();
  }

  /** Declares an extension in the capabilities, with its settings. */
  addExtension(name: string, settings: JsonObject): void {
    this.#extensions = { ...this.#extensions, [name]: settings };
  }

  /**
   * @throws {KitError} `definition-duplicate` if there is a provider already; `definition-invalid` if it has no read
   * function.
   */
  setProvider(provider: ResourceProvider<unknown>): void {
    if (this.#provider) throw new KitError("definition-duplicate", "This server already has a resource provider.");
    if (typeof provider.read !== "function")
      throw new KitError("definition-invalid", "A resource provider has no read function.");
    this.#provider = provider;
    this.#used.add("resources");
  }

  /** Adds all present and future definitions of a part to this server; see `McpServer.mount`. */
  mount(part: Registry, prefix: string): void {
    if (this.#isPartOf(part)) {
      throw new KitError("definition-invalid", `Server "${part.options.name}" cannot be mounted in itself.`);
    }
    const mount = { registry: this, prefix };
    const lists = Object.values(LISTS).filter(({ catalog }) => part[catalog].size > 0);
    const puts = [
      ...lists.flatMap(({ catalog }) =>
        [...part[catalog].values()].flatMap((item) => part.#planIn(mount, item.definition)),
      ),
      ...(["methods", "notifications"] as const).flatMap((map) => {
        return [...part[map]].flatMap(([name, handler]) => this.#planNamed(map, prefix + name, handler));
      }),
    ];
    for (const put of puts) put();
    part.#mounts.push(mount);
    this.#parts.push(part);
    for (const { list } of lists) this.publish({ kind: list });
  }

  #isPartOf(whole: Registry): boolean {
    return this === whole || this.#mounts.some(({ registry }) => registry.#isPartOf(whole));
  }

  /**
   * Returns the changes that add a definition here and wherever this server is mounted. Throws before any of them is
   * made.
   */
  #plan<Env>(definition: Definition<Env>, where: string, isReplacing: boolean): (() => void)[] {
    // A definition that is new here must not replace a definition of the other server.
    const wasHere = this[LISTS[definition.kind].catalog].find(toKey(definition)) !== undefined;
    const here = this.#planItem(compile(definition), where, isReplacing);
    return [here, ...this.#mounts.flatMap((mount) => this.#planIn(mount, definition, isReplacing && wasHere))];
  }

  #planIn<Env>({ registry, prefix }: Mount, definition: Definition<Env>, isReplacing = false): (() => void)[] {
    const where = `"${toKey(definition)}" of the mounted server "${this.options.name}"`;
    return registry.#plan(
      "name" in definition ? { ...definition, name: prefix + definition.name } : definition,
      where,
      isReplacing,
    );
  }

  /** Each kind has its own catalog, so the cast is safe. */
  #planItem(item: Compiled, where: string, isReplacing = false): () => void {
    const { catalog, list } = LISTS[item.definition.kind];
    const put = (this[catalog] as Catalog<Compiled>).plan(item, where, isReplacing);
    return () => {
      put();
      this.#used.add(list);
    };
  }

  #planNamed(map: "methods" | "notifications", name: string, handler: unknown): (() => void)[] {
    // The cast is safe because every caller passes a handler of this map's type.
    const own = this[map] as Map<string, unknown>;
    checkCustom(name, handler, own);
    const above = this.#mounts.flatMap(({ registry, prefix }) => registry.#planNamed(map, prefix + name, handler));
    return [() => own.set(name, handler), ...above];
  }

  /** Publishes a notification to the clients of this server and of the servers in which it is mounted. */
  publish(notification: ChangeNotification): void {
    this.changes.publish(notification);
    for (const { registry } of this.#mounts) registry.publish(notification);
  }

  /** Removes a definition here and wherever this server is mounted. Returns false if there was none. */
  remove(kind: Definition<unknown>["kind"], key: string): boolean {
    const { catalog, list } = LISTS[kind];
    if (!this[catalog].remove(key)) return false;
    this.publish({ kind: list });
    const isNamed = kind === "tool" || kind === "prompt";
    for (const { registry, prefix } of this.#mounts) registry.remove(kind, isNamed ? prefix + key : key);
    return true;
  }

  get provider(): ResourceProvider<unknown> | undefined {
    return this.#provider ?? this.#parts.find(({ provider }) => provider)?.provider;
  }

  // Callers

  /** Whether the option `context` is a function, which receives the HTTP request. */
  get asksForRequest(): boolean {
    return typeof this.options.context === "function";
  }

  /** Returns the request with the value of `ctx.context` added. */
  withContext<Given extends ContextFacts>(request: Given): Given | Promise<Given> {
    const { context } = this.options;
    return context === undefined ? request : this.#withContext(request, context);
  }

  async #withContext<Given extends ContextFacts>(request: Given, option: unknown): Promise<Given> {
    const { http, env, principal } = request;
    const context =
      typeof option === "function" ? await (option as ContextFunction<unknown>)(http, env, principal) : option;
    return { ...request, context };
  }

  /** Whether every caller sees the same definitions. */
  get isForAll(): boolean {
    return !(this.options.definitions || this.options.visible);
  }

  /** Returns this server as one caller sees it. @param runtime Receives exceptions if the server has no `onError`. */
  forCaller(caller: CallerFacts<unknown>, runtime: ErrorReporter): Registry | Promise<Registry> {
    return this.isForAll ? this : this.#view(caller, runtime);
  }

  async #view(caller: CallerFacts<unknown>, runtime: ErrorReporter): Promise<Registry> {
    const { definitions, visible } = this.options;
    // The options are the prototype, because a copy would lack members that an instance of a class inherits.
    const options: ServerOptions<unknown> = Object.create(this.options, VIEWED);
    const view = new Registry(options);
    const { methods, notifications, changes } = this;
    Object.assign(view, { methods, notifications, changes });
    view.#extensions = this.#extensions;
    view.#provider = this.provider;
    view.rootsChanged = this.rootsChanged;
    view.#used = new Set(this.#used);
    const isSeen = (item: Compiled) => {
      const isShown = !visible || this.#isTrue(visible(item.definition, caller), item.definition, runtime);
      if (!isShown) view.#hidden.push(item);
      return isShown;
    };
    for (const { catalog } of Object.values(LISTS)) {
      for (const item of this[catalog].values()) if (isSeen(item)) view.#planItem(item, "")();
    }
    for (const definition of (await definitions?.(caller)) ?? []) {
      const item = this.#compiled.get(definition) ?? compile(definition);
      this.#compiled.set(definition, item);
      const where = `definitions of new McpServer("${options.name}")`;
      if (isSeen(item)) view.#planItem(item, where)();
    }
    return view;
  }

  /** Whether a URI belongs to a hidden resource, or matches a hidden template. */
  hides(kind: "resource" | "resourceTemplate", uri: string): boolean {
    return this.#hidden.some((item) => {
      if (item.definition.kind !== kind) return false;
      return "template" in item ? item.template.match(uri) : uriKey(item.key) === uriKey(uri);
    });
  }

  /** Only `true` shows a definition, so that a promise or a missing `return` hides it. */
  #isTrue(answer: unknown, definition: Definition<unknown>, runtime: ErrorReporter): boolean {
    if (typeof answer !== "boolean") {
      const what = describeType(answer);
      if (!this.#hasReportedVisible) {
        this.#hasReportedVisible = true;
        const text = `The option visible returned ${what} for "${toKey(definition)}", so it is hidden; return true or false.`;
        const context = { method: "(visible)" };
        this.report(new KitError("options-invalid", text), context, runtime);
      }
    }
    return answer === true;
  }

  /** Whether the server has a list and its methods: a definition was once added to it, or the options declare it. */
  offers(list: string): boolean {
    if (this.#used.has(list as ListKind) || this.options.capabilities?.[list] !== undefined) return true;
    return list === "resources" && this.provider !== undefined;
  }

  /** Whether any argument or variable can be completed. */
  get hasCompletions(): boolean {
    return [...this.prompts.values(), ...this.resourceTemplates.values()].some(({ definition }) => {
      return Object.keys(definition.options.complete ?? {}).length > 0;
    });
  }

  // Identity and options

  /** Returns the server's `Implementation`, with the members that the version defines. */
  info(rules: VersionRules): JsonObject {
    return pick(this.options, rules.implementationFields);
  }

  /** Returns the capabilities that the version defines and whose state the transport keeps. */
  capabilities(rules: VersionRules, features: TransportFeatures): JsonObject {
    const derived: JsonObject = {};
    for (const list of LIST_KINDS) {
      if (this.offers(list)) derived[list] = features.notifications ? { listChanged: true } : {};
    }
    if (features.notifications && derived.resources) derived.resources = { listChanged: true, subscribe: true };
    if (this.hasCompletions && rules.completionsCapability) derived.completions = {};
    if (features.logLevel) derived.logging = {};
    const all: JsonObject = { ...derived, ...this.options.capabilities };
    if (this.#extensions) all.extensions = { ...(all.extensions as JsonObject | undefined), ...this.#extensions };
    return features.declare?.(all) ?? all;
  }

  cacheHint(method: CacheableMethod): Required<CacheHint> {
    const hint = this.options.cacheHints?.[method];
    return { ttlMs: hint?.ttlMs ?? 0, cacheScope: hint?.cacheScope ?? "private" };
  }

  get around(): readonly AroundHook[] {
    return this.options.around ?? [];
  }

  /**
   * Calls `onRequestEnd`, and the hooks of the endpoint. Never throws: an exception of a hook goes to `onError`.
   *
   * @param others The hooks of the endpoint.
   */
  reportEnd(end: RequestEnd, runtime: ErrorReporter, others: readonly RequestEndHook[] = []): void {
    const { method, requestId } = end;
    const failed = (error: unknown) =>
      this.report(error, { method: `(onRequestEnd of ${quote(method)})`, requestId }, runtime);
    runDetached(() => this.options.onRequestEnd?.(end), failed, end.waitUntil);
    for (const hook of others) runDetached(() => hook(end), failed, end.waitUntil);
  }

  /**
   * Reports to `onError`, or to `runtime` if there is no `onError`. Never throws, because a failing reporter must not
   * prevent the response.
   *
   * @returns The correlation id of the report.
   */
  report(error: unknown, subject: ErrorSubject, runtime: ErrorReporter): string {
    const { onError } = this.options;
    const context = { correlationId: crypto.randomUUID(), ...subject };
    // An exception of `onError` goes to the runtime. If the runtime fails too, it is dropped.
    const reportToRuntime = (failure: unknown) =>
      runDetached(
        () => runtime(failure, context),
        () => undefined,
      );
    if (onError) runDetached(() => onError(error, context), reportToRuntime);
    else reportToRuntime(error);
    return context.correlationId;
  }
}

/** The options that the view of a caller does not inherit, because they have already been applied. */
const VIEWED = Object.fromEntries(
  [...LIST_KINDS, "definitions", "visible"].map((name) => [name, { value: undefined }]),
);
