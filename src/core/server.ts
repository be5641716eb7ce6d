/**
 * The server an author writes: its identity and what it offers. Runtime-neutral and free of state about clients.
 *
 * @module
 */
import type { Implementation } from "./client-facts.ts";
import { pick } from "./content.ts";
import type { ErrorPlace, ErrorReporter } from "./context.ts";
import { KitError } from "./errors.ts";
import type { JsonObject } from "./jsonrpc.ts";
import { ToolRegistry } from "./registry.ts";
import type { AnySchemaOrNone, ToolDefinition, ToolHandler, ToolOptions } from "./tool.ts";
import { type ServedVersions, serveVersions, type VersionRules } from "./versions.ts";

/** How long a client may keep a result, and who may share it. @see MCP 2026-07-28, server/utilities/caching */
export interface CacheHint {
  /** Milliseconds, an integer; 0 means "ask again each time". @default 0 */
  readonly ttlMs?: number;
  /** `public`: the same for every caller. @default "private" */
  readonly cacheScope?: "public" | "private";
}

/** The methods whose results carry a {@link CacheHint}. */
export type CacheableMethod = "server/discover" | "tools/list";

export interface ServerOptions<Env> extends Implementation {
  /** How to use the server, for the model; sent with `initialize` and `server/discover`. */
  readonly instructions?: string;
  readonly tools?: readonly ToolDefinition<Env>[];
  /** Members put over the capabilities that follow from what is defined; `undefined` removes one. */
  readonly capabilities?: JsonObject;
  /** Protocol versions to serve. @default all the kit knows */
  readonly protocolVersions?: readonly string[];
  readonly cacheHints?: Partial<Record<CacheableMethod, CacheHint>>;
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
  readonly #tools = new ToolRegistry<Env>();
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
    options.tools?.forEach((tool, place) => {
      this.#tools.add(tool, `tools[${place}] of new McpServer("${options.name}")`);
    });
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
    this.#tools.add({ kind: "tool", name, options, handler }, `server.tool("${name}")`);
    return this;
  }

  /** Adds a definition made by `defineTool`. Throws as {@link McpServer.tool} does. */
  add(definition: ToolDefinition<Env>): this {
    this.#tools.add(definition, `server.add() of "${definition.name}"`);
    return this;
  }

  /** The registry, for the rooms that serve it. */
  get tools(): ToolRegistry<Env> {
    return this.#tools;
  }

  get instructions(): string | undefined {
    return this.#options.instructions;
  }

  /** Name, version and the rest of the identity, as far as the version has them. */
  info(rules: VersionRules): JsonObject {
    return pick(this.#options, rules.implementationFields);
  }

  /** What this server can do. Nothing is declared that cannot be kept. */
  capabilities(): JsonObject {
    const derived: JsonObject = this.#tools.size > 0 ? { tools: {} } : {};
    return { ...derived, ...this.#options.capabilities };
  }

  cacheHint(method: CacheableMethod): Required<CacheHint> {
    const hint = this.#options.cacheHints?.[method];
    return { ttlMs: hint?.ttlMs ?? 0, cacheScope: hint?.cacheScope ?? "private" };
  }

  /** Tells `onError`, or else the runtime. Never throws: a failing reporter must not hide the answer. */
  report(error: unknown, where: ErrorPlace, runtime: ErrorReporter): void {
    const reporter = this.#options.onError ?? runtime;
    try {
      // An async reporter that rejects has nobody left to tell but the runtime's own log.
      Promise.resolve(reporter(error, where)).catch((failure) => runtime(failure, where));
    } catch (failure) {
      runtime(failure, where);
    }
  }
}
