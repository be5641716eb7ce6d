import type { Root } from "../../core/protocol/root.ts";
import type { ExtensionHooks } from "../api/extensions.ts";
import type { ClientOptions } from "../api/options.ts";
import type { EventHook } from "../basics/events.ts";

/** The parts of the client that answering uses. */
export interface AnsweringParts {
  readonly options: ClientOptions;
  /** How long the server may take to accept a response, in milliseconds. */
  readonly timeoutMs: number;
  extensions(): readonly ExtensionHooks[];
  /** The current roots; undefined if the client does not declare roots. */
  roots(): readonly Root[] | undefined;
  readonly report: EventHook;
}
