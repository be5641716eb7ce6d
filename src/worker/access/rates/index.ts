/**
 * Bounds how often a principal, a session or a tool may be used, how many sessions and tasks a principal
 * has, and the memory that the bodies of requests take.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../../../core/protocol/check-options.ts";
import type { Principal } from "../../../core/protocol/client-facts.ts";
import { KitError } from "../../../core/protocol/errors.ts";
import { ErrorCode, type ParsedMessage } from "../../../core/protocol/jsonrpc.ts";
import { listTargets } from "../../../core/protocol/targets.ts";
import { findVersion } from "../../../core/protocol/versions.ts";
import { invalid, type Refusal } from "../../../http/refusal.ts";
import { type SessionPlace, SessionsUnavailable } from "../../../http/sessions.ts";
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
  /** Requests of one principal. Callers without a principal are counted by IP address, or by the first 64 bits of an IPv6 address. @default not counted */
  readonly principal?: Rate | BoundRate;
  /** Requests of one session. @default not counted */
  readonly session?: Rate | BoundRate;
  /** Calls of single tools by one principal, by name. `"*"` is the rate of each tool without one. @default not counted */
  readonly tools?: Readonly<Record<string, Rate | BoundRate>>;
  /** Requests for single methods by one principal, by name, such as `resources/read`. @default not counted */
  readonly methods?: Readonly<Record<string, Rate | BoundRate>>;
  /**
   * The sessions that one principal has open at the same time, also over HTTP+SSE. Callers without a principal are counted
   * by address, as above.
   *
   * @default not counted
   */
  readonly liveSessions?: LiveSessions;
  /**
   * The tasks of one principal that are unfinished at the same time, in both eras. The tasks of callers without a principal
   * are not counted.
   *
   * @default not counted
   */
  readonly unfinishedTasks?: UnfinishedTasks;
}

/** Options of {@link rates} with rates that only Cloudflare counts, which need no Durable Objects. */
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
 * Bounds the rates of requests, as a plugin of `edge()`. A request beyond a rate gets 429 with `Retry-After`, and an error
 * whose data has `retryAfterMs`, in both eras and over HTTP+SSE, before its handler or its session is reached. Requests
 * are counted once their messages have been read: each message of a batch is counted, and DELETE is not.
 *
 * Rates with `max` cost one object request for each request. The counts are in memory, and stored at most once a second
 * for each principal. A request that cannot be counted gets 503 with `Retry-After`. Needs the exported class `McpObject`.
 *
 * `liveSessions` refuses `initialize`, and the GET of HTTP+SSE, in the same way when the caller has too many sessions.
 * `unfinishedTasks` refuses a call that would begin a task with -32600 and `retryAfterMs`, over HTTP in the modern era with 429.
 *
 * A caller may use up to 1,000 sessions and tools that the options do not name, each with a counter of its own. Further
 * ones share a counter. A request whose body is refused counts once.
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

/** Returns the slots that a request takes: those of the sessions that it names, or that of the session that it opens. */
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
  // A modern request has no session, whatever its header says. The query of a GET is not that of a session.
  const ids = [isModern ? null : headers.get("Mcp-Session-Id"), method === "GET" ? null : readQueryId(request)];
  const named = await Promise.all([...new Set(ids)].filter((id) => id !== null).map(computeDigest));
  if (named.length > 0) return named.map((digest) => slotOfSession(bound, digest));
  const isOpening = method === "GET" ? deliver !== undefined : messages.some((each) => each.method === "initialize");
  return isOpening ? [slotOfSession(bound, undefined)] : [];
}

/** Returns the function that limits the sessions of an endpoint. */
function boundSessions(bound: LiveSessions, objects: RoleObjects<SlotsRpc>): AddedServices["watchSessions"] {
  const ask = async (
    { request, principal, env, execution }: SessionPlace,
    question: (object: ObjectStub) => Promise<unknown>,
  ) => {
    if (!request) return undefined;
    const answer = findObject(findName(principal, request), env, objects).then(question);
    // The client of a stream has left when its session ends.
    execution?.waitUntil(answer.catch(() => undefined));
    return answer;
  };
  const onCreate = async (id: string, at: SessionPlace) => {
    const slot = slotOfSession(bound, await computeDigest(id));
    const isFull = await ask(at, (object) => objects.call(object, "take", slot)).catch((cause: unknown) => {
      throw new SessionsUnavailable("The sessions of this caller cannot be counted.", { cause });
    });
    // The request opens a session in a way that could not be foreseen when it was counted.
    if (isFull) throw new SessionsUnavailable(`A limit is reached: too many ${slot.what}.`);
  };
  const onEnd = async (id: string, at: SessionPlace) => {
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

/** Returns what is counted for messages. A request without messages, or with a body that is refused, counts once. */
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
 * Returns the sessions that a request names: in the header, and in the query as over HTTP+SSE. If it names two, only one is
 * used, and the other must not be a way to avoid its rate.
 */
function listSessions(request: Request): ReadonlySet<string> {
  const { headers } = request;
  const query = readQueryId(request);
  return new Set([headers.get("Mcp-Session-Id"), query].filter((id) => id !== null));
}

/** Returns the session in the query of a request. */
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

/** The error says when to try again as the header does, since clients show their users the error and not the headers. */
function tooMany(beyond: Beyond): Refusal {
  const reason = "too-many";
  const seconds = toSeconds(beyond);
  const form = invalid(429, `A limit is reached: too many ${beyond.what}.`, { "Retry-After": String(seconds) });
  return { reason, form: { ...form, data: { reason, retryAfterMs: seconds * 1000 } } };
}

/** Returns the answer to a request that could not be counted. @throws {KitError} for a mistake of the author. */
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
