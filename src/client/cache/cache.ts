import { checkOptions, type OptionTable, PERIOD, TIMER_OR_ZERO } from "../../core/protocol/check-options.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { KitError, McpError } from "../../core/protocol/errors.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { readMeta } from "../../core/protocol/lifecycle.ts";
import { findRequest, type RequestName, type RunKind } from "../../core/protocol/methods.ts";
import type { ClientExtension, ExtensionContext } from "../api/extensions.ts";
import type { Next, OutgoingRequest } from "../api/wrapped-requests.ts";
import { toText } from "../basics/errors.ts";
import { UNCACHEABLE } from "../requests/rounds.ts";
import { type CacheStore, memoryCache } from "./store.ts";

/** Options of {@link cache}. */
export interface ClientCacheOptions {
  /** The store of results. Requires `server`, because clients of several servers may share a store. @default memory of this client */
  readonly store?: CacheStore;
  /** The name of the server in the store, such as its URL. */
  readonly server?: string;
  /**
   * The principal that the client acts for, such as the subject of its access token. A function is called for each request. Results
   * with the scope `private` are stored separately for each principal. Without a principal, they are stored only in the memory of this
   * client, which must then act for one principal only.
   */
  readonly principal?: string | (() => string | Promise<string>);
  /**
   * How long results without `ttlMs` are fresh, in milliseconds. They count as private. Servers of versions before 2026-07-28 send no
   * `ttlMs`.
   *
   * @default 0: such results are not cached
   */
  readonly defaultTtlMs?: number;
  /** The maximum time for which a result is fresh, in milliseconds, even if its `ttlMs` is larger. @default 86,400,000 (1 day) */
  readonly ttlMaxMs?: number;
  /**
   * Whether to open the stream of changes, so that cached lists that have changed are removed at once. If false, this happens only for
   * changes that the client receives for another reason; all other lists are read again after `ttlMs`.
   *
   * @default false
   */
  readonly listen?: boolean;
}

const DAY_MS = 86_400_000;

const OPTIONS: OptionTable<ClientCacheOptions> = {
  store: null,
  server: null,
  principal: null,
  defaultTtlMs: TIMER_OR_ZERO,
  ttlMaxMs: PERIOD,
  listen: null,
};

/** The list of each kind of definition. */
const LISTS: Readonly<Record<RunKind, RequestName>> = {
  tool: "tools/list",
  prompt: "prompts/list",
  resource: "resources/list",
};
/** Errors for an unknown method, name or cursor, and for an unknown resource in versions up to 2025-11-25. */
const UNKNOWN: readonly number[] = [ErrorCode.MethodNotFound, ErrorCode.InvalidParams, -32002];
/** Members of `_meta` that do not change a result. */
const NEUTRAL_META: readonly string[] = ["progressToken", "traceparent", "tracestate", "baggage"];

/** A stored result. */
interface Kept {
  readonly result: JsonObject;
  readonly freshUntilMs: number;
}

/**
 * The place of a list or resource in a store. The value of `key` is random, and part of the keys of the pages. Removing it therefore
 * invalidates all pages.
 */
interface Slot {
  readonly store: CacheStore;
  readonly key: string;
}

/**
 * Caches the results of lists, resources and `server/discover` for the time that the server sets with `ttlMs`. A list or resource is
 * read again after the server has reported that it has changed. A request with the option `fresh: true` is always sent.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @see MCP 2026-07-28, server/utilities/caching
 */
export function cache(options: ClientCacheOptions = {}): ClientExtension {
  checkOptions("cache(): ", options, OPTIONS);
  if (options.store && options.server === undefined) {
    throw new KitError("options-invalid", "cache(): a store needs the name of the server; pass server: its URL.");
  }
  return (context) => {
    const results = new Results(context, options);
    return {
      ...(options.listen ? { changes: ["tools", "prompts", "resources"] as const } : {}),
      onRequest: (request, next) => results.request(request, next),
      onNotification: (method, { uri }) => {
        if (method === "notifications/resources/updated") results.forget("resources/read", String(uri));
        const list = /^notifications\/(.+)\/list_changed$/.exec(method)?.[1];
        if (list) results.forget(`${list}/list`);
        if (list === "resources") results.forget("resources/templates/list");
      },
    };
  };
}

/** The cached results of one client. */
class Results {
  readonly #context: ExtensionContext;
  readonly #options: ClientCacheOptions;
  readonly #own = memoryCache();
  /** The number of removals. A result that was requested before a removal is not stored. */
  #changes = 0;
  /** Settles when all removals are done. */
  #forgetting: Promise<unknown> = Promise.resolve();

  constructor(context: ExtensionContext, options: ClientCacheOptions) {
    this.#context = context;
    this.#options = options;
  }

  async request(request: OutgoingRequest, next: Next<OutgoingRequest>): Promise<JsonObject> {
    const { method, params = {}, options } = request;
    const meta = Object.keys({ ...readMeta(params), ...options.meta });
    if (!findRequest(method)?.isCacheable || !meta.every((name) => NEUTRAL_META.includes(name)))
      return this.#send(request, next);
    await this.#forgetting;
    const { uri, ...others } = params;
    const page = JSON.stringify({ ...others, _meta: undefined });
    const slots = await this.#findSlots(method, uri);
    const found = options.fresh ? [] : await Promise.all(Object.values(slots).map((slot) => this.#find(slot, page)));
    const kept = found.find((each) => each !== undefined);
    if (kept) return kept;
    const before = this.#changes;
    const result = await this.#send(request, next);
    // A change that was reported meanwhile may be newer than the result.
    if (this.#changes !== before || UNCACHEABLE.has(result)) return result;
    await this.#keep(result.cacheScope === "public" ? slots.public : slots.private, page, result);
    return result;
  }

  /** Removes a list or a resource. */
  forget(method: string, uri?: unknown): void {
    this.#changes += 1;
    const forgotten = this.#findSlots(method, uri).then((slots) =>
      Promise.all(Object.values(slots).map(({ store, key }) => this.#guard(() => store.delete(key)))),
    );
    this.#forgetting = Promise.all([this.#forgetting, forgotten]).catch(() => undefined);
  }

  async #send(request: OutgoingRequest, next: Next<OutgoingRequest>): Promise<JsonObject> {
    try {
      return await next(request);
    } catch (error) {
      const { method, params = {} } = request;
      if (McpError.is(error) && UNKNOWN.includes(error.code)) {
        const { isCacheable, runs } = findRequest(method) ?? {};
        if (isCacheable) this.forget(method, params.uri);
        // The list that names the tool, prompt or resource may be out of date.
        if (runs) this.forget(LISTS[runs]);
      }
      throw error;
    }
  }

  /** Returns the places of public results and of results for the principal. */
  async #findSlots(method: string, uri: unknown): Promise<{ readonly public: Slot; readonly private: Slot }> {
    const { store = this.#own, server = "", principal } = this.#options;
    const who = typeof principal === "function" ? await principal() : principal;
    const { protocolVersion } = this.#context.client.server;
    const toKey = (...scope: unknown[]) => JSON.stringify(["mcp-edge", server, protocolVersion, method, uri, ...scope]);
    return {
      public: { store, key: toKey("public") },
      // Without a principal, private results of another client in the same store could belong to another user.
      private: { store: who === undefined ? this.#own : store, key: toKey("private", who) },
    };
  }

  #find({ store, key }: Slot, page: string): Promise<JsonObject | undefined> {
    return this.#guard(async () => {
      const generation = await store.get(key);
      const text = generation === undefined ? undefined : await store.get(`${key}${generation}${page}`);
      if (text === undefined) return undefined;
      const { result, freshUntilMs } = JSON.parse(text) as Kept;
      return Date.now() < freshUntilMs ? result : undefined;
    });
  }

  async #keep({ store, key }: Slot, page: string, result: JsonObject): Promise<void> {
    const { defaultTtlMs = 0, ttlMaxMs = DAY_MS } = this.#options;
    const { ttlMs = defaultTtlMs } = result;
    const keptMs = typeof ttlMs === "number" ? Math.min(ttlMs, ttlMaxMs) : 0;
    // Negative and invalid values are treated as 0.
    if (!(keptMs > 0)) return;
    const kept: Kept = { result, freshUntilMs: Date.now() + keptMs };
    await this.#guard(async () => {
      let generation = await store.get(key);
      if (generation === undefined) {
        generation = crypto.randomUUID();
        await store.set(key, generation, ttlMaxMs);
      }
      await store.set(`${key}${generation}${page}`, JSON.stringify(kept), keptMs);
    });
  }

  /** Runs an operation of the store. If it fails, the error is reported, and the result is undefined. */
  async #guard<T>(run: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await run();
    } catch (error) {
      this.#context.report({ type: "warning", message: `The store of cache() failed: ${toText(error)}` });
      return undefined;
    }
  }
}
