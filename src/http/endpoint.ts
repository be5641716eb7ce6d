/**
 * Streamable HTTP for both eras at one URL, as a web-standard `(Request) => Response`.
 *
 * The stages, in order: host, origin and method; authenticate; content negotiation and body, which is read once;
 * classify; authorize; dispatch. A modern call is served here, and a legacy call in its session if it has one. A
 * refusal stays a value until the response is made, in `#respond`.
 *
 * @module
 */

import { unavailableAsker } from "../core/ask/asker.ts";
import { findCalledTool } from "../core/define/called-tool.ts";
import type { Registry } from "../core/define/registry.ts";
import { ClientFacts } from "../core/protocol/client-facts.ts";
import { runDetached } from "../core/protocol/error-reports.ts";
import { McpError } from "../core/protocol/errors.ts";
import type { Execution } from "../core/protocol/execution.ts";
import type { JSONRPCRequest, RequestId } from "../core/protocol/jsonrpc.ts";
import { findSender, negotiate } from "../core/protocol/lifecycle.ts";
import { ASSUMED_HTTP_VERSION, findVersion } from "../core/protocol/versions.ts";
import type { MethodTable } from "../core/run/request-context.ts";
import { ASK_BY_RETURNING } from "../core/run/run-rounds.ts";
import { type Answer, dispatch, takeCustomNotification } from "../core/serve/dispatch.ts";
import { admit } from "./admission.ts";
import { readBody } from "./body.ts";
import {
  classify,
  type LegacyVerdict,
  type ModernVerdict,
  requestId,
  unservedVersion,
  type Verdict,
} from "./classify.ts";
import type {
  Admitted,
  Arrived,
  HttpOptions,
  LegacyPost,
  RegistrySource,
  Route,
  SessionEndpoint,
  Stages,
} from "./endpoint-types.ts";
import { type AcceptedForm, acceptedForm, isJsonContentType, readProtocolHeaders } from "./headers.ts";
import { serveLegacy } from "./legacy.ts";
import { checkOrigin, preflight, readableBy, splitUrl } from "./origin.ts";
import { findParamProblem } from "./param-headers.ts";
import { type Refusal, Refused, type Reply, refuse, toStatus } from "./refusal.ts";
import { type Outcome, respond } from "./respond.ts";
import { SessionsUnavailable } from "./sessions.ts";

/** One endpoint. Parts that serve other paths use it to apply the same checks. */
export class Endpoint implements SessionEndpoint {
  readonly source: RegistrySource;
  readonly options: HttpOptions;
  readonly stages: Stages | undefined;
  readonly #route: Route;

  constructor(source: RegistrySource, options: HttpOptions) {
    this.source = source;
    this.options = options;
    this.stages = options.stages?.((error, method) => this.#report(error, method));
    this.#route = {
      allow: options.sessions ? "POST, GET, DELETE" : "POST",
      respond: (admitted) => (admitted.request.method === "POST" ? this.#post(admitted) : this.#getOrDelete(admitted)),
    };
  }

  handle(request: Request, env: unknown, execution: Execution | undefined): Response | Promise<Response> {
    return this.handleRoute(this.#route, request, env, execution);
  }

  /**
   * Returns the response to a request, after all checks that precede the body. A request without a body is authorized
   * here; for a POST, the route authorizes the request when it knows the messages. Adds CORS headers to the response.
   *
   * @param execution Undefined if the platform never ends background work.
   */
  handleRoute(
    route: Route,
    request: Request,
    env: unknown,
    execution: Execution | undefined,
  ): Response | Promise<Response> {
    const origin = request.headers.get("Origin");
    const { path = splitUrl(request.url).pathname } = route;
    const arrived: Arrived = {
      request,
      env,
      execution: execution ?? this.#endless,
      endpoint: this.options.endpoint ?? path,
      startedAtMs: Date.now(),
      principal: undefined,
    };
    const problem = checkOrigin(request, origin, this.options);
    // A page that is not allowed gets no CORS headers, so it cannot read the reason.
    if (problem) return this.#respond(refuse(problem), arrived);
    const reply = this.options.guard?.(env, request) ?? this.#admit(arrived, route);
    const response =
      reply instanceof Promise ? reply.then((each) => this.#respond(each, arrived)) : this.#respond(reply, arrived);
    return origin === null ? response : readableBy(origin, response);
  }

  /** Returns the response of a reply. This is the end of every refusal. */
  #respond(reply: Reply, arrived: Arrived): Response {
    if (reply instanceof Response) return reply;
    this.stages?.refused(reply, arrived);
    return reply.toResponse();
  }

  /** The execution on platforms that never end background work. */
  readonly #endless: Execution = {
    waitUntil: (work) => {
      Promise.resolve(work).catch((error: unknown) => this.#report(error, "(waitUntil)"));
    },
  };

  #admit(arrived: Arrived, route: Route): Reply | Promise<Reply> {
    const { method, headers } = arrived.request;
    const { allow } = route;
    if (method === "OPTIONS") return preflight(arrived.request, allow);
    if (!allow.split(", ").includes(method)) {
      // GET and DELETE are only for legacy sessions.
      const isModern = findVersion(headers.get("MCP-Protocol-Version") ?? "")?.era === "modern";
      return notAllowed(method, isModern && route === this.#route ? "POST" : allow);
    }
    const { source } = this;
    // If every caller gets the same server, and there is no plugin, nothing needs to be awaited.
    if (!this.options.auth && !this.stages && typeof source !== "function" && source.isForAll) {
      return route.respond(Object.assign(arrived, { registry: source }));
    }
    return this.#admitAfterChecks(arrived, route);
  }

  async #admitAfterChecks(arrived: Arrived, route: Route): Promise<Reply> {
    const admitted = await admit(arrived, this.source, this.options, (error, method) => this.#report(error, method));
    if (admitted instanceof Refused) return admitted;
    if (admitted instanceof Response) {
      this.stages?.refused(admitted, arrived);
      return admitted;
    }
    const denied = arrived.request.method === "POST" ? undefined : await this.stages?.authorize(admitted);
    return denied ?? route.respond(admitted);
  }

  async #post(admitted: Admitted): Promise<Reply> {
    const { request, registry } = admitted;
    const { options, stages } = this;
    const form = this.#formOf(request.headers);
    const body = typeof form === "object" ? { refusal: form } : await readBody(request, options.limits);
    const verdict: Verdict = body.refusal
      ? { kind: "refuse", messages: [], refusal: body.refusal }
      : classify(body.value, readProtocolHeaders(request.headers), {
          versions: registry.versions,
          hasSessions: options.sessions !== undefined,
          batchMax: options.limits.batchMax,
        });
    admitted.contents = verdict;
    const denied = stages && (await stages.authorize(admitted));
    return denied ?? (await this.#serveVerdict(verdict, form as AcceptedForm, admitted));
  }

  #formOf(headers: Headers): AcceptedForm | Refusal {
    const contentType = headers.get("Content-Type");
    if (!isJsonContentType(contentType)) return { reason: "content-type", contentType: contentType ?? "" };
    const accept = headers.get("Accept");
    const form = acceptedForm(accept);
    const { jsonOnly } = this.options;
    if (!form || (jsonOnly && form === "sse")) return { reason: "not-acceptable", accept: accept ?? "" };
    return jsonOnly ? "json" : form;
  }

  #serveVerdict(verdict: Verdict, form: AcceptedForm, admitted: Admitted): Reply | Promise<Reply> {
    const { registry } = admitted;
    switch (verdict.kind) {
      case "refuse":
        return refuse(verdict.refusal, verdict.id);
      case "notification": {
        const { message } = verdict;
        if (message)
          takeCustomNotification(registry, message, this.#common(findSender(message, registry.versions), admitted));
        return new Response(null, { status: 202 });
      }
      case "modern":
        return this.#serveModern(verdict, form, admitted);
      case "initialize":
        return this.guarded(() => this.#initialize(verdict.request, form, admitted), verdict.request.id);
      case "legacy":
        return this.guarded(() => this.#serveLegacy(verdict, form, admitted), requestId(verdict.messages));
    }
  }

  #serveModern(
    { request, client, logLevel }: ModernVerdict,
    form: AcceptedForm,
    admitted: Admitted,
  ): Reply | Promise<Reply> {
    const { env, registry, request: http } = admitted;
    const tool = findCalledTool(registry, request);
    const problem = tool && findParamProblem(tool.paramHeaders, request.params?.arguments, http.headers);
    if (problem) return refuse({ reason: "header-mismatch", problem }, request.id);
    const { notifications, stateKeys, limits } = this.options;
    // Notifications need a client that accepts streams.
    const methods = form === "json" ? undefined : notifications?.methods(notifications.source(env));
    return respond(
      (emit, stream) =>
        dispatch({
          ...this.#common(client, admitted, methods),
          request,
          logLevel,
          emit,
          asker: unavailableAsker(ASK_BY_RETURNING),
          stateKeys: stateKeys && ((sealed) => stateKeys(env, sealed)),
          ending: stream,
        }).then(modernOutcome),
      { form, limits, request: http },
    );
  }

  async #initialize(request: JSONRPCRequest, form: AcceptedForm, admitted: Admitted): Promise<Response> {
    const { sessions, notifications, limits } = this.options;
    const { registry } = admitted;
    const client = readClient(registry, request);
    const { text, errorCode } = await dispatch({
      ...this.#common(client, admitted, sessions && notifications ? {} : undefined),
      request,
      ending: admitted.request,
      logLevel: undefined,
      emit: () => undefined,
      asker: unavailableAsker("the handshake is not complete"),
      // Declares logging in the result. The session, once it exists, stores the level.
      setLogLevel: sessions && (() => undefined),
    });
    const isRefused = errorCode !== undefined;
    // 400 for every refusal: a 404 would mean that this is not an MCP endpoint (versioning, matrix).
    const status = isRefused ? 400 : 200;
    const id = isRefused ? undefined : await sessions?.create(client, admitted);
    const response = await respond(async () => ({ text, status }), { form: isRefused ? "json" : form, limits });
    if (id !== undefined) response.headers.set("Mcp-Session-Id", id);
    return response;
  }

  #serveLegacy(verdict: LegacyVerdict, form: AcceptedForm, admitted: Admitted): Reply | Promise<Reply> {
    const { messages, isBatch, version, sessionId } = verdict;
    const { sessions } = this.options;
    if (sessions && sessionId !== undefined) return sessions.post({ verdict, form, admitted, endpoint: this });
    const { versions } = admitted.registry;
    const rules = version ?? versions.find(ASSUMED_HTTP_VERSION.version);
    if (!rules) return refuse(unservedVersion(ASSUMED_HTTP_VERSION.version, versions), requestId(messages));
    return this.serveHere({ messages, isBatch, form, client: new ClientFacts(rules, {}) }, admitted);
  }

  serveHere({ messages, isBatch, form, client }: LegacyPost, admitted: Admitted): Response | Promise<Response> {
    return serveLegacy(messages, isBatch, { ...this.#common(client, admitted), form });
  }

  /**
   * Returns the members that the contexts of all requests have.
   *
   * @param methods The methods that this kind of request adds.
   */
  #common(client: ClientFacts, admitted: Admitted, methods?: MethodTable) {
    const { onError, once, replay, extend, endpointHooks, limits } = this.options;
    const { request: http, registry, env, principal, endpoint, execution } = admitted;
    return {
      http,
      registry,
      env,
      principal,
      endpoint,
      execution,
      client,
      limits,
      onError,
      endpointHooks,
      once: once?.(env),
      replay,
      methods: extend?.(methods, env, client) ?? methods,
    };
  }

  /** Serves GET and DELETE, which are only for legacy sessions. */
  async #getOrDelete(admitted: Admitted): Promise<Reply> {
    const { sessions } = this.options;
    const { request, registry } = admitted;
    const version = request.headers.get("MCP-Protocol-Version") ?? "";
    const { method } = request;
    if (!sessions || registry.versions.find(version)?.era === "modern") return notAllowed(method, "POST");
    return this.guarded(() => (method === "DELETE" ? sessions.delete(admitted) : sessions.get(admitted, this)));
  }

  /** Serves a request. Refuses it with 503 if sessions are unavailable; a 404 would mean that the session has ended. */
  async guarded(work: () => Reply | Promise<Reply>, id?: RequestId): Promise<Reply> {
    try {
      return await work();
    } catch (error) {
      const correlationId = this.#report(error, "(sessions)");
      // Sessions throw an McpError only if the platform has refused a call of their object.
      const isUnavailable = error instanceof SessionsUnavailable || McpError.is(error);
      const refusal = { reason: isUnavailable ? "sessions-unavailable" : "internal", correlationId } as Refusal;
      return refuse(refusal, id);
    }
  }

  #report(error: unknown, method: string): string {
    const { onError } = this.options;
    if (typeof this.source !== "function") return this.source.report(error, { method }, onError);
    const correlationId = crypto.randomUUID();
    runDetached(
      () => onError(error, { correlationId, method }),
      () => undefined,
    );
    return correlationId;
  }
}

/** Returns a 405 response. @param allow The methods served, in the form of the Allow header. */
function notAllowed(method: string, allow: string): Refused {
  return refuse({ reason: "method-not-allowed", method, allow });
}

function modernOutcome({ text, errorCode, isBusy }: Answer): Outcome {
  return { text, status: isBusy ? 429 : toStatus(errorCode, true) };
}

/** Returns the client that `initialize` describes. If the params are invalid, dispatch returns the error. */
function readClient(registry: Registry, request: JSONRPCRequest): ClientFacts {
  try {
    return negotiate(registry, request, { logLevel: false, notifications: false }).client;
  } catch {
    return new ClientFacts(ASSUMED_HTTP_VERSION, {});
  }
}
