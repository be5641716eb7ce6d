/**
 * Everything that an endpoint can keep in Durable Objects, as one plugin.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import type { ObjectsOptions } from "../bindings.ts";
import { type HttpSseOptions, httpSse } from "../http-sse/index.ts";
import { type HubOptions, hub } from "../hub/index.ts";
import { type KeysOptions, keys } from "../keys/index.ts";
import { OBJECTS, type WithMcpObject } from "../object.ts";
import { type OnceOptions, once } from "../once/index.ts";
import type { AnyPart, DurablePart, Part } from "../parts.ts";
import { type ReplayOptions, replay } from "../replay/index.ts";
import { type SessionsOptions, sessions } from "../sessions/index.ts";
import { type TasksOptions, tasks } from "../tasks/index.ts";

/** Options of the parts, and where their objects are. */
export interface DurableOptions<Env, Classes = unknown> extends ObjectsOptions {
  /** Options of `sessions()`. */
  readonly sessions?: SessionsOptions<Env>;
  /** Options of `httpSse()`. */
  readonly httpSse?: HttpSseOptions;
  /** Options of `hub()`. */
  readonly hub?: HubOptions;
  /** Options of `keys()`. */
  readonly keys?: KeysOptions;
  /** Options of `once()`. */
  readonly once?: OnceOptions;
  /** Options of `tasks()`. */
  readonly tasks?: TasksOptions<Classes>;
  /** Options of `replay()`. */
  readonly replay?: ReplayOptions;
}

const OPTIONS: OptionTable<DurableOptions<never>> = {
  sessions: null,
  httpSse: null,
  hub: null,
  keys: null,
  once: null,
  tasks: null,
  replay: null,
  className: null,
  binding: null,
  jurisdiction: null,
  locationHint: null,
};

/**
 * Gives an endpoint every part that uses Durable Objects: legacy sessions, the HTTP+SSE transport at the same URL,
 * notifications to every client, sealing keys, calls that run once, tasks, and handlers that ask in the middle of a call.
 * Unused parts cost nothing but the size of the script; to leave one out, import the others one by one.
 *
 * @example
 * ```ts
 * const app = edge(server, { use: [durable()] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @param options The options of the parts, each under its name, and the location of the objects.
 * @throws {KitError} `options-invalid` naming the option, its value and its range.
 */
export function durable<Env, Classes = unknown>(
  options: DurableOptions<Env, Classes> = {},
): Part<Env, WithMcpObject<Env> & Classes> {
  checkOptions("durable(): ", options, OPTIONS);
  const part: DurablePart<Env, Classes> = {
    slot: "durable",
    objects: OBJECTS,
    parts: [
      // The options of objects() are among those of durable().
      { ...options, slot: "objects" },
      sessions(options.sessions),
      httpSse(options.httpSse),
      hub(options.hub),
      keys(options.keys),
      once(options.once),
      tasks(options.tasks),
      replay(options.replay),
    ] as readonly AnyPart<Env>[],
  };
  return part;
}
