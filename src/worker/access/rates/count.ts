/**
 * Counts requests for `rates()`, and for the rates of an authorization server.
 *
 * @module
 */
import { encodeText, toHex } from "../../../core/basics/bytes.ts";
import { checkOptions, type OptionTable, SIZE, TIMER } from "../../../core/protocol/check-options.ts";
import { KitError } from "../../../core/protocol/errors.ts";
import { isObject } from "../../../core/protocol/jsonrpc.ts";
import type { ObjectStub, RoleObjects } from "../../bindings.ts";
import { toNetwork } from "./network.ts";
import type { Count } from "./rates-object.ts";
import type { Slot, SlotsRpc } from "./slots-object.ts";

/** A rate that is counted exactly, in a Durable Object. */
export interface Rate {
  /** The maximum number of requests in a burst. */
  readonly max: number;
  /** How long it takes until `max` requests are possible again, in milliseconds. They become possible at a constant rate. */
  readonly perMs: number;
}

/** A rate that Cloudflare counts approximately, and separately in each of its locations. */
export interface BoundRate {
  /** The name of a rate-limit binding, whose limit and period are in the configuration of the Worker. */
  readonly binding: string;
  /** How long a client whose request the binding refuses is asked to wait, in milliseconds. @default 60_000 (1 minute) */
  readonly retryAfterMs?: number;
}

/** A counter that a request increments. */
export interface Counted {
  readonly name: string;
  /** The counter to use if there are too many counters. Undefined if the options name this counter. */
  readonly overflow?: string | undefined;
  /** What is counted, for the error message. */
  readonly what: string;
  readonly rate: Rate | BoundRate;
  readonly times: number;
}

/** The counters that a request increments, and the slots that it takes. */
export interface CountedRequest {
  readonly counters: readonly Counted[];
  readonly slots?: readonly Slot[];
}

/** The rate that a request exceeds. */
export interface Beyond {
  readonly what: string;
  readonly retryAfterMs: number;
}

const RATE: OptionTable<Rate> = { max: SIZE, perMs: TIMER };
const BOUND: OptionTable<BoundRate> = { binding: null, retryAfterMs: TIMER };

/**
 * Checks a rate.
 *
 * @param where The string before the names of the members in error messages, such as `rates(): principal.`
 * @throws {KitError} `options-invalid` naming the member.
 */
export function checkRate(where: string, rate: Rate | BoundRate): void {
  const isBound = isObject(rate) && "binding" in rate;
  checkOptions(where, rate, (isBound ? BOUND : RATE) as OptionTable<Rate>);
  const { binding, max, perMs } = rate as Partial<BoundRate & Rate>;
  const isWhole = isBound ? typeof binding === "string" : max !== undefined && perMs !== undefined;
  if (!isWhole) throw new KitError("options-invalid", `${where.slice(0, -1)} needs max and perMs, or a binding.`);
}

/**
 * Returns the name of a caller who has not been authenticated: the network of the request. Cloudflare sets the header, and
 * replaces a header that the client sends. `serveHttp()` does the same on Node.
 */
export function networkName({ headers }: Request): string {
  return `ip ${toNetwork(headers.get("CF-Connecting-IP") ?? "unknown")}`;
}

/**
 * Counts a request, and takes its slots. Returns undefined if the request may be served.
 *
 * @param who The name of the caller. Each caller has its own object.
 * @throws {KitError} `binding-missing` if the binding of a rate is missing. Any other error means that the request could
 * not be counted. It must not be served then, because a caller could try to make counting fail.
 */
export async function count(
  { counters, slots = [] }: CountedRequest,
  who: string,
  env: unknown,
  objects: RoleObjects<SlotsRpc> | undefined,
): Promise<Beyond | undefined> {
  const exact: (Count & Counted)[] = [];
  for (const each of counters) {
    if (!("binding" in each.rate)) exact.push({ ...each, ...each.rate });
    else if (await isBeyond(each.rate.binding, each, who, env))
      return { what: each.what, retryAfterMs: each.rate.retryAfterMs ?? 60_000 };
  }
  if (exact.length + slots.length === 0 || !objects) return undefined;
  const counts = exact.map(({ name, max, perMs, times, overflow }) => ({ name, max, perMs, times, overflow }));
  const object = await findObject(who, env, objects);
  const ask = () => objects.call(object, "count", counts, slots);
  // If the storage refuses, the object fails at its first call, and then counts in memory.
  const beyond = await ask().catch((error: unknown) => {
    if ((error as { readonly remote?: boolean }).remote) return ask();
    throw error;
  });
  if (!beyond) return undefined;
  const found = exact.find((each) => each.name === beyond.name) ?? slots.find((each) => each.kind === beyond.name);
  return { what: found?.what ?? "requests", retryAfterMs: beyond.retryAfterMs };
}

/** Returns the object that counts the requests of a caller. */
export async function findObject(who: string, env: unknown, objects: RoleObjects<SlotsRpc>): Promise<ObjectStub> {
  return objects.named(env, `rates:${await computeDigest(who)}`);
}

/** Returns the value of `Retry-After`: whole seconds, at least one. */
export function toSeconds({ retryAfterMs }: Pick<Beyond, "retryAfterMs">): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000));
}

/** Returns a short name for a string of any length that a client has chosen. */
export async function computeDigest(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", encodeText(text))));
}

/** Whether the limit of Cloudflare's counter is exceeded. @throws {KitError} `binding-missing` if the binding is missing. */
async function isBeyond(binding: string, { name, times }: Counted, who: string, env: unknown): Promise<boolean> {
  const limiter = (env as Record<string, RateLimit | undefined>)[binding];
  if (typeof limiter?.limit !== "function") {
    const text = `rates(): the binding "${binding}" is missing. In wrangler.toml write: [[ratelimits]] name = "${binding}" namespace_id = "1" simple = { limit = 100, period = 60 }`;
    throw new KitError("binding-missing", text);
  }
  for (let time = 0; time < times; time += 1) {
    if (!(await limiter.limit({ key: `${who} ${name}` })).success) return true;
  }
  return false;
}
