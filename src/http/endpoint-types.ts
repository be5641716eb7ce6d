/**
 * The options of an HTTP endpoint, and its interface to the sessions that belong to it.
 *
 * @module
 */
import type { EndpointHooks } from "../core/define/hook-types.ts";
import type { Registry } from "../core/define/registry.ts";
import type { McpServer } from "../core/define/server.ts";
import type { RequestFacts } from "../core/define/server-options.ts";
import type { ChangeSource } from "../core/protocol/change-notifications.ts";
import type { ClientFacts, Principal } from "../core/protocol/client-facts.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import type { Execution } from "../core/protocol/execution.ts";
import type { ParsedMessage, RequestId } from "../core/protocol/jsonrpc.ts";
import type { RequestDescription } from "../core/protocol/request-description.ts";
import type { Era } from "../core/protocol/versions.ts";
import type { MethodTable, Once, RunRounds } from "../core/run/request-context.ts";
import type { KeyRing } from "../core/seal/key-ring.ts";
import type { Contents, LegacyVerdict } from "./classify.ts";
import type { AcceptedForm } from "./headers.ts";
import type { OriginRules } from "./origin.ts";
import type { Refusal, Refused, Reply } from "./refusal.ts";
import type { HttpLimits } from "./response-times.ts";
import type { SessionContext } from "./sessions.ts";

/**
 * The result of an {@link AuthHook}: the principal that the request acts for; `"anonymous"` to serve the request
 * without a principal; null to refuse it with 401; or a `Response` to send unchanged, such as a custom challenge.
 */
export type AuthResult = Principal | "anonymous" | null | Reply;

/**
 * Decides which principal a request acts for, before its body is read. In a Worker `execution` is its
 * `ExecutionContext`. An exception, or a result that is not an {@link AuthResult}, refuses the request with 500 and is
 * reported to `onError`, with the method `(auth)`. The exception is passed on unchanged, so its message may contain the
 * token; without `onError`, the log of the Worker contains only its stack.
 */
export type AuthHook<Env> = {
  // A method, so that a hook may declare its parameter as the `ExecutionContext` of a Worker, which has more members.
  auth(request: Request, env: Env, execution: Execution): AuthResult | Promise<AuthResult>;
}["auth"];

/** A server for all requests, or a function that returns the server of each request, by route, header or user. */
export type ServerSource<Env> = McpServer<Env> | ServerFactory<Env>;

/**
 * Returns the server for a request. Called for every request, so cache servers and return the same object if possible.
 */
export type ServerFactory<Env> = (
  request: RequestFacts,
  env: Env,
  principal: Principal | undefined,
) => McpServer<Env> | Promise<McpServer<Env>>;

/** The compiled server, or a function that returns it for each request. The type of its `env` is erased. */
export type RegistrySource =
  | Registry
  | ((request: RequestFacts, env: unknown, principal: Principal | undefined) => Promise<Registry>);

/**
 * Adds methods that a client can call in addition to the methods of the protocol.
 *
 * @param methods The methods of notifications. Undefined if there are none.
 * @param owner An object that lives as long as the client's session is in memory. Undefined without a session.
 */
export type ExtendMethods = (
  methods: MethodTable | undefined,
  env: unknown,
  client: ClientFacts,
  owner?: object,
) => MethodTable | undefined;

/** The notifications of all processes, and the modern methods that deliver them. */
export interface HttpNotifications {
  source(env: unknown): ChangeSource;
  methods(source: ChangeSource): MethodTable;
}

/** A request that has been authenticated, and whose messages have been read. */
export interface ReceivedRequest<Env = unknown> {
  /** The HTTP request. Do not read its body: the endpoint has read it, or will not. */
  readonly request: Request;
  /** The bindings of the Worker. */
  readonly env: Env;
  /** Keeps background work running: `waitUntil`. */
  readonly execution: Execution;
  /** The principal that the request acts for; undefined if it is anonymous. */
  readonly principal: Principal | undefined;
  /** The name of the endpoint. */
  readonly endpoint: string;
  /** The messages of the body, in their order. Empty if the request has none, or a body that cannot be read. */
  readonly messages: readonly ParsedMessage[];
}

/**
 * Decides whether the caller may send these messages. It runs after all messages have been read, and before any of them
 * is served. A returned refusal refuses the request. An exception refuses it with 500, and is reported to `onError`
 * with the method `(authorize)`.
 */
export type Authorize = (received: ReceivedRequest) => Refusal | undefined | Promise<Refusal | undefined>;

/** A request that was refused, and why. */
export interface RefusedRequest<Env = unknown> {
  /** The HTTP request. Do not read its body: the endpoint has read it, or will not. */
  readonly request: Request;
  /** The bindings of the Worker. */
  readonly env: Env;
  /** Keeps background work running: `waitUntil`. */
  readonly execution: Execution;
  /** The principal that the request acts for; undefined if it is anonymous, or was refused before it was known. */
  readonly principal: Principal | undefined;
  /** The OAuth client that the request names, if no principal is known. */
  readonly clientId?: string | undefined;
  /** The reason, such as `unauthorized`, `session-unknown` or `too-many`. */
  readonly reason: string;
  /** The HTTP status of the response. */
  readonly status: number;
  /** The code of the JSON-RPC error. Undefined for a `Response` that an {@link AuthHook} returned. */
  readonly errorCode: number | undefined;
  /** When the request arrived, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The era of its messages, or of the version that its header names. Undefined if neither shows it. */
  readonly era?: Era | undefined;
  /** The protocol version that the request names. The endpoint might not serve it. */
  readonly protocolVersion?: string | undefined;
  /** The session that a legacy request names, whether it exists or not. Treat it as a secret of the client. */
  readonly sessionId?: string | undefined;
  /**
   * The requests and notifications of the body, in their order. Empty if the body was not read, is not valid, or has
   * too many messages.
   */
  readonly messages?: readonly RefusedMessage[];
}

/** A request or notification of a refused HTTP request, with the values that the client sent. */
export interface RefusedMessage extends Pick<RequestDescription, "method" | "tool" | "prompt" | "uri"> {
  /** The id of a request. Absent for a notification. */
  readonly requestId?: RequestId;
}

/** A request, with everything that has been found out about it so far. */
export interface Arrived extends SessionContext {
  readonly request: Request;
  readonly execution: Execution;
  readonly startedAtMs: number;
  /** Undefined until the caller is authenticated, and for an anonymous caller. */
  principal: Principal | undefined;
  /** Undefined until the body has been read and classified. */
  contents?: Contents;
  /** The session that the client names elsewhere than in the header `Mcp-Session-Id`. */
  sessionId?: string;
}

/** The stages of a request that only plugins need. */
export interface Stages {
  /**
   * Returns the refusal if the caller is not allowed to send the messages of the request, or undefined if every plugin
   * admits them.
   */
  authorize(admitted: Admitted): Promise<Refused | undefined>;
  /** Reports a refused request, or the response with which a custom hook refuses one. Never throws. */
  refused(reply: Reply, arrived: Arrived): void;
}

export interface HttpOptions extends OriginRules {
  readonly limits: HttpLimits;
  /** Authenticates callers. @default every caller is served anonymously */
  readonly auth?: AuthHook<unknown> | undefined;
  /** The stages that plugins need. */
  readonly stages?: ((report: (error: unknown, method: string) => string) => Stages) | undefined;
  /** The hooks of the endpoint around calls, in addition to the hooks of the server. */
  readonly endpointHooks?: EndpointHooks | undefined;
  /** Adds members to a principal that cannot be stored or sent, such as functions. */
  readonly equip?: ((principal: Principal | undefined, env: unknown) => void) | undefined;
  /** Legacy sessions. Without them, each legacy request is served by itself. */
  readonly sessions?: SessionRoutes | undefined;
  /** Without it the server declares no notifications. */
  readonly notifications?: HttpNotifications | undefined;
  /** Keys for `requestState`. @default the keys in `MCP_KEYS` of env */
  readonly stateKeys?: ((env: unknown, sealed: string | undefined) => Promise<KeyRing>) | undefined;
  /** Runs calls with an idempotency key once. */
  readonly once?: ((env: unknown) => Once) | undefined;
  /** Runs handlers that ask in the middle of a call. Without it they can only ask by returning `inputRequired()`. */
  readonly replay?: RunRounds | undefined;
  /** Adds or replaces the methods of a client. */
  readonly extend?: ExtendMethods | undefined;
  /**
   * JSON mode: the response to every POST is one JSON object. Progress and logs are dropped, legacy handlers cannot ask
   * the client, and there is no `subscriptions/listen`. Notifications are still sent on the GET stream.
   *
   * @default false
   */
  readonly jsonOnly?: boolean | undefined;
  /** Returns the refusal of a request of an allowed host. If it returns undefined, the endpoint serves the request. */
  readonly guard?: ((env: unknown, request: Request) => Refused | undefined) | undefined;
  /**
   * The name of the endpoint. Session ids, request states, tasks and list cursors of one endpoint are refused at any
   * other, and keys of calls that run once apply to one endpoint only.
   *
   * @default the path of the request's URL
   */
  readonly endpoint?: string | undefined;
  /** Called with exceptions if the server has no `onError`. */
  readonly onError: ErrorReporter;
}

/**
 * Returns the response to one HTTP request. Never rejects, whatever the client sends.
 *
 * @param execution Keeps the background work of hooks running. Not needed on platforms that never end background work.
 */
export type HttpHandler<Env> = (request: Request, env: Env, execution?: Execution) => Promise<Response>;

/** A request that has passed all checks before its body is read. */
export interface Admitted extends Arrived {
  readonly registry: Registry;
}

/** The properties in which the paths of an endpoint differ. */
export interface Route {
  /** The methods served, in the form of the Allow header. */
  readonly allow: string;
  /** The path of the endpoint. @default the path of the request's URL */
  readonly path?: string | undefined;
  /** Returns the response to a request that has been admitted. */
  readonly respond: (admitted: Admitted) => Reply | Promise<Reply>;
}

/** The messages of one legacy POST, and the form of the response. */
export interface LegacyPost {
  readonly messages: readonly ParsedMessage[];
  readonly isBatch: boolean;
  readonly client: ClientFacts;
  readonly form: AcceptedForm;
}

/** A POST that names a session. */
export interface SessionCall {
  readonly verdict: LegacyVerdict;
  readonly form: AcceptedForm;
  readonly admitted: Admitted;
  readonly endpoint: SessionEndpoint;
}

/** The endpoint as its sessions see it. */
export interface SessionEndpoint {
  readonly source: RegistrySource;
  readonly options: HttpOptions;
  readonly stages: Stages | undefined;
  /** Returns the response to messages that need no handler. */
  serveHere(post: LegacyPost, admitted: Admitted): Response | Promise<Response>;
}

/**
 * The part of an endpoint that serves legacy sessions. Rejects with {@link SessionsUnavailable} if they cannot be used.
 */
export interface SessionRoutes {
  /** Returns a new session id. */
  create(client: ClientFacts, admitted: Admitted): Promise<string>;
  post(call: SessionCall): Promise<Reply>;
  get(admitted: Admitted, endpoint: SessionEndpoint): Promise<Reply>;
  delete(admitted: Admitted): Promise<Reply>;
}
