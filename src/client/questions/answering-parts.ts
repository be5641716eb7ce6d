import type { ExtensionHooks } from "../api/extensions.ts";
import type { ClientOptions } from "../api/options.ts";
import type { Root } from "../api/questions.ts";
import type { EventHook } from "../basics/events.ts";

export interface AnsweringParts {
  readonly options: ClientOptions;
  /** The time, in milliseconds, in which the server has to accept an answer. */
  readonly timeoutMs: number;
  extensions(): readonly ExtensionHooks[];
  /** The current roots; undefined if the client has no roots. */
  roots(): readonly Root[] | undefined;
  readonly report: EventHook;
}
