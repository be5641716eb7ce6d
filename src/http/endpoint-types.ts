/**
 * The options of an HTTP endpoint, and its interface to the sessions that belong to it.
 *
 * @module
 */
import type { Registry } from "../core/define/registry.ts";
import type { McpServer } from "../core/define/server.ts";
import type { RequestFacts } from "../core/define/server-options.ts";
import type { ClientFacts, Principal } from "../core/protocol/client-facts.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import type { Execution } from "../core/protocol/execution.ts";
import type { ParsedMessage } from "../core/protocol/jsonrpc.ts";
import type { NoticeSource } from "../core/protocol/notices.ts";
import type { Method, Once } from "../core/run/call.ts";
import type { RunRounds } from "../core/run/run-rounds.ts";
import type { KeyRing } from "../core/seal/key-ring.ts";
import type { LegacyVerdict } from "./classify.ts";
import type { AcceptedForm } from "./headers.ts";
import type { OriginRules } from "./origin.ts";
import type { HttpLimits } from "./response-times.ts";
import type { PlainRequest, SessionNotices, SessionPlace } from "./sessions.ts";

/**
 * The result of an {@link AuthHook}: the principal that the request acts for; `"anonymous"` to serve it without one;
 * null to refuse it with 401; or a `Response` to send unchanged, such as a custom challenge.
 */
export type AuthResult = Principal | "anonymous" | null | Response;

/**
 * Decides which principal a request acts for, before its body is read. In a Worker `execution` is its
 * `ExecutionContext`. An exception, or a result that is not an {@link AuthResult}, refuses the request with 500 and is
 * reported to `onError`, with the method `(auth)`. An exception is passed on unchanged, so its text may contain the token;
 * the log of a Worker without `onError` has only the place where it was thrown.
 */
export type AuthHook<Env> = Hook<Env>["auth"];

interface Hook<Env> {
  /** A method, so that a hook may declare its parameter as the `ExecutionContext` of a Worker, which has more members. */
  auth(request: Request, env: Env, execution: Execution): AuthResult | Promise<AuthResult>;
}

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

export type MethodTable = Readonly<Record<string, Method>>;

/**
 * Adds methods that a client can call in addition to those of the protocol.
 *
 * @param methods The methods of notices. Undefined if there are none.
 * @param place An object that lives as long as the client's session is in memory. Undefined without a session.
 */
export type ExtendMethods = (
  methods: MethodTable | undefined,
  env: unknown,
  client: ClientFacts,
  place?: object,
) => MethodTable | undefined;

/** The source of the notices of all processes, and the methods that it adds to the modern era. */
export interface HttpNotices {
  source(env: unknown): NoticeSource;
  methods(source: NoticeSource): Readonly<Record<string, Method>>;
}

export interface HttpOptions extends OriginRules {
  readonly limits: HttpLimits;
  /** @default everyone is served anonymously */
  readonly auth?: AuthHook<unknown> | undefined;
  /** Adds to a principal what cannot be stored or sent. */
  readonly equip?: ((principal: Principal | undefined, env: unknown) => void) | undefined;
  /** Legacy sessions. Without them each legacy request is served on its own. */
  readonly sessions?: SessionRoutes | undefined;
  /** Without it the server declares no notices. */
  readonly notices?: HttpNotices | undefined;
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
   * client, and there is no `subscriptions/listen`; notices still go out on the GET stream.
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
 * @param execution Keeps the background work of `auth` and of hooks running. Without it, nothing ends that work.
 */
export type HttpHandler<Env> = (request: Request, env: Env, execution?: Execution) => Promise<Response>;

/** A request that has passed all checks before its body is read. */
export interface Admitted extends SessionPlace {
  readonly request: Request;
  readonly server: Registry;
  readonly execution: Execution;
}

/** The interface of the endpoint for its sessions. */
export interface SessionServices {
  readonly limits: HttpLimits;
  readonly notices: SessionNotices | undefined;
  /** The request as plain data, if the author's code uses it. */
  readonly request: PlainRequest | undefined;
  /** Answers messages that need no handler. */
  serveHere(messages: readonly ParsedMessage[], isBatch: boolean, client: ClientFacts): Response | Promise<Response>;
}

/** The part of an endpoint that serves legacy sessions. Rejects with {@link SessionsUnavailable} if they cannot be used. */
export interface SessionRoutes {
  /** Returns a new session id. */
  create(client: ClientFacts, admitted: Admitted): Promise<string>;
  post(verdict: LegacyVerdict, form: AcceptedForm, admitted: Admitted, services: SessionServices): Promise<Response>;
  get(admitted: Admitted, services: SessionServices): Promise<Response>;
  delete(admitted: Admitted): Promise<Response>;
}
