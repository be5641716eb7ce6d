/**
 * mcp-edge/worker/durable: everything that an endpoint can keep in Durable Objects, as one option.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import type { EdgeOptions } from "../edge-options.ts";
import { type HttpSseOptions, httpSse } from "../http-sse/index.ts";
import { type HubOptions, hub } from "../hub/index.ts";
import { type KeysOptions, keys } from "../keys/index.ts";
import type { WithMcpObject } from "../object.ts";
import { type OnceOptions, once } from "../once/index.ts";
import type { KeysPart, NoticesPart, OncePart, RoutesPart, SessionsPart, TasksPart } from "../parts.ts";
import { type ReplayOptions, replay } from "../replay/index.ts";
import type { ReplayPart } from "../runtime.ts";
import { type SessionsOptions, sessions } from "../sessions/index.ts";
import { type TasksOptions, tasks } from "../tasks/index.ts";

/** Options of the parts, each under the name that the part has in `edge()`. */
export interface DurableOptions<Env> extends Pick<EdgeOptions<Env>, PlaceOption> {
  /** Options of `sessions()`. */
  readonly sessions?: SessionsOptions<Env>;
  /** Options of `httpSse()`. */
  readonly httpSse?: HttpSseOptions;
  /** Options of `hub()`. */
  readonly notices?: HubOptions;
  /** Options of `keys()`. */
  readonly keys?: KeysOptions;
  /** Options of `once()`. */
  readonly once?: OnceOptions;
  /** Options of `tasks()`. */
  readonly tasks?: TasksOptions;
  /** Options of `replay()`. */
  readonly replay?: ReplayOptions;
}

type PlaceOption = "className" | "binding" | "jurisdiction" | "locationHint";

const OPTIONS: OptionTable<DurableOptions<never>> = {
  sessions: null,
  httpSse: null,
  notices: null,
  keys: null,
  once: null,
  tasks: null,
  replay: null,
  className: null,
  binding: null,
  jurisdiction: null,
  locationHint: null,
};

/** All parts of an endpoint, as options of `edge()`. */
export interface DurableParts<Env> extends Pick<EdgeOptions<Env>, PlaceOption> {
  /** Sessions for legacy clients. */
  readonly sessions: SessionsPart<Env, WithMcpObject<Env>>;
  /** The transport of 2024-11-05. */
  readonly httpSse: RoutesPart<Env>;
  /** Notices of changes to clients of every isolate. */
  readonly notices: NoticesPart<Env, WithMcpObject<Env>>;
  /** The keys that seal session ids and request states. */
  readonly keys: KeysPart<Env, WithMcpObject<Env>>;
  /** Calls that run once. */
  readonly once: OncePart<Env, WithMcpObject<Env>>;
  /** Calls that run in the background. */
  readonly tasks: TasksPart<Env, WithMcpObject<Env>>;
  /** Handlers that ask in the middle of a call. */
  readonly replay: ReplayPart;
}

/**
 * Gives an endpoint every part that uses Durable Objects: legacy sessions, the HTTP+SSE transport at the same URL,
 * notices to every client, sealing keys, calls that run once, tasks, and handlers that ask in the middle of a call.
 * Unused parts cost nothing but the size of the script; to leave one out, import the others one by one.
 *
 * @example
 * ```ts
 * const app = edge(server, durable());
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @param options The options of the parts, each under its name, and the location of the objects.
 * @throws {KitError} `options-invalid` naming the option, its value and its range.
 */
export function durable<Env>(options: DurableOptions<Env> = {}): DurableParts<Env> {
  checkOptions("durable(): ", options, OPTIONS);
  return {
    ...options,
    sessions: sessions(options.sessions),
    httpSse: httpSse(options.httpSse),
    notices: hub(options.notices),
    keys: keys(options.keys),
    once: once(options.once),
    tasks: tasks(options.tasks),
    replay: replay(options.replay),
  };
}
