/**
 * Caches the results of resource readers and prompt handlers.
 *
 * @module
 * @see MCP 2026-07-28, server/utilities/caching
 */

import type { CacheHint } from "../core/define/cache-hint.ts";
import type { HandlerContext } from "../core/define/handler-context.ts";
import { isInputRequired } from "../core/define/input-required.ts";
import type { PromptReturn } from "../core/define/prompt.ts";
import type { ReadResult, ReadReturn, ResourceReader, ResourceTemplateReader } from "../core/define/resource.ts";
import { checkOptions, type OptionTable, SIZE, TIMER } from "../core/protocol/check-options.ts";
import { isObject } from "../core/protocol/jsonrpc.ts";
import { uriKey } from "../core/protocol/uri.ts";

/** Options of {@link createCache}. */
export interface CacheOptions<Env = unknown> {
  /** How long a result is cached, by this cache and by clients in total, in milliseconds. */
  readonly ttlMs: number;
  /**
   * Which callers may share a result. `"private"`: only requests of the same principal with the same scopes. Results for
   * anonymous callers are not cached. `"public"`: all callers, so the result must not depend on the caller.
   *
   * @default "private"
   */
  readonly cacheScope?: "public" | "private";
  /** Returns anything else that the result depends on besides URI, arguments and principal, such as a tenant. @default none */
  readonly key?: (ctx: HandlerContext<Env>) => string;
  /** The maximum number of results. The least recently used result is removed first. @default 1,000 */
  readonly entriesMax?: number;
  /** The maximum size of all results in bytes, estimated. A larger result is not cached. @default 8 MiB */
  readonly bytesMax?: number;
}

const OPTIONS: OptionTable<CacheOptions> = {
  ttlMs: TIMER,
  cacheScope: null,
  key: null,
  entriesMax: SIZE,
  bytesMax: SIZE,
};

/**
 * Creates a cache for the resource readers and prompt handlers of one server, in the memory of the isolate or the process.
 *
 * ```ts
 * const cache = createCache({ ttlMs: 60_000 });
 *
 * server.resource("prices://today", {}, cache.resource(async (_, ctx) => JSON.stringify(await prices(ctx.env))));
 * ```
 *
 * Modern clients receive the result of a resource with `cacheScope` and with the remaining time as `ttlMs`, so that a result is
 * never older than `ttlMs`, including the time in the cache of the client. Results of prompts do not have cache hints.
 *
 * Missing resources, exceptions, questions, and results that depend on answers of the client to `inputRequired` are not cached. Do
 * not use the cache for a handler that asks questions in the middle of a call (`ctx.elicit`, `ctx.sample`).
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function createCache<Env = unknown>(options: CacheOptions<Env>): ResultCache<Env> {
  return new ResultCache(options);
}

interface CacheEntry {
  readonly value: unknown;
  readonly bytes: number;
  readonly expiresAtMs: number;
}

/** A call whose result can be stored. */
interface CacheableWork {
  /** The kind of the result, and the URI of the resource or the name of the prompt. */
  readonly name: string;
  readonly args: unknown;
  readonly work: () => unknown;
  /** Returns how long the result may be stored, in milliseconds. */
  readonly getTtl: (value: unknown) => number;
}

/** A cache of results. Created by {@link createCache}. */
export class ResultCache<Env = unknown> {
  readonly #options: CacheOptions<Env>;
  /** The results in the order of their last use. The keys are JSON arrays that begin with the name of the result. */
  readonly #entries = new Map<string, CacheEntry>();
  #bytes = 0;
  /** The number of deletions, so that a result that was read before a deletion is not stored after it. */
  #deletions = 0;

  /** Call {@link createCache} instead of this constructor. */
  constructor(options: CacheOptions<Env>) {
    checkOptions("createCache(): ", options, OPTIONS as OptionTable<CacheOptions<Env>>);
    this.#options = options;
  }

  /** Returns a resource reader that uses this cache. */
  resource<E extends Env>(read: ResourceReader<E>): ResourceReader<E> {
    return (uri, ctx) => this.#read(uri, ctx, () => read(uri, ctx));
  }

  /** Returns a reader of a resource template that uses this cache. Each URI has its own result. */
  template<E extends Env>(read: ResourceTemplateReader<E>): ResourceTemplateReader<E> {
    return (uri, variables, ctx) => this.#read(uri, ctx, () => read(uri, variables, ctx));
  }

  /** Returns a prompt handler that uses this cache. @param name The name of the prompt. */
  prompt<Args, E extends Env>(
    name: string,
    handler: (args: Args, ctx: HandlerContext<E>) => PromptReturn | Promise<PromptReturn>,
  ): (args: Args, ctx: HandlerContext<E>) => Promise<PromptReturn> {
    const { ttlMs } = this.#options;
    return async (args, ctx) => {
      const work = () => handler(args, ctx);
      const { value } = await this.#get(ctx, { name: `prompt ${name}`, args, work, getTtl: () => ttlMs });
      return value as PromptReturn;
    };
  }

  /**
   * Removes the results of a resource for all principals, in any equivalent spelling of its URI. The caches of other isolates keep
   * their results until they expire.
   */
  delete(uri: string): void {
    this.#removeAll(`resource ${uriKey(uri)}`);
  }

  /** Removes the results of a prompt, for all arguments and principals. */
  deletePrompt(name: string): void {
    this.#removeAll(`prompt ${name}`);
  }

  /** Removes all results. */
  clear(): void {
    this.#deletions++;
    for (const key of [...this.#entries.keys()]) this.#remove(key);
  }

  async #read(
    uri: string,
    ctx: HandlerContext<Env>,
    read: () => ReadReturn | Promise<ReadReturn>,
  ): Promise<ReadReturn> {
    const { ttlMs: mostMs, cacheScope = "private" } = this.#options;
    const getTtl = (value: unknown) => {
      const own: CacheHint = isObject(value) && Array.isArray(value.contents) ? value : {};
      // A reader can shorten the time, and can exclude a result from a public cache.
      return own.cacheScope === "private" && cacheScope === "public" ? 0 : Math.min(own.ttlMs ?? mostMs, mostMs);
    };
    const { value, remainingMs } = await this.#get(ctx, {
      name: `resource ${uriKey(uri)}`,
      args: uri,
      work: read,
      getTtl,
    });
    if (value === undefined || value === null || isInputRequired(value)) return value as ReadReturn;
    const result = toReadResult(value as NonNullable<ReadReturn>);
    return { cacheScope, ...result, ttlMs: remainingMs ?? result.ttlMs ?? 0 };
  }

  /**
   * Returns a stored result, or runs the work and stores its result. `remainingMs` is undefined for a result that clients must
   * not cache.
   */
  async #get(
    ctx: HandlerContext<Env>,
    { name, args, work, getTtl }: CacheableWork,
  ): Promise<{ readonly value: unknown; readonly remainingMs: number | undefined }> {
    const key = this.#createKey(name, ctx, args);
    const stored = key === undefined ? undefined : this.#find(key);
    if (stored) return { value: stored.value, remainingMs: stored.expiresAtMs - Date.now() };
    const deletions = this.#deletions;
    const value = await work();
    const hasAnswers = Object.keys(ctx.inputResponses).length > 0;
    if (value === undefined || value === null || isInputRequired(value) || hasAnswers) {
      return { value, remainingMs: undefined };
    }
    const ttlMs = getTtl(value);
    if (key !== undefined && ttlMs > 0 && deletions === this.#deletions) this.#store(key, value, ttlMs);
    return { value, remainingMs: ttlMs };
  }

  /** Returns the key of a result, or undefined if the result must not be stored. */
  #createKey(name: string, ctx: HandlerContext<Env>, args: unknown): string | undefined {
    const { cacheScope = "private", key } = this.#options;
    const { auth } = ctx;
    if (cacheScope === "private" && !auth) return undefined;
    const caller =
      cacheScope === "private" ? [auth?.issuer, auth?.subject, auth?.clientId, [...(auth?.scopes ?? [])].sort()] : [];
    return JSON.stringify([name, args, caller, key?.(ctx)]);
  }

  #find(key: string): CacheEntry | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    if (entry.expiresAtMs > Date.now()) {
      this.#entries.set(key, entry);
      return entry;
    }
    this.#bytes -= entry.bytes;
    return undefined;
  }

  #store(key: string, value: unknown, ttlMs: number): void {
    const { entriesMax = 1_000, bytesMax = 8 * 1024 * 1024 } = this.#options;
    const bytes = toBytes(value) + toBytes(key);
    if (bytes > bytesMax) return;
    this.#remove(key);
    // The value is cloned, because the handler may change its object later.
    this.#entries.set(key, { value: structuredClone(value), bytes, expiresAtMs: Date.now() + ttlMs });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= entriesMax && this.#bytes <= bytesMax) break;
      this.#remove(oldest);
    }
  }

  #removeAll(name: string): void {
    this.#deletions++;
    const start = `[${JSON.stringify(name)},`;
    for (const key of [...this.#entries.keys()]) if (key.startsWith(start)) this.#remove(key);
  }

  #remove(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}

function toReadResult(value: NonNullable<ReadReturn>): ReadResult {
  if (typeof value === "string") return { contents: [{ text: value }] };
  if (value instanceof Uint8Array) return { contents: [{ blob: value }] };
  if ("contents" in value) return value as ReadResult;
  return { contents: [value].flat() as ReadResult["contents"] };
}

/** Estimates the memory of a JSON value, which may contain byte arrays. */
function toBytes(value: unknown): number {
  if (typeof value === "string") return 2 * value.length;
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value !== "object" || value === null) return 8;
  return Object.entries(value).reduce((sum, [name, member]) => sum + 2 * name.length + toBytes(member), 32);
}
