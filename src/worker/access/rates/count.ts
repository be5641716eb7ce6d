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

/** A rate that is counted exactly, in an object. */
export interface Rate {
  /** The maximum number of requests at once. */
  readonly max: number;
  /** Milliseconds in which `max` requests become possible again, evenly. */
  readonly perMs: number;
}

/** A rate that Cloudflare counts approximately, for each of its locations. */
export interface BoundRate {
  /** The name of a rate-limit binding, whose limit and period are in the configuration of the Worker. */
  readonly binding: string;
  /** Milliseconds after which a refused client may try again. @default 60_000 (1 minute) */
  readonly retryAfterMs?: number;
}

/** A counter that a request adds to. */
export interface Counted {
  readonly name: string;
  /** The counter to use when there are too many. Undefined if the options name this one. */
  readonly overflow?: string | undefined;
  /** What is counted, for the error. */
  readonly what: string;
  readonly rate: Rate | BoundRate;
  readonly times: number;
}

/** What a request adds to, and the slots that it takes. */
export interface CountedRequest {
  readonly counters: readonly Counted[];
  readonly slots?: readonly Slot[];
}

/** The rate that a request is beyond. */
export interface Beyond {
  readonly what: string;
  readonly retryAfterMs: number;
}

const RATE: OptionTable<Rate> = { max: SIZE, perMs: TIMER };
const BOUND: OptionTable<BoundRate> = { binding: null, retryAfterMs: TIMER };

/**
 * Checks a rate.
 *
 * @param where The text before the names of its members, such as `rates(): principal.`
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
 * Returns the name of a caller who has not authenticated: the network of the request. The header is Cloudflare's own,
 * which replaces what a client writes. `serveHttp()` does the same on Node.
 */
export function networkName({ headers }: Request): string {
  return `ip ${toNetwork(headers.get("CF-Connecting-IP") ?? "unknown")}`;
}

/**
 * Counts a request, which takes slots. Undefined if it may be served.
 *
 * @param who The name of the caller. Each caller has an object.
 * @throws {KitError} `binding-missing` without the binding that a rate names. Any other error if the request could not
 * be counted:
 *   then it must not be served, since a caller could try to bring about what makes counting fail.
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
  const beyond = await objects.call(await findObject(who, env, objects), "count", counts, slots);
  if (!beyond) return undefined;
  const found = exact.find((each) => each.name === beyond.name) ?? slots.find((each) => each.kind === beyond.name);
  return { what: found?.what ?? "requests", retryAfterMs: beyond.retryAfterMs };
}

/** Returns the object of a caller. */
export async function findObject(who: string, env: unknown, objects: RoleObjects<SlotsRpc>): Promise<ObjectStub> {
  return objects.named(env, `rates:${await computeDigest(who)}`);
}

/** Returns the value of `Retry-After`: whole seconds, at least one. */
export function toSeconds({ retryAfterMs }: Pick<Beyond, "retryAfterMs">): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000));
}

/** Returns a short name for a text of any length that a client has chosen. */
export async function computeDigest(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", encodeText(text))));
}

/** Whether Cloudflare's counter is exceeded. @throws {KitError} `binding-missing` without the binding. */
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
