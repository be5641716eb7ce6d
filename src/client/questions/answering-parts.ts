import type { Root } from "../../core/protocol/root.ts";
import type { EventHook } from "../events.ts";
import type { ExtensionHooks } from "../extensions.ts";
import type { ClientOptions } from "../options.ts";

export interface AnsweringParts {
  readonly options: ClientOptions;
  /** The time, in milliseconds, in which the server has to accept an answer. */
  readonly timeoutMs: number;
  extensions(): readonly ExtensionHooks[];
  /** The current roots; undefined if the client has no roots. */
  roots(): readonly Root[] | undefined;
  readonly report: EventHook;
}
