/**
 * One request being served, as a transport passes it to the core, and the types of functions that serve it.
 *
 * @module
 */
import type { ContextCall } from "../define/handler-context.ts";
import type { EndpointHooks } from "../define/hook-types.ts";
import type { Registry } from "../define/registry.ts";
import type { RequestFacts } from "../define/server-options.ts";
import type { ErrorReporter } from "../protocol/error-reports.ts";
import type { Execution, StartTimer } from "../protocol/execution.ts";
import type { JsonObject, JsonText } from "../protocol/jsonrpc.ts";
import type { Limits } from "../protocol/limits.ts";
import type { LoggingLevel } from "../protocol/logging.ts";
import type { MethodName } from "../protocol/methods.ts";
import type { KeyRing } from "../seal/key-ring.ts";
import type { Round, RoundsOutcome } from "./round.ts";

/** One request being served. */
export interface RequestContext extends ContextCall {
  /** The definitions and options of the server. */
  readonly registry: Registry;
  /** The HTTP request that carried it, if there is one. */
  readonly http?: RequestFacts | undefined;
  /** The name of the endpoint, to which states and cursors are bound. Absent where there is only one, as over stdio. */
  readonly endpoint?: string | undefined;
  /** Keeps the work of hooks running after the answer. Absent where the platform does not end such work. */
  readonly execution?: Execution | undefined;
  readonly limits: Limits;
  /** Methods that the transport adds to the standard ones. */
  readonly methods?: MethodTable | undefined;
  /** Stores the level of `logging/setLevel`. Absent where it cannot be stored. */
  readonly setLogLevel?: ((level: LoggingLevel) => void | Promise<void>) | undefined;
  /**
   * Returns the keys for `requestState`, including the key of `sealed` if it is available. If absent, the keys come
   * from `env`.
   */
  readonly stateKeys?: ((sealed?: string) => Promise<KeyRing>) | undefined;
  /** The journal of earlier runs of this call, if the object that ran them was lost. Legacy only. */
  readonly journal?: unknown;
  /** Stores an entry of the journal, in case the object is lost. Resolves when the entry is durable. */
  readonly record?: ((entry: unknown) => void | Promise<void>) | undefined;
  /** The timer of the handler's time limit. If absent, the runtime's timer is used. */
  readonly startTimer?: StartTimer | undefined;
  /** Runs the handler as a task. */
  readonly rounds?: RunRounds | undefined;
  /** Runs handlers that ask in the middle. Absent where they can only ask by returning. */
  readonly replay?: RunRounds | undefined;
  /** The tasks that `subscriptions/listen` reports. Absent where there are none. */
  readonly tasks?: TaskUpdates | undefined;
  /**
   * Remembers the URL elicitations of an error, so that the client is notified of their completion. Resolves once this
   * is ensured. Absent where no notification reaches the client.
   */
  readonly awaitElicitations?: ((ids: readonly string[]) => void | Promise<void>) | undefined;
  /** Runs calls once. Absent where outcomes cannot be stored. */
  readonly once?: Once | undefined;
  /** The hooks of the endpoint that serves the request, if it has any. */
  readonly endpointHooks?: EndpointHooks | undefined;
  /** Used when the server has no `onError` of its own. */
  readonly onError: ErrorReporter;
}

/** Serves one request of a method. */
export type Serve = (call: RequestContext) => JsonObject | JsonText | Promise<JsonObject | JsonText>;

/** One method of an era. */
export interface Method {
  readonly serve: Serve;
  /** Whether this server offers the method for this call. @default always */
  readonly isOffered?: (call: RequestContext) => boolean;
  /** Whether the method runs no code of the author. @default false */
  readonly isStatic?: (registry: Registry) => boolean;
}

/** Methods of the protocol, by name. */
export type MethodTable = Readonly<Partial<Record<MethodName, Method>>>;

/** Runs the work unless the same call has run before. Throws the error of the one run. */
export interface Once {
  /** Returns the result of the work, or the one of an earlier run of the same call. */
  (call: RequestContext, work: () => Promise<JsonObject>): Promise<JsonObject>;
  /** Adds the capability by which clients learn of it. Absent where they have no use for it. */
  readonly declare?: (capabilities: JsonObject) => JsonObject;
}

/** The tasks that a listen stream reports, in addition to notifications. */
export interface TaskUpdates {
  readonly ids: readonly string[];
  /** Reads the status of a task and sends it. */
  tell(taskId: string): void;
}

/** Runs a handler, round by round, until it no longer asks. */
export type RunRounds = (call: RequestContext, run: (round: Round) => Promise<unknown>) => Promise<RoundsOutcome>;
