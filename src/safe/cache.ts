/**
 * Keeps what readers of resources and handlers of prompts return.
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
  /** Milliseconds for which a result is kept, here and by clients together. */
  readonly ttlMs: number;
  /**
   * Who may share a result. `"private"`: only requests of the same principal with the same scopes; results of anonymous
   * callers are not kept. `"public"`: everybody, so the result must not depend on the caller.
   *
   * @default "private"
   */
  readonly cacheScope?: "public" | "private";
  /** Returns what the result depends on besides URI, arguments and principal, such as a tenant. @default nothing */
  readonly key?: (ctx: HandlerContext<Env>) => string;
  /** The maximum number of results. The one that was not used for the longest time is removed first. @default 1,000 */
  readonly entriesMax?: number;
  /** The maximum number of bytes of all results, estimated. A larger result is not kept. @default 8 MiB */
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
 * Returns a cache for the readers and prompts of one server. It is kept in the memory of the isolate or the process.
 *
 * ```ts
 * const cache = createCache({ ttlMs: 60_000 });
 *
 * server.resource("prices://today", {}, cache.resource(async (_, ctx) => JSON.stringify(await prices(ctx.env))));
 * ```
 *
 * To a modern client, the result of a resource carries `cacheScope` and, as `ttlMs`, the time that remains, so that
 * here and in the client it is never older than `ttlMs` in total. (Results of prompts have no cache hints.)
 *
 * Not kept are missing resources, exceptions, questions, and results that answers of the client went into with
 * `inputRequired`. Do not use it for a handler that asks in the middle (`ctx.elicit`, `ctx.sample`).
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
  /** In the order of their last use. A key begins with the name of its result, in JSON. */
  readonly #entries = new Map<string, CacheEntry>();
  #bytes = 0;
  /** Counts deletions, so that a result that was read before a deletion is not stored after it. */
  #deletions = 0;

  /** Use {@link createCache}. */
  constructor(options: CacheOptions<Env>) {
    checkOptions("createCache(): ", options, OPTIONS as OptionTable<CacheOptions<Env>>);
    this.#options = options;
  }

  /** Returns the reader of a resource with this cache. */
  resource<E extends Env>(read: ResourceReader<E>): ResourceReader<E> {
    return (uri, ctx) => this.#read(uri, ctx, () => read(uri, ctx));
  }

  /** Returns the reader of a resource template with this cache. Each URI has its own result. */
  template<E extends Env>(read: ResourceTemplateReader<E>): ResourceTemplateReader<E> {
    return (uri, variables, ctx) => this.#read(uri, ctx, () => read(uri, variables, ctx));
  }

  /** Returns the handler of a prompt with this cache. @param name The name of the prompt. */
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
   * Forgets the results of a resource, for all principals and however its URI is spelled. Other isolates keep theirs
   * until they expire.
   */
  delete(uri: string): void {
    this.#forget(`resource ${uriKey(uri)}`);
  }

  /** Forgets the results of a prompt, for all arguments and principals. */
  deletePrompt(name: string): void {
    this.#forget(`prompt ${name}`);
  }

  /** Forgets everything. */
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
      // The reader may shorten the time, and keep a result from others.
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
   * Returns a stored result, or runs the work and stores its result. `remainingMs` is undefined if it must not be kept.
   */
  async #get(
    ctx: HandlerContext<Env>,
    { name, args, work, getTtl }: CacheableWork,
  ): Promise<{ readonly value: unknown; readonly remainingMs: number | undefined }> {
    const key = this.#createKey(name, ctx, args);
    const known = key === undefined ? undefined : this.#find(key);
    if (known) return { value: known.value, remainingMs: known.expiresAtMs - Date.now() };
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

  /** Returns the key of a result; undefined if it must not be kept. */
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
    // A copy, because the handler may go on to change its object.
    this.#entries.set(key, { value: structuredClone(value), bytes, expiresAtMs: Date.now() + ttlMs });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= entriesMax && this.#bytes <= bytesMax) break;
      this.#remove(oldest);
    }
  }

  #forget(name: string): void {
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

/** Estimates the memory of a JSON value with bytes in it. */
function toBytes(value: unknown): number {
  if (typeof value === "string") return 2 * value.length;
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value !== "object" || value === null) return 8;
  return Object.entries(value).reduce((sum, [name, member]) => sum + 2 * name.length + toBytes(member), 32);
}
