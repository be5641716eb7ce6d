/**
 * One request being served, as a transport passes it to the core, and the types of functions that serve it.
 *
 * @module
 */
import type { HandlerRequest } from "../define/handler-context.ts";
import type { EndpointHooks } from "../define/hook-types.ts";
import type { Registry } from "../define/registry.ts";
import type { RequestFacts } from "../define/server-options.ts";
import type { ErrorReporter } from "../protocol/error-reports.ts";
import type { Execution, StartTimer } from "../protocol/execution.ts";
import type { JsonObject, JsonText } from "../protocol/jsonrpc.ts";
import type { Limits } from "../protocol/limits.ts";
import type { LoggingLevel } from "../protocol/logging.ts";
import type { RequestName } from "../protocol/methods.ts";
import type { KeyRing } from "../seal/key-ring.ts";
import type { Round, RoundsOutcome } from "./round.ts";

/** One request being served. */
export interface RequestContext extends HandlerRequest {
  /** The definitions and options of the server. */
  readonly registry: Registry;
  /** The HTTP request that contained it, if there is one. */
  readonly http?: RequestFacts | undefined;
  /** Identifies the legacy session in logs and traces. It is not the session id. */
  readonly session?: string | undefined;
  /**
   * The name of the endpoint, to which states and cursors are bound. Absent if there is only one endpoint, as over
   * stdio.
   */
  readonly endpoint?: string | undefined;
  /** Keeps the work of hooks running after the response. Absent where the platform does not end such work. */
  readonly execution?: Execution | undefined;
  readonly limits: Limits;
  /** Methods that the transport adds or replaces. */
  readonly methods?: MethodTable | undefined;
  /** Stores the level of `logging/setLevel`. Absent where it cannot be stored. */
  readonly setLogLevel?: ((level: LoggingLevel) => void | Promise<void>) | undefined;
  /**
   * Returns the keys for `requestState`, including the key of `sealed` if it is available. If absent, the keys are read
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
  /** Runs handlers that ask in the middle of a request. Absent where they can only return questions. */
  readonly replay?: RunRounds | undefined;
  /** The tasks that `subscriptions/listen` reports. Absent where there are none. */
  readonly tasks?: TaskUpdates | undefined;
  /**
   * Stores the URL elicitations of an error, so that the client is notified of their completion. Resolves once they are
   * stored. Absent where notifications do not reach the client.
   */
  readonly awaitElicitations?: ((ids: readonly string[]) => void | Promise<void>) | undefined;
  /** Runs calls once. Absent where outcomes cannot be stored. */
  readonly once?: Once | undefined;
  /** The hooks of the endpoint that serves the request, if it has any. */
  readonly endpointHooks?: EndpointHooks | undefined;
  /** Used if the server has no `onError`. */
  readonly onError: ErrorReporter;
}

/** Serves one request of a method. */
export type Serve = (context: RequestContext) => JsonObject | JsonText | Promise<JsonObject | JsonText>;

/** How a method is served. */
export interface Method {
  readonly serve: Serve;
  /** Whether this server offers the method for this call. @default whether it has the capability of the method */
  readonly isOffered?: (context: RequestContext) => boolean;
  /** Whether the method runs no code of the author. @default false */
  readonly isStatic?: (registry: Registry) => boolean;
}

/** Methods of the protocol, by name. */
export type MethodTable = Readonly<Partial<Record<RequestName, Method>>>;

/** Runs the work unless the same call has run before. Rejects with the error of the first run. */
export interface Once {
  /** Returns the result of the work, or of an earlier run of the same call. */
  (context: RequestContext, work: () => Promise<JsonObject>): Promise<JsonObject>;
  /** Adds the capability that declares it to clients. Absent where clients cannot use it. */
  readonly declare?: (capabilities: JsonObject) => JsonObject;
}

/** The tasks that a listen stream reports. */
export interface TaskUpdates {
  readonly ids: readonly string[];
  /** Reads the status of a task and sends it. */
  notify(taskId: string): void;
}

/** Runs a handler, round by round, until it no longer asks. */
export type RunRounds = (context: RequestContext, run: (round: Round) => Promise<unknown>) => Promise<RoundsOutcome>;
