/**
 * The options of `edge()`, and the checks of its arguments, so that each mistake is reported when the endpoint is created.
 *
 * @module
 */

import type { MiddlewareHandler } from "hono";
import type { Registry } from "../core/define/registry.ts";
import { REGISTRY } from "../core/define/server.ts";
import { checkOptions, checkPath, type OptionTable } from "../core/protocol/check-options.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import { checkFunction, describeType, KitError } from "../core/protocol/errors.ts";
import { isObject } from "../core/protocol/jsonrpc.ts";
import { type Limits, resolveLimits } from "../core/protocol/limits.ts";
import type { AuthHook } from "../http/endpoint-types.ts";
import type { OriginRules } from "../http/origin.ts";
import { type ResponseTimes, TIMES } from "../http/response-times.ts";
import type {
  AuthPart,
  HonoEnv,
  KeysPart,
  NoticesPart,
  OncePart,
  PagePart,
  RoutesPart,
  SessionsPart,
  TasksPart,
} from "./parts.ts";
import type { Problem, ProblemCode } from "./problems.ts";
import type { ReplayPart } from "./runtime.ts";

/** Options of {@link edge}. The parts, such as `sessions`, come from entries of their own. */
export interface EdgeOptions<Env, Objects extends object = object, Classes extends object = object>
  extends OriginRules,
    ResponseTimes {
  /** The path of the endpoint within the app. @default "/mcp" */
  readonly path?: string;
  /**
   * The name of the endpoint. Session ids, request states, tasks and list cursors of one endpoint are refused at every
   * other one, and idempotency keys count for one endpoint only. Set it if paths do not distinguish endpoints (two that
   * are chosen by host), if one endpoint has several paths, or to keep all of this valid when the path changes.
   *
   * @default the path of the request's URL
   */
  readonly endpoint?: string;
  /** Sessions for legacy clients, created by `sessions()`. Without them each legacy request stands alone. */
  readonly sessions?: SessionsPart<Env, Objects>;
  /**
   * Notices of changes to clients of every isolate, created by `hub()`. Without them the server declares no notices.
   */
  readonly notices?: NoticesPart<Env, Objects>;
  /** Runs repeated calls once; created by `once()`. Without it a call of a tool declared `once` fails. */
  readonly once?: OncePart<Env, Objects>;
  /**
   * Runs tools that declare `task` in the background, for clients that support tasks; created by `tasks()`. Without it
   * they run on the request, and a tool whose `task` is "required" cannot be called.
   */
  readonly tasks?: TasksPart<Env, Objects, Classes>;
  /**
   * Provides the sealing keys; created by `keys()`. An endpoint with `sessions` or `replay` needs them.
   *
   * @default the secret MCP_KEYS
   */
  readonly keys?: KeysPart<Env, Objects>;
  /**
   * Lets handlers ask modern clients in the middle of a call, and lets calls continue after their object was lost;
   * created by `replay()`.
   */
  readonly replay?: ReplayPart;
  /**
   * Serves clients of the HTTP+SSE transport (2024-11-05) at the same path; created by `httpSse()`. Needs `sessions`.
   */
  readonly httpSse?: RoutesPart<Env>;
  /**
   * Answers browsers with a page about the server; created by `page()`. Without it they get 405, or 400 if there are
   * sessions.
   */
  readonly page?: PagePart;
  /**
   * Returns the principal that a request acts for, or refuses the request; `bearer()` of `mcp-edge/worker/auth` creates
   * one that verifies access tokens. `"anonymous"` says that everyone may call.
   *
   * @default everyone may call, and the log of a Worker that is reached beyond this machine warns about it once for each
   *   isolate
   */
  readonly auth?: NoInfer<OwnHook<Env>> | "anonymous";
  /** Limits in place of the defaults. @default DEFAULT_LIMITS */
  readonly limits?: Partial<Limits>;
  /**
   * Whether every POST is answered by one JSON object. Progress and logs of calls are dropped then, and handlers cannot
   * ask legacy clients.
   *
   * @default false
   */
  readonly jsonOnly?: boolean;
  /**
   * Hono middleware that every request to this app passes first, in this order. `app.use()` after `edge()` does not
   * reach the endpoint, because the endpoint's route comes first. With middleware, requests take Hono's router, which
   * costs a little more.
   *
   * @default none
   */
  readonly middleware?: readonly MiddlewareHandler<HonoEnv<Env>>[];
  /**
   * The name under which the Worker exports the class `app.McpObject`. Each endpoint of a Worker has a class of its
   * own, so a second endpoint needs another name, such as "AdminObject". Session ids and tasks are bound to this name,
   * and become unknown when it changes.
   *
   * @default "McpObject"
   */
  readonly className?: string;
  /**
   * The name of a Durable Object binding to use instead of the exported class, if the Worker has it.
   *
   * @default "MCP"; none if `className` is given
   */
  readonly binding?: string;
  /**
   * The jurisdiction in which objects are created, for data that must stay there. Objects that were created elsewhere
   * are no longer found.
   */
  readonly jurisdiction?: DurableObjectJurisdiction;
  /** The region near which objects should be created. @default near the client whose request creates the object */
  readonly locationHint?: DurableObjectLocationHint;
}

/** A hook that may have routes and roles. */
type OwnHook<Env> = AuthHook<Env> & Partial<Pick<AuthPart<Env>, "mount" | "roles">>;

/** The options as the endpoint reads them. The text "anonymous" has neither routes nor roles. */
export type ReadOptions<Env, Objects extends object = object, Classes extends object = object> = Omit<
  EdgeOptions<Env, Objects, Classes>,
  "auth"
> & { readonly auth?: OwnHook<Env> | (string & Partial<Record<"mount" | "roles", undefined>>) };

type AnyOptions = EdgeOptions<unknown, object, object>;

const OPTIONS: OptionTable<AnyOptions> = {
  path: null,
  endpoint: null,
  sessions: null,
  notices: null,
  once: null,
  tasks: null,
  keys: null,
  replay: null,
  httpSse: null,
  page: null,
  auth: null,
  limits: null,
  ...TIMES,
  jsonOnly: null,
  middleware: null,
  className: null,
  binding: null,
  jurisdiction: null,
  locationHint: null,
  allowedHosts: null,
  allowedOrigins: null,
};

/** The options that are parts. Except for `hub()`, the function that creates a part has the name of its option. */
const PARTS = ["sessions", "notices", "once", "tasks", "keys", "replay", "httpSse", "page"];

/** Finds every mistake in the arguments of `edge()`. */
export function findOptionProblems(source: unknown, options: object): Problem[] {
  const problems: Problem[] = [];
  const attempt = (code: ProblemCode, check: () => unknown) => {
    try {
      check();
    } catch (error) {
      problems.push(`[${code}] ${(error as Error).message}`);
    }
  };
  if (typeof source !== "function") {
    attempt("option-invalid", () => checkServer(source, "edge(): the first argument"));
  }
  if (typeof options !== "object" || options === null) {
    attempt("option-invalid", () => checkOptions("edge(): ", options, OPTIONS));
    return problems;
  }
  for (const [name, value] of Object.entries(options)) {
    const code = name in OPTIONS ? "option-invalid" : "option-unknown";
    attempt(code, () => checkOptions("edge(): ", { [name]: value }, OPTIONS));
  }
  const { limits, path, auth, httpSse, sessions, className } = options as Partial<AnyOptions>;
  attempt("option-invalid", () => resolveLimits(limits, "edge(): limits."));
  attempt("option-invalid", () => checkPath("edge(): path", path));
  if (auth !== "anonymous") attempt("option-invalid", () => checkFunction("auth", auth));
  for (const name of PARTS) {
    const part: unknown = (options as Record<string, unknown>)[name];
    if (part === undefined || isObject(part)) continue;
    // Only the type is named, because clients receive this text and the value may be a misplaced secret.
    const given = typeof part === "function" ? "a function" : describeType(part);
    problems.push(
      `[option-invalid] edge(): the option ${name} is ${given}; write ${name}: ${name === "notices" ? "hub" : name}().`,
    );
  }
  if (httpSse && !sessions) problems.push("[option-invalid] edge(): the option httpSse needs the option sessions.");
  if (className !== undefined && !/^[A-Za-z_$][\w$]*$/.test(className)) {
    problems.push(`[option-invalid] edge(): className is ${JSON.stringify(className)}; write the name of a class.`);
  }
  return problems;
}

/** @throws {KitError} `options-invalid` when the value is not a server. */
export function checkServer(server: unknown, what: string): void {
  // Not checked with instanceof, because a Worker may contain two copies of the package.
  if (isObject(server) && REGISTRY in server) return;
  const message = `${what} is ${String(server)}; it must be a server made by new McpServer({ name, version }).`;
  throw new KitError("options-invalid", message);
}

/**
 * Returns a function that reports tools that cannot be called: tools with `task: "required"` of an endpoint without the
 * option `tasks`. They are reported once.
 */
export function watchForTasks(onError: ErrorReporter): (server: Registry) => void {
  const seen = new WeakSet<Registry>();
  let isReported = false;
  return (server) => {
    if (isReported || seen.has(server)) return;
    seen.add(server);
    const names = [...server.tools.values()]
      .filter(({ options }) => options.task === "required")
      .map(({ name }) => name);
    if (names.length === 0) return;
    isReported = true;
    const message = `No client can call ${names.join(", ")}: task: "required" needs the option tasks: tasks() of "mcp-edge/worker/tasks".`;
    const where = { correlationId: crypto.randomUUID(), method: "(edge)" };
    server.report(new KitError("options-invalid", message), where, onError);
  };
}
