/**
 * The services of an endpoint, as the parts with objects receive them. Parts import this module and not parts.ts, whose
 * interfaces refer to them.
 *
 * @module
 */
import type { EndpointHooks } from "../core/define/hook-types.ts";
import type { Registry } from "../core/define/registry.ts";
import type { RequestFacts } from "../core/define/server-options.ts";
import type { Principal } from "../core/protocol/client-facts.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import type { Once, RunRounds } from "../core/run/request-context.ts";
import type { KeyRing } from "../core/seal/key-ring.ts";
import type { LegacyTaskBackend } from "../core/tasks/legacy/legacy-task-result.ts";
import type { HttpOptions } from "../http/endpoint-types.ts";
import type { HttpLimits } from "../http/response-times.ts";
import type { PlainRequest, SessionGateway } from "../http/sessions.ts";
import type { ObjectReference } from "./bindings.ts";
import type { Problem } from "./problems.ts";
import type { DurableCalls, DurableCallsHost } from "./replay/durable-calls.ts";
import type { Deliver } from "./sessions/http-sse-session.ts";

/** The services that a part (sessions, hub, tasks) receives when it joins an endpoint. */
export interface ObjectServices extends AddedServices {
  /** Where the objects of the endpoint are. */
  readonly reference: ObjectReference;
  /** The limits of the endpoint and the times of its responses. */
  readonly limits: HttpLimits;
  /** Receives exceptions when the server has no `onError`. */
  readonly onError: ErrorReporter;
  /** Whether the server depends on the request. */
  readonly isPerRequest: boolean;
  /** Whether notifications reach the clients of this endpoint. */
  readonly hasNotifications: boolean;
  /** Serves messages of HTTP+SSE clients; undefined without `httpSse()`. */
  readonly deliver: Deliver | undefined;
  /** Lets calls survive a restart of their object; undefined without `replay()`. */
  readonly replay: ReplayPart | undefined;
  /** The keys of a purpose; undefined if they come from the secret `MCP_KEYS`. */
  readonly keys: KeysOf | undefined;
  /** Adds the methods of tasks to those of a client. Undefined without `tasks()`, and for `tasks()` itself. */
  readonly extend?: HttpOptions["extend"];
  /**
   * Runs calls once.
   *
   * @param session The session that they belong to. Undefined without a session.
   * @param stream The stream of a call that runs again after its object was lost, so that it is not taken for a repetition.
   */
  readonly once: ((env: unknown, session: string | undefined, stream?: number) => Once) | undefined;
  /** Returns the server for a stored request. Without a request, the server function receives an empty one. */
  serverFor(
    request: PlainRequest | undefined,
    env: unknown,
    principal: Principal | undefined,
  ): Registry | Promise<Registry>;
}

/** The services that plugins contribute. Each is undefined if no plugin contributes it. */
export interface AddedServices {
  /** The hooks of the plugins around calls. */
  readonly hooks?: EndpointHooks | undefined;
  /** Returns the scopes that messages of a client require. Contributed by a plugin that authenticates with scopes. */
  readonly scopesOf?: ((messages: readonly JsonObject[]) => readonly string[]) | undefined;
  /** Limits the number of tasks that a principal has. */
  readonly boundTasks?: ((tasks: LegacyTaskBackend, env: unknown) => LegacyTaskBackend) | undefined;
  /** Returns a gateway that notices which sessions are opened and which have ended. */
  readonly watchSessions?: ((gateway: SessionGateway) => SessionGateway) | undefined;
}

/** Returns the key ring for a purpose. If `sealed` was sealed with an unknown key, the keys are requested again. */
export type KeysOf = (env: unknown, purpose: string, sealed?: string) => Promise<KeyRing>;

/** A part that seals values which clients store. */
export interface SealingPart {
  /** Finds missing keys. Called if there is no part for keys. */
  findProblems(env: unknown): Problem[];
}

/** Lets calls survive a restart of their object. Created by `replay()` of `mcp-edge/worker/durable`. */
export interface ReplayPart extends SealingPart {
  readonly slot: "replay";
  /** Runs handlers that ask in the middle of a call. */
  readonly rounds: RunRounds;
  calls(host: DurableCallsHost): DurableCalls;
}

/** Returns a request in the form that functions of the author receive. */
export function toRequestFacts({ url, headers }: PlainRequest): RequestFacts {
  return { url, headers: new Headers(headers as [string, string][]) };
}
