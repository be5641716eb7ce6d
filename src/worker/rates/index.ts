/**
 * mcp-edge/worker/rates: bounds how often a principal, a session or a tool may be used, and the memory that the bodies of
 * requests take.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import type { Principal } from "../../core/protocol/client-facts.ts";
import { checkFunction } from "../../core/protocol/errors.ts";
import type { Execution } from "../../core/protocol/execution.ts";
import { isObject } from "../../core/protocol/jsonrpc.ts";
import { DEFAULT_LIMITS, type Limits } from "../../core/protocol/limits.ts";
import { readBody } from "../../http/body.ts";
import type { AuthHook, AuthResult } from "../../http/endpoint-types.ts";
import { invalid, type Refusal, refuse } from "../../http/refusal.ts";
import { wider } from "../auth/body-limits.ts";
import { rememberCaller } from "../auth/known-callers.ts";
import { findMissingObjects } from "../auth/missing-objects.ts";
import { type ObjectPlace, RoleObjects } from "../bindings.ts";
import type { ObjectRole } from "../object.ts";
import type { AuthPart, AuthRoles } from "../parts.ts";
import {
  type Beyond,
  type BoundRate,
  type Counted,
  checkRate,
  count,
  digestOf,
  networkName,
  type Rate,
  secondsOf,
} from "./count.ts";
import { RatesObject, type RatesRpc } from "./rates-object.ts";

export { type BytesInFlightOptions, limitBytesInFlight } from "./bytes-in-flight.ts";
export type { BoundRate, Rate } from "./count.ts";

/** Options of {@link rates}. */
export interface RatesOptions {
  /** Requests of one principal. Callers without a principal are counted by IP address, or by the first 64 bits of an IPv6 address. @default not counted */
  readonly principal?: Rate | BoundRate;
  /** Requests of one session. @default not counted */
  readonly session?: Rate | BoundRate;
  /** Calls of single tools by one principal, by name. `"*"` is the rate of each tool without one. @default not counted */
  readonly tools?: Readonly<Record<string, Rate | BoundRate>>;
  /** Requests for single methods by one principal, by name, such as `resources/read`. @default not counted */
  readonly methods?: Readonly<Record<string, Rate | BoundRate>>;
}

const OPTIONS: OptionTable<RatesOptions> = { principal: null, session: null, tools: null, methods: null };
type OwnHook = AuthHook<never> & Partial<AuthPart<never>>;

/**
 * Bounds the rates of requests, as the option `auth` of `edge()`. A request beyond a rate gets 429 with `Retry-After`,
 * and an error whose data has `retryAfterMs`, in both eras and over HTTP+SSE, before its handler or its session is reached. Each message of a batch is counted, and
 * DELETE is not.
 *
 * Rates with `max` cost one object request for each request. The counts are in memory, and stored at most once a second
 * for each principal. If the object cannot be reached, requests are served. Needs the exported class `McpObject`.
 *
 * A caller may use up to 1,000 sessions and tools that the options do not name, each with a counter of its own. Further
 * ones share a counter. A request whose body exceeds the limits of the endpoint is refused here.
 *
 * @param auth The hook that authenticates, such as `bearer()`, or `"anonymous"`.
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * const auth = rates(bearer({ issuer: "https://login.example.com" }), { principal: { max: 600, perMs: 60_000 } });
 * const app = edge(server, { keys: keys(), auth });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 */
export function rates<Auth extends OwnHook = AuthHook<unknown>>(
  auth: Auth | "anonymous",
  options: RatesOptions,
): Auth & { readonly roles: AuthRoles } {
  const counters = checkRates(options);
  if (auth !== "anonymous") checkFunction("rates(): the first argument", auth);
  const inner = auth === "anonymous" ? undefined : auth;
  let objects: RoleObjects<RatesRpc> | undefined;
  let place: ObjectPlace | undefined;
  let limits: Limits | undefined;
  const hook = async (request: Request, env: unknown, execution: Execution): Promise<AuthResult> => {
    const who = inner ? await inner(request, env as never, execution) : "anonymous";
    if (who === null || who instanceof Response || request.method === "DELETE") return who;
    if (who !== "anonymous") rememberCaller(request, who);
    const { messages, refusal } = await readMessages(request, limits ?? DEFAULT_LIMITS);
    const beyond = await count(await counters.of(request, messages), nameOf(who, request), env, objects);
    if (beyond) return refused(beyond);
    // Messages that could not be counted must not reach a handler, even if the endpoint would accept them.
    return refusal ? refuse(refusal) : who;
  };
  const roles: AuthRoles = {
    attach: (given, keys, own = DEFAULT_LIMITS) => {
      place = given;
      limits = wider(limits, own);
      objects = new RoleObjects("rates", given);
      const role: ObjectRole<unknown> = { name: "rates", create: (ctx) => new RatesObject(ctx) };
      const others = inner?.roles?.attach(given, keys, own).role ?? [];
      return { role: [role, others].flat() };
    },
    findProblems: (env) => [
      ...(counters.isExact ? findMissingObjects("rates() with max", place) : []),
      ...(inner?.roles?.findProblems(env) ?? []),
    ],
    equip: (principal, env) => inner?.roles?.equip?.(principal, env),
  };
  // The members of the hook, such as `mount`, are those of the result.
  return Object.assign(hook, inner, { roles }) as unknown as Auth & { readonly roles: AuthRoles };
}

/** The counters that the options name. */
interface Counters {
  /** Whether some are in an object. */
  readonly isExact: boolean;
  /** Returns what a request with these messages counts for. */
  of(request: Request, messages: readonly Counting[]): Promise<readonly Counted[]>;
}

/** Checks the options. */
function checkRates(options: RatesOptions): Counters {
  checkOptions("rates(): ", options, OPTIONS);
  const { principal, session, tools = {}, methods = {} } = options;
  const named = (kind: string, by: object) =>
    Object.entries(by).map(([name, rate]) => [`${kind}.${name}`, rate] as const);
  const all = [
    ["principal", principal],
    ["session", session],
    ...named("tools", tools),
    ...named("methods", methods),
  ] as const;
  for (const [name, rate] of all) if (rate !== undefined) checkRate(`rates(): ${name}.`, rate);
  const [toolRates, methodRates] = [tools, methods].map((by) => new Map(Object.entries(by)));
  const others = toolRates?.get("*");
  const isExact = all.some(([, rate]) => rate !== undefined && !("binding" in rate));
  const of = async (request: Request, messages: readonly Counting[]) => {
    const counted: Counted[] = [];
    const add = (name: string, what: string, rate: Rate | BoundRate | undefined, times: number, overflow?: string) => {
      if (rate && times > 0) counted.push({ name, what, rate, times, overflow });
    };
    add("principal", "requests of this caller", principal, messages.length);
    for (const id of session ? sessionsOf(request) : []) {
      add(`session #${await digestOf(id)}`, "requests of this session", session, messages.length, "other sessions");
    }
    for (const method of new Set(messages.map((each) => each.method))) {
      const times = messages.filter((each) => each.method === method).length;
      add(`method ${method}`, `requests for ${method}`, methodRates?.get(method ?? ""), times);
    }
    for (const tool of new Set(messages.flatMap((each) => each.tool ?? []))) {
      const times = messages.filter((each) => each.tool === tool).length;
      const own = toolRates?.get(tool);
      if (own) add(`tool ${tool}`, "calls of this tool", own, times);
      else if (others) add(`tool #${await digestOf(tool)}`, "calls of this tool", others, times, "other tools");
    }
    return counted;
  };
  return { isExact, of };
}

interface Counting {
  readonly method?: string;
  readonly tool?: string;
}

/** The messages of a request, and the refusal if they cannot be counted one by one. */
interface Messages {
  readonly messages: readonly Counting[];
  readonly refusal?: Refusal;
}

/** Reads the messages of a request. A request without a readable body counts once. */
async function readMessages(request: Request, limits: Limits): Promise<Messages> {
  if (request.method !== "POST") return { messages: [{}] };
  const body = await readBody(request.clone(), limits);
  if (body.refusal) return { messages: [{}], refusal: body.refusal };
  const all: readonly unknown[] = Array.isArray(body.value) && body.value.length > 0 ? body.value : [body.value];
  // Counting takes time for each message.
  if (all.length > limits.batchMax) {
    const problem = `it has more than ${limits.batchMax} members`;
    return { messages: [{}], refusal: { reason: "batch", problem } };
  }
  return { messages: messagesOf(all) };
}

function messagesOf(messages: readonly unknown[]): readonly Counting[] {
  return messages.map((message) => {
    const { method, params } = isObject(message) ? message : {};
    if (typeof method !== "string") return {};
    const name = isObject(params) ? params.name : undefined;
    return method === "tools/call" && typeof name === "string" ? { method, tool: name } : { method };
  });
}

/**
 * Returns the sessions that a request names: in the header, and in the query as over HTTP+SSE. If it names two, only one is
 * used, and the other must not be a way to avoid its rate.
 */
function sessionsOf({ headers, url }: Request): ReadonlySet<string> {
  const query = url.includes("?") ? new URL(url).searchParams.get("sessionId") : null;
  return new Set([headers.get("Mcp-Session-Id"), query].filter((id) => id !== null));
}

/** Returns a name for a caller. */
function nameOf(who: Principal | "anonymous", request: Request): string {
  return who === "anonymous" ? networkName(request) : JSON.stringify([who.issuer, who.subject]);
}

/** The error says when to try again as the header does, since clients show their users the error and not the headers. */
function refused(beyond: Beyond): Response {
  const reason = "too-many";
  const seconds = secondsOf(beyond);
  const form = invalid(429, `A limit is reached: too many ${beyond.what}.`, { "Retry-After": String(seconds) });
  return refuse({ reason, form: { ...form, data: { reason, retryAfterMs: seconds * 1000 } } });
}
