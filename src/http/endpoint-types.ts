/**
 * The options of an HTTP endpoint, and what it gives to the sessions that belong to it.
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
import type { Limits } from "../core/protocol/limits.ts";
import type { NoticeSource } from "../core/protocol/notices.ts";
import type { Method, Once } from "../core/run/call.ts";
import type { RunRounds } from "../core/run/run-handler.ts";
import type { KeyRing } from "../core/seal/key-ring.ts";
import type { LegacyVerdict } from "./classify.ts";
import type { AcceptedForm } from "./headers.ts";
import type { OriginRules } from "./origin.ts";
import type { PlainRequest, SessionNotices, SessionPlace } from "./sessions.ts";

/**
 * The result of an {@link AuthHook}: the principal that the request acts for; `"anonymous"` to serve it without one;
 * null to refuse it with 401; or a `Response` to send as it is, such as a challenge of your own.
 */
export type AuthResult = Principal | "anonymous" | null | Response;

/**
 * Decides who a request acts for, before its body is read. In a Worker `execution` is its `ExecutionContext`. An
 * exception, or a result that is not an {@link AuthResult}, refuses the request with 500 and is reported to `onError`.
 */
export type AuthHook<Env> = Hook<Env>["auth"];

interface Hook<Env> {
  /** As a method, so that a hook may say that it takes the `ExecutionContext` of a Worker, which has more members. */
  auth(request: Request, env: Env, execution: Execution): AuthResult | Promise<AuthResult>;
}

/** One server for all requests, or a function that gives each request its own: by route, header or user. */
export type ServerSource<Env> = McpServer<Env> | ServerFactory<Env>;

/** Gives the server of a request. Called for each, so keep what is dear to make; return the same object where you can. */
export type ServerFactory<Env> = (
  request: RequestFacts,
  env: Env,
  principal: Principal | undefined,
) => McpServer<Env> | Promise<McpServer<Env>>;

export type MethodTable = Readonly<Record<string, Method>>;

/**
 * Adds methods to those a client has beside the protocol's own.
 *
 * @param methods Those of notices; undefined: there are none.
 * @param place What lives as long as the client's session does in its object; undefined: there is none.
 */
export type ExtendMethods<Env> = (
  methods: MethodTable | undefined,
  env: Env,
  client: ClientFacts,
  place?: object,
) => MethodTable | undefined;

/** What joins the notices of all processes, and the methods it adds to the modern era. */
export interface HttpNotices<Env> {
  source(env: Env): NoticeSource;
  methods(source: NoticeSource): Readonly<Record<string, Method>>;
}

export interface HttpOptions<Env> extends OriginRules {
  readonly limits?: Partial<Limits>;
  /** @default everyone is served anonymously */
  readonly auth?: AuthHook<Env> | undefined;
  /** Legacy sessions; without them legacy requests each stand alone. */
  readonly sessions?: SessionRoutes<Env> | undefined;
  /** Without it no notice is promised to anyone. */
  readonly notices?: HttpNotices<Env> | undefined;
  /** Keys for `requestState`. @default those of `MCP_KEYS` in env */
  readonly stateKeys?: ((env: Env, sealed: string | undefined) => Promise<KeyRing>) | undefined;
  /** Runs calls once that are to. */
  readonly once?: ((env: Env) => Once) | undefined;
  /** Runs handlers that ask in the middle. Without it they can only ask by returning. */
  readonly replay?: RunRounds | undefined;
  /** Adds methods for a client, or takes the place of one. */
  readonly extend?: ExtendMethods<Env> | undefined;
  /**
   * JSON mode: every POST is answered by one JSON object. Progress and logs are dropped, legacy handlers cannot ask the
   * client, and there is no `subscriptions/listen`; notices still go out on the GET stream.
   *
   * @default false
   */
  readonly jsonOnly?: boolean | undefined;
  /** Answers a request of an allowed host in the place of the endpoint; undefined: the endpoint serves it. */
  readonly guard?: ((env: Env) => Response | undefined) | undefined;
  /**
   * Name of the endpoint. What one endpoint issues (session ids, request states, tasks, list cursors) is refused at any
   * other, and keys of calls that run once count for one endpoint only.
   *
   * @default the path of the request's URL
   */
  readonly endpoint?: string | undefined;
  /** Hears of exceptions when the server has no `onError` of its own. */
  readonly onError: ErrorReporter;
}

/**
 * Answers one HTTP request. Never rejects for what a peer sends.
 *
 * @param execution What `auth` and the hooks of the server keep their work running with. @default Nothing ends their work
 */
export type HttpHandler<Env> = (request: Request, env: Env, execution?: Execution) => Promise<Response>;

/** What is known of one request once it was let in. */
export interface Admitted<Env> extends SessionPlace<Env> {
  readonly request: Request;
  readonly server: Registry;
  readonly execution: Execution;
}

/** What sessions need of the endpoint they belong to. */
export interface SessionSurroundings {
  readonly limits: Limits;
  readonly notices: SessionNotices | undefined;
  /** The request as plain data, where something of the author's asks for it. */
  readonly request: PlainRequest | undefined;
  /** Answers messages that need no handler. */
  serveHere(messages: readonly ParsedMessage[], isBatch: boolean, client: ClientFacts): Response | Promise<Response>;
}

/** The part of an endpoint that serves legacy sessions. Rejects with {@link SessionsUnavailable} when they cannot be had. */
export interface SessionRoutes<Env> {
  /** A new session id. */
  open(client: ClientFacts, admitted: Admitted<Env>): Promise<string>;
  post(
    verdict: LegacyVerdict,
    form: AcceptedForm,
    admitted: Admitted<Env>,
    around: SessionSurroundings,
  ): Promise<Response>;
  get(admitted: Admitted<Env>, around: SessionSurroundings): Promise<Response>;
  delete(admitted: Admitted<Env>): Promise<Response>;
}
