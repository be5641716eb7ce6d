/**
 * Limits the request rates of principals, sessions, methods and tools, the number of sessions and tasks of a principal, and
 * the memory that request bodies take.
 *
 * @module
 */

import { checkOptions, type OptionTable } from "../../../core/protocol/check-options.ts";
import type { Principal } from "../../../core/protocol/client-facts.ts";
import * as ErrorCode from "../../../core/protocol/error-codes.ts";
import { KitError } from "../../../core/protocol/errors.ts";
import type { ParsedMessage } from "../../../core/protocol/jsonrpc.ts";
import { listTargets } from "../../../core/protocol/targets.ts";
import { findVersion } from "../../../core/protocol/versions.ts";
import { invalid, type Refusal } from "../../../http/refusal.ts";
import { type SessionContext, SessionsUnavailable } from "../../../http/sessions.ts";
import { type ObjectStub, RoleObjects } from "../../bindings.ts";
import { createPlugin } from "../../contributions.ts";
import { OBJECTS, type WithMcpObject } from "../../object.ts";
import type { EndpointServices, Plugin } from "../../plugin.ts";
import type { Problem } from "../../problems.ts";
import type { AddedServices } from "../../services.ts";
import {
  type Beyond,
  type BoundRate,
  type Counted,
  checkRate,
  computeDigest,
  count,
  findObject,
  networkName,
  type Rate,
  toSeconds,
} from "./count.ts";
import {
  boundTasks,
  checkSlots,
  type LiveSessions,
  notGiven,
  slotOfSession,
  UNCOUNTED,
  type UnfinishedTasks,
  watchSessions,
} from "./slots.ts";
import { type Slot, SlotsObject, type SlotsRpc } from "./slots-object.ts";

export type { BoundRate, Rate } from "./count.ts";
export type { LiveSessions, UnfinishedTasks } from "./slots.ts";

/** Options of {@link rates}. */
export interface RatesOptions {
  /**
   * The rate of the requests of one principal. Callers without a principal are counted by IP address, or by the first 64
   * bits of an IPv6 address.
   *
   * @default not counted
   */
  readonly principal?: Rate | BoundRate;
  /** The rate of the requests of one session. @default not counted */
  readonly session?: Rate | BoundRate;
  /**
   * The rates of calls of individual tools by one principal, by tool name. `"*"` is the rate of each tool without its own
   * rate.
   *
   * @default not counted
   */
  readonly tools?: Readonly<Record<string, Rate | BoundRate>>;
  /**
   * The rates of requests for individual methods by one principal, by method name, such as `resources/read`.
   *
   * @default not counted
   */
  readonly methods?: Readonly<Record<string, Rate | BoundRate>>;
  /**
   * The maximum number of sessions that one principal may have open at the same time, including sessions over HTTP+SSE.
   * Callers without a principal are counted by IP address, as for `principal`.
   *
   * @default not counted
   */
  readonly liveSessions?: LiveSessions;
  /**
   * The maximum number of tasks of one principal that may be unfinished at the same time, in both eras. Tasks of callers
   * without a principal are not counted.
   *
   * @default not counted
   */
  readonly unfinishedTasks?: UnfinishedTasks;
}

/** Options of {@link rates} in which all rates are counted by Cloudflare, so that no Durable Objects are needed. */
export type BoundRatesOptions = { readonly [Name in "principal" | "session"]?: BoundRate } & {
  readonly [Name in "tools" | "methods"]?: Readonly<Record<string, BoundRate>>;
};

const OPTIONS: OptionTable<RatesOptions> = {
  principal: null,
  session: null,
  tools: null,
  methods: null,
  liveSessions: null,
  unfinishedTasks: null,
};

/**
 * Limits the rates of requests, as a plugin of `edge()`. A request that exceeds a rate gets 429 with `Retry-After`, and an
 * error whose data contains `retryAfterMs`, in both eras and over HTTP+SSE, before it reaches its handler or session.
 * Requests are counted after their messages have been read: each message of a batch is counted, and DELETE is not.
 *
 * Rates with `max` cost one Durable Object request for each request. The counts are in memory, and are stored at most once
 * a second for each principal. A request that cannot be counted gets 503 with `Retry-After`. Requires the exported class
 * `McpObject`.
 *
 * `liveSessions` refuses `initialize`, and the GET of HTTP+SSE, in the same way if the caller has too many sessions.
 * `unfinishedTasks` refuses a call that would start a task with -32600 and `retryAfterMs`; over HTTP in the modern era, the
 * status is 429.
 *
 * A caller may use up to 1,000 sessions and tools that the options do not name, each with its own counter. All additional
 * sessions share a counter, and so do all additional tools. A request whose body is refused counts once.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * const limits = rates({ principal: { max: 600, perMs: 60_000 } });
 * const app = edge(server, { use: [keys(), bearer({ issuer: "https://login.example.com" }), limits] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 */
export function rates(options: BoundRatesOptions): Plugin<unknown>;
export function rates(options: RatesOptions): Plugin<unknown, WithMcpObject<unknown>>;
export function rates(options: RatesOptions): Plugin<unknown> {
  const counters = checkRates(options);
  const { liveSessions, unfinishedTasks } = options;
  return createPlugin({
    name: "rates()",
    objects: counters.isExact ? OBJECTS : undefined,
    attach: (endpoint) => {
      const objects = new RoleObjects<SlotsRpc>("rates", endpoint.reference);
      return {
        authorize: async ({ request, principal, env, messages: parsed }) => {
          if (request.method === "DELETE") return undefined;
          const messages = listMessages(parsed);
          const slots = liveSessions ? await listSlots(liveSessions, request, messages, endpoint) : [];
          const counted = await counters.of(request, messages);
          try {
            const beyond = await count({ counters: counted, slots }, findName(principal, request), env, objects);
            return beyond && tooMany(beyond);
          } catch (error) {
            return uncounted(error);
          }
        },
        roles: counters.isExact ? [{ name: "rates", create: (ctx) => new SlotsObject(ctx) }] : undefined,
        watchSessions: liveSessions && boundSessions(liveSessions, objects),
        boundTasks: unfinishedTasks && boundTasksOf(unfinishedTasks, objects),
        findProblems: () => (unfinishedTasks && !endpoint.authenticates() ? [NO_PRINCIPALS] : []),
      };
    },
  });
}

const NO_PRINCIPALS: Problem =
  "[option-invalid] rates(): unfinishedTasks counts the tasks of principals, and no plugin of the endpoint authenticates callers.";

/** Returns the slots that a request takes: the slots of the sessions that it names, or a slot for the session that it opens. */
async function listSlots(
  bound: LiveSessions,
  request: Request,
  messages: readonly Counting[],
  { hasSessions, deliver }: Pick<EndpointServices, "hasSessions" | "deliver">,
): Promise<readonly Slot[]> {
  if (!hasSessions) return [];
  const { method, headers } = request;
  const version = headers.get("MCP-Protocol-Version");
  const isModern = findVersion(version ?? "")?.era === "modern";
  // A modern request has no session, even if it has the header. The query of a GET does not identify a session.
  const ids = [isModern ? null : headers.get("Mcp-Session-Id"), method === "GET" ? null : readQueryId(request)];
  const named = await Promise.all([...new Set(ids)].filter((id) => id !== null).map(computeDigest));
  if (named.length > 0) return named.map((digest) => slotOfSession(bound, digest));
  const isOpening = method === "GET" ? deliver !== undefined : messages.some((each) => each.method === "initialize");
  return isOpening ? [slotOfSession(bound, undefined)] : [];
}

/** Returns the function that limits the sessions of an endpoint. */
function boundSessions(bound: LiveSessions, objects: RoleObjects<SlotsRpc>): AddedServices["watchSessions"] {
  const ask = async (
    { request, principal, env, execution }: SessionContext,
    question: (object: ObjectStub) => Promise<unknown>,
  ) => {
    if (!request) return undefined;
    const answer = findObject(findName(principal, request), env, objects).then(question);
    // When a session ends with its stream, the client has already disconnected.
    execution?.waitUntil(answer.catch(() => undefined));
    return answer;
  };
  const onCreate = async (id: string, at: SessionContext) => {
    const slot = slotOfSession(bound, await computeDigest(id));
    const isFull = await ask(at, (object) => objects.call(object, "take", slot)).catch((cause: unknown) => {
      throw new SessionsUnavailable("The sessions of this caller cannot be counted.", { cause });
    });
    // The request opened a session in a way that was not foreseeable when it was counted.
    if (isFull) throw new SessionsUnavailable(`A limit is reached: too many ${slot.what}.`);
  };
  const onEnd = async (id: string, at: SessionContext) => {
    const names = [await computeDigest(id)];
    await ask(at, (object) => objects.call(object, "give", "session", names)).catch(notGiven);
  };
  return (gateway) => watchSessions(gateway, onCreate, onEnd);
}

/** Returns the function that limits the tasks of an endpoint. */
function boundTasksOf(tasksOf: UnfinishedTasks, objects: RoleObjects<SlotsRpc>): AddedServices["boundTasks"] {
  return (tasks, env) =>
    boundTasks(tasks, tasksOf, async ({ principal }) => {
      if (!principal) return undefined;
      const object = await findObject(principalName(principal), env, objects);
      return {
        take: (slot) => objects.call(object, "take", slot),
        give: async (names) => void (await objects.call(object, "give", "task", names).catch(notGiven)),
      };
    });
}

/** The counters that the options define. */
interface Counters {
  /** Whether the rates or the slots need a Durable Object. */
  readonly isExact: boolean;
  /** Returns the counters that a request with these messages increments. */
  of(request: Request, messages: readonly Counting[]): Promise<readonly Counted[]>;
}

/** Validates the options, and returns their counters. */
function checkRates(options: RatesOptions): Counters {
  checkOptions("rates(): ", options, OPTIONS);
  const { principal, session, tools = {}, methods = {}, liveSessions, unfinishedTasks } = options;
  checkSlots(liveSessions, unfinishedTasks);
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
  const isExact =
    (liveSessions ?? unfinishedTasks) !== undefined ||
    all.some(([, rate]) => rate !== undefined && !("binding" in rate));
  const of = async (request: Request, messages: readonly Counting[]) => {
    const counted: Counted[] = [];
    const add = ({ rate, ...counter }: Omit<Counted, "rate"> & { readonly rate: Rate | BoundRate | undefined }) => {
      if (rate && counter.times > 0) counted.push({ ...counter, rate });
    };
    add({ name: "principal", what: "requests of this caller", rate: principal, times: messages.length });
    for (const id of session ? listSessions(request) : []) {
      const name = `session #${await computeDigest(id)}`;
      const what = "requests of this session";
      add({ name, what, rate: session, times: messages.length, overflow: "other sessions" });
    }
    for (const method of new Set(messages.map((each) => each.method))) {
      const times = messages.filter((each) => each.method === method).length;
      const rate = methodRates?.get(method ?? "");
      add({ name: `method ${method}`, what: `requests for ${method}`, rate, times });
    }
    for (const tool of new Set(messages.flatMap((each) => each.tool ?? []))) {
      const times = messages.filter((each) => each.tool === tool).length;
      const own = toolRates?.get(tool);
      const what = "calls of this tool";
      if (own) add({ name: `tool ${tool}`, what, rate: own, times });
      else if (others)
        add({ name: `tool #${await computeDigest(tool)}`, what, rate: others, times, overflow: "other tools" });
    }
    return counted;
  };
  return { isExact, of };
}

interface Counting {
  readonly method?: string;
  readonly tool?: string;
}

/** Returns an entry for each message that is counted. A request without messages, or with a refused body, counts once. */
function listMessages(messages: readonly ParsedMessage[]): readonly Counting[] {
  if (messages.length === 0) return [{}];
  return messages.map((parsed) => {
    if (!("message" in parsed) || !("method" in parsed.message)) return {};
    const { method } = parsed.message;
    const [target] = listTargets({ ...parsed.message });
    return target?.kind === "tool" ? { method, tool: target.name } : { method };
  });
}

/**
 * Returns the session ids of a request: in the header, and in the query, as over HTTP+SSE. If there are two, both are
 * counted, so that a client cannot avoid the rate of the session that is used by adding another id.
 */
function listSessions(request: Request): ReadonlySet<string> {
  const { headers } = request;
  const query = readQueryId(request);
  return new Set([headers.get("Mcp-Session-Id"), query].filter((id) => id !== null));
}

/** Returns the session id in the query of a request. */
function readQueryId({ url }: Request): string | null {
  return url.includes("?") ? new URL(url).searchParams.get("sessionId") : null;
}

/** Returns a name for a caller. */
function findName(principal: Principal | undefined, request: Request): string {
  return principal ? principalName(principal) : networkName(request);
}

function principalName({ issuer, subject }: Principal): string {
  return JSON.stringify([issuer, subject]);
}

/** The error contains the same time as `Retry-After`, because clients show their users the error but not the headers. */
function tooMany(beyond: Beyond): Refusal {
  const reason = "too-many";
  const seconds = toSeconds(beyond);
  const form = invalid(429, `A limit is reached: too many ${beyond.what}.`, { "Retry-After": String(seconds) });
  return { reason, form: { ...form, data: { reason, retryAfterMs: seconds * 1000 } } };
}

/**
 * Returns the refusal of a request that could not be counted.
 *
 * @throws {KitError} if the error is one, because it reports a mistake of the author.
 */
function uncounted(error: unknown): Refusal {
  if (KitError.is(error)) throw error;
  console.error("mcp-edge: a request was refused because it could not be counted", error);
  const message = "The requests of this caller cannot be counted at the moment. Try again.";
  const form = {
    status: 503,
    code: ErrorCode.InternalError,
    message,
    headers: { "Retry-After": "5" },
    data: UNCOUNTED,
  };
  return { reason: UNCOUNTED.reason, form };
}
