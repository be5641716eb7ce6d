/**
 * The services of an endpoint that parts with Durable Objects receive. Parts import this module instead of parts.ts,
 * because the interfaces in parts.ts refer to the parts.
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

/** The services that a part (sessions, hub, tasks) receives when it is attached to an endpoint. */
export interface ObjectServices extends AddedServices {
  /** The location of the endpoint's objects. */
  readonly reference: ObjectReference;
  /** The limits of the endpoint, including the times of its responses. */
  readonly limits: HttpLimits;
  /** Receives exceptions if the server does not have `onError`. */
  readonly onError: ErrorReporter;
  /** Whether the server is created for each request by a server function. */
  readonly isPerRequest: boolean;
  /** Whether notifications are delivered to the clients of this endpoint. */
  readonly hasNotifications: boolean;
  /** Serves messages of HTTP+SSE clients. Undefined without `httpSse()`. */
  readonly deliver: Deliver | undefined;
  /** Lets calls survive a restart of their object. Undefined without `replay()`. */
  readonly replay: ReplayPart | undefined;
  /** Returns the keys for a purpose. Undefined if the keys come from the secret `MCP_KEYS`. */
  readonly keys: KeysOf | undefined;
  /** Adds the methods of tasks to a client's methods. Undefined without `tasks()`, and for `tasks()` itself. */
  readonly extend?: HttpOptions["extend"];
  /**
   * Returns the function that runs each call only once. Undefined without `once()`.
   *
   * @param session The session of the calls. Undefined without a session.
   * @param stream The stream of a durable call, so that its rerun after a reset does not count as a repeated call.
   */
  readonly once: ((env: unknown, session: string | undefined, stream?: number) => Once) | undefined;
  /** Returns the server for a stored request. Without a request, the server function receives an empty request. */
  serverFor(
    request: PlainRequest | undefined,
    env: unknown,
    principal: Principal | undefined,
  ): Registry | Promise<Registry>;
}

/** The services that plugins contribute. A service is undefined if no plugin contributes it. */
export interface AddedServices {
  /** The hooks that plugins run around calls. */
  readonly hooks?: EndpointHooks | undefined;
  /** Returns the scopes that the messages of a client require. Contributed by plugins that authenticate with scopes. */
  readonly scopesOf?: ((messages: readonly JsonObject[]) => readonly string[]) | undefined;
  /** Wraps a task backend to limit the number of tasks per principal. */
  readonly boundTasks?: ((tasks: LegacyTaskBackend, env: unknown) => LegacyTaskBackend) | undefined;
  /** Wraps a session gateway to observe which sessions are opened and which have ended. */
  readonly watchSessions?: ((gateway: SessionGateway) => SessionGateway) | undefined;
}

/** Returns the key ring for a purpose. If `sealed` was sealed with an unknown key, the keys are loaded again. */
export type KeysOf = (env: unknown, purpose: string, sealed?: string) => Promise<KeyRing>;

/** A part that seals values for clients to store. */
export interface SealingPart {
  /** Finds missing keys. Called if the endpoint does not have `keys()`. */
  findProblems(env: unknown): Problem[];
}

/** Lets calls survive a restart of their object. Created by `replay()` of `mcp-edge/worker/durable`. */
export interface ReplayPart extends SealingPart {
  readonly slot: "replay";
  /** Runs handlers that ask in the middle of a call. */
  readonly rounds: RunRounds;
  calls(host: DurableCallsHost): DurableCalls;
}

/** Converts a stored request to the form that the author's functions receive. */
export function toRequestFacts({ url, headers }: PlainRequest): RequestFacts {
  return { url, headers: new Headers(headers as [string, string][]) };
}
