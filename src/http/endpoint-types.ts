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
import type { ParsedMessage } from "../core/protocol/jsonrpc.ts";
import type { MethodTable, Once, RunRounds } from "../core/run/request-context.ts";
import type { KeyRing } from "../core/seal/key-ring.ts";
import type { BodyResult } from "./body.ts";
import type { LegacyVerdict, Verdict } from "./classify.ts";
import type { AcceptedForm } from "./headers.ts";
import type { OriginRules } from "./origin.ts";
import type { Refusal, Refused, Reply } from "./refusal.ts";
import type { HttpLimits } from "./response-times.ts";
import type { PlainRequest, SessionNotifications, SessionPlace } from "./sessions.ts";

/**
 * The result of an {@link AuthHook}: the principal that the request acts for; `"anonymous"` to serve it without one;
 * null to refuse it with 401; or a `Response` to send unchanged, such as a custom challenge.
 */
export type AuthResult = Principal | "anonymous" | null | Reply;

/**
 * Decides which principal a request acts for, before its body is read. In a Worker `execution` is its
 * `ExecutionContext`. An exception, or a result that is not an {@link AuthResult}, refuses the request with 500 and is
 * reported to `onError`, with the method `(auth)`. An exception is passed on unchanged, so its text may contain the token;
 * the log of a Worker without `onError` has only the place where it was thrown.
 */
export type AuthHook<Env> = {
  // A method, so that a hook may declare its parameter as the `ExecutionContext` of a Worker, which has more members.
  auth(request: Request, env: Env, execution: Execution): AuthResult | Promise<AuthResult>;
}["auth"];

/** One server for all requests, or a function that gives each request its own: by route, header or user. */
export type ServerSource<Env> = McpServer<Env> | ServerFactory<Env>;

/** Returns the server for a request. It is called for every request, so cache servers and return the same object if possible. */
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
 * Adds methods that a client can call in addition to those of the protocol.
 *
 * @param methods The methods of notifications. Undefined if there are none.
 * @param place An object that lives as long as the client's session is in memory. Undefined without a session.
 */
export type ExtendMethods = (
  methods: MethodTable | undefined,
  env: unknown,
  client: ClientFacts,
  place?: object,
) => MethodTable | undefined;

/** The source of the notifications of all processes, and the methods that it adds to the modern era. */
export interface HttpNotifications {
  source(env: unknown): ChangeSource;
  methods(source: ChangeSource): MethodTable;
}

/** A request whose caller is known, and whose messages have been read. */
export interface ReceivedRequest<Env = unknown> {
  /** The HTTP request. Its body was read by the endpoint, or is not to be read. */
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
 * is served. A returned refusal is the answer. An exception refuses the request with 500, and is reported to `onError`
 * with the method `(authorize)`.
 */
export type Authorize = (received: ReceivedRequest) => Refusal | undefined | Promise<Refusal | undefined>;

/** A request that was refused, and why. */
export interface RefusedRequest<Env = unknown> {
  /** The HTTP request. Its body was read by the endpoint, or is not to be read. */
  readonly request: Request;
  /** The bindings of the Worker. */
  readonly env: Env;
  /** Keeps background work running: `waitUntil`. */
  readonly execution: Execution;
  /** The principal that the request acts for; undefined if it is anonymous, or was refused before it was known. */
  readonly principal: Principal | undefined;
  /** The OAuth client that the request names, where no principal is known. */
  readonly clientId?: string | undefined;
  /** The reason, such as `unauthorized`, `session-unknown` or `too-many`. */
  readonly reason: string;
  /** The HTTP status of the answer. */
  readonly status: number;
  /** The code of the JSON-RPC error. Undefined for a `Response` that an {@link AuthHook} returned. */
  readonly errorCode: number | undefined;
  /** When the request arrived, in milliseconds since 1970. */
  readonly startedAtMs: number;
}

/** What is known of a request when it arrives. `principal` is added once it is known. */
export interface Arrived {
  readonly request: Request;
  readonly env: unknown;
  readonly execution: Execution;
  readonly startedAtMs: number;
  principal?: Principal | undefined;
}

/** The stages of a request that only plugins need. */
export interface Stages {
  /** Returns the refusal if the caller may not send these messages, or undefined if every plugin admits them. */
  authorize(admitted: Admitted, messages: readonly ParsedMessage[]): Promise<Refused | undefined>;
  /** Does the same for a POST that was classified. */
  authorizePost(admitted: Admitted, verdict: Verdict, body: BodyResult): Promise<Refused | undefined>;
  /** Reports a refused request, or the response with which a custom hook refuses one. Never throws. */
  refused(reply: Reply, arrived: Arrived): void;
}

export interface HttpOptions extends OriginRules {
  readonly limits: HttpLimits;
  /** @default everyone is served anonymously */
  readonly auth?: AuthHook<unknown> | undefined;
  /** The stages that plugins need. */
  readonly stages?: ((report: (error: unknown, method: string) => string) => Stages) | undefined;
  /** The hooks of the endpoint around calls, in addition to those of the server. */
  readonly endpointHooks?: EndpointHooks | undefined;
  /** Adds to a principal what cannot be stored or sent. */
  readonly equip?: ((principal: Principal | undefined, env: unknown) => void) | undefined;
  /** Legacy sessions. Without them each legacy request is served on its own. */
  readonly sessions?: SessionRoutes | undefined;
  /** Without it the server declares no notifications. */
  readonly notifications?: HttpNotifications | undefined;
  /** Keys for `requestState`. @default those of `MCP_KEYS` in env */
  readonly stateKeys?: ((env: unknown, sealed: string | undefined) => Promise<KeyRing>) | undefined;
  /** Runs calls once that have an idempotency key. */
  readonly once?: ((env: unknown) => Once) | undefined;
  /** Runs handlers that ask in the middle of a call. Without it they can only ask by returning `inputRequired()`. */
  readonly replay?: RunRounds | undefined;
  /** Adds or replaces methods for a client. */
  readonly extend?: ExtendMethods | undefined;
  /**
   * JSON mode: every POST is answered by one JSON object. Progress and logs are dropped, legacy handlers cannot ask the
   * client, and there is no `subscriptions/listen`; notifications still go out on the GET stream.
   *
   * @default false
   */
  readonly jsonOnly?: boolean | undefined;
  /** Answers a request of an allowed host in place of the endpoint. If it returns undefined, the endpoint serves it. */
  readonly guard?: ((env: unknown, request: Request) => Response | undefined) | undefined;
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
 * Answers one HTTP request. Never rejects, whatever the client sends.
 *
 * @param execution Keeps the background work of hooks running. Without it, nothing ends that work.
 */
export type HttpHandler<Env> = (request: Request, env: Env, execution?: Execution) => Promise<Response>;

/** A request that has passed all checks before its body is read. */
export interface Admitted extends SessionPlace {
  readonly request: Request;
  readonly registry: Registry;
  readonly execution: Execution;
}

/** The interface of the endpoint for its sessions. */
export interface SessionServices {
  readonly limits: HttpLimits;
  readonly notifications: SessionNotifications | undefined;
  /** The request as plain data, if the author's code uses it. */
  readonly request: PlainRequest | undefined;
  /** Returns the refusal if the caller may not send these messages. */
  authorize(messages: readonly ParsedMessage[]): Promise<Refused | undefined>;
  /** Answers messages that need no handler. */
  serveHere(messages: readonly ParsedMessage[], isBatch: boolean, client: ClientFacts): Response | Promise<Response>;
}

/** The part of an endpoint that serves legacy sessions. Rejects with {@link SessionsUnavailable} if they cannot be used. */
export interface SessionRoutes {
  /** Returns a new session id. */
  create(client: ClientFacts, admitted: Admitted): Promise<string>;
  post(verdict: LegacyVerdict, form: AcceptedForm, admitted: Admitted, services: SessionServices): Promise<Reply>;
  get(admitted: Admitted, services: SessionServices): Promise<Reply>;
  delete(admitted: Admitted): Promise<Reply>;
}
