/**
 * One request being served, as a transport hands it to the core, and the functions that serve it.
 *
 * @module
 */
import type { ContextCall } from "../define/handler-context.ts";
import type { Registry } from "../define/registry.ts";
import type { RequestFacts } from "../define/server-options.ts";
import type { ErrorReporter } from "../protocol/error-reports.ts";
import type { Execution, StartTimer } from "../protocol/execution.ts";
import type { JSONRPCRequest, JsonObject, JsonText } from "../protocol/jsonrpc.ts";
import type { Limits } from "../protocol/limits.ts";
import type { LoggingLevel } from "../protocol/logging.ts";
import type { KeyRing } from "../seal/key-ring.ts";
import type { RunRounds } from "./run-rounds.ts";

/** One request being served. */
export interface Call extends ContextCall {
  /** The HTTP request, where there is one. */
  readonly request?: RequestFacts | undefined;
  /** Name of the endpoint that what is issued belongs to; absent where there is only one, as over stdio. */
  readonly endpoint?: string | undefined;
  /** Keeps work of hooks running; absent where nothing ends it. */
  readonly execution?: Execution | undefined;
  readonly limits: Limits;
  /** Methods this way of serving adds to the protocol's own tables. */
  readonly methods?: Readonly<Record<string, Method>> | undefined;
  /** Keeps the level of `logging/setLevel`; absent where nothing can keep it. */
  readonly setLogLevel?: ((level: LoggingLevel) => void | Promise<void>) | undefined;
  /** Keys for `requestState`, with that of a sealed one if it can be had; absent: they come from `env`. */
  readonly stateKeys?: ((sealed?: string) => Promise<KeyRing>) | undefined;
  /** The journal of earlier runs of this call, where the object that ran them was lost; legacy. */
  readonly journal?: unknown;
  /** Keeps an entry of the journal, for when the object is lost. Resolves when the entry cannot be lost. */
  readonly record?: ((entry: unknown) => void | Promise<void>) | undefined;
  /** The timer of the handler's time limit; absent: a timer of the runtime. */
  readonly startTimer?: StartTimer | undefined;
  /** Runs the handler as a task. */
  readonly rounds?: RunRounds | undefined;
  /** Runs handlers that ask in the middle; absent where they can only ask by returning. */
  readonly replay?: RunRounds | undefined;
  /** The tasks that `subscriptions/listen` reports; absent where there are none. */
  readonly tasks?: TaskUpdates | undefined;
  /**
   * Remembers URL elicitations of an error, so that the client hears when they are complete. Resolves once it will.
   * Absent where no notice reaches the client.
   */
  readonly awaitElicitations?: ((ids: readonly string[]) => void | Promise<void>) | undefined;
  /** Runs calls once that are to; absent where nothing can remember them. */
  readonly once?: Once | undefined;
  /** Used when the server has no `onError` of its own. */
  readonly onError: ErrorReporter;
}

/** Serves one request of a method. */
export type Serve = (
  server: Registry,
  request: JSONRPCRequest,
  call: Call,
) => JsonObject | JsonText | Promise<JsonObject | JsonText>;

/** One method of an era. */
export interface Method {
  readonly serve: Serve;
  /** Whether this server has it for this call. @default always */
  readonly isOffered?: (server: Registry, call: Call) => boolean;
  /** Whether it runs no author code. @default false */
  readonly isStatic?: (server: Registry) => boolean;
}

/** Runs the work unless it was run before. Throws what the work throws, or threw. */
export type Once = (
  server: Registry,
  request: JSONRPCRequest,
  call: Call,
  work: () => Promise<JsonObject>,
) => Promise<JsonObject>;

/** Tasks that a listen stream reports, beside the notices it was asked for. */
export interface TaskUpdates {
  readonly ids: readonly string[];
  /** Sends the status of a task, once it is read. */
  tell(taskId: string): void;
}
