/**
 * Streamable HTTP for both eras at one URL, as a web-standard `(Request) => Response`.
 *
 * The stages, in order: host, origin and method; authenticate; content negotiation and body, which is read once; classify;
 * authorize; dispatch. A modern call is served here, and a legacy call in its session if it has one. A refusal stays a value
 * until the answer is made, in `#answer`.
 *
 * @module
 */

import { unavailableAsker } from "../core/ask/asker.ts";
import type { Registry } from "../core/define/registry.ts";
import type { ListKind } from "../core/protocol/change-notifications.ts";
import { ClientFacts } from "../core/protocol/client-facts.ts";
import { runDetached } from "../core/protocol/error-reports.ts";
import type { Execution } from "../core/protocol/execution.ts";
import type { JSONRPCNotification, JSONRPCRequest, ParsedMessage, RequestId } from "../core/protocol/jsonrpc.ts";
import { findSender, negotiate } from "../core/protocol/lifecycle.ts";
import { ASSUMED_HTTP_VERSION, findVersion } from "../core/protocol/versions.ts";
import type { MethodTable } from "../core/run/request-context.ts";
import { ASK_BY_RETURNING } from "../core/run/run-rounds.ts";
import { type Answer, dispatch, takeCustomNotification } from "../core/serve/dispatch.ts";
import { admit } from "./admission.ts";
import { readBody } from "./body.ts";
import {
  type ClassifyHeaders,
  classify,
  type LegacyVerdict,
  requestId,
  unservedVersion,
  type Verdict,
} from "./classify.ts";
import type { Admitted, Arrived, HttpOptions, RegistrySource, SessionServices, Stages } from "./endpoint-types.ts";
import { type AcceptedForm, acceptedForm, isJsonContentType } from "./headers.ts";
import { serveLegacy } from "./legacy.ts";
import { checkOrigin, preflight, readableBy, splitUrl } from "./origin.ts";
import { findParamProblem } from "./param-headers.ts";
import { type Refusal, Refused, type Reply, refuse, toStatus } from "./refusal.ts";
import { type Outcome, respond } from "./respond.ts";
import type { HttpLimits } from "./response-times.ts";
import { type PlainRequest, SessionsUnavailable } from "./sessions.ts";

const LISTS: readonly ListKind[] = ["tools", "prompts", "resources"];

/** One endpoint. Parts that serve further paths use it to apply the same checks. */
export class Endpoint {
  readonly #source: RegistrySource;
  readonly #options: HttpOptions;
  readonly #limits: HttpLimits;
  readonly #stages: Stages | undefined;
  readonly #allow: string;

  constructor(source: RegistrySource, options: HttpOptions) {
    this.#source = source;
    this.#options = options;
    this.#limits = options.limits;
    this.#stages = options.stages?.((error, method) => this.#report(error, method));
    this.#allow = options.sessions ? "POST, GET, DELETE" : "POST";
  }

  handle(request: Request, env: unknown, execution: Execution | undefined): Response | Promise<Response> {
    return this.serve(request, env, execution, this.#allow, (admitted) =>
      request.method === "POST" ? this.#post(admitted) : this.#getOrDelete(admitted),
    );
  }

  /**
   * Serves a request after all checks that precede the body. A request without a body is authorized here; for a POST,
   * `serve` asks the plugins once it knows the messages. Adds CORS headers to the answer.
   *
   * @param execution Undefined if the platform never ends background work.
   * @param allow The methods served, in the form of the Allow header.
   * @param path Path of the endpoint, if it differs from that of the request.
   */
  serve(
    request: Request,
    env: unknown,
    execution: Execution | undefined,
    allow: string,
    serve: (admitted: Admitted) => Promise<Reply>,
    path?: string,
  ): Response | Promise<Response> {
    const origin = request.headers.get("Origin");
    const arrived: Arrived = { request, env, execution: execution ?? this.#endless, startedAtMs: Date.now() };
    const problem = checkOrigin(request, origin, this.#options);
    // A page that is not allowed gets no CORS headers, so it cannot read the reason.
    if (problem) return this.#answer(refuse(problem), arrived);
    const misconfigured = this.#options.guard?.(env, request);
    const reply = misconfigured ?? this.#admit(arrived, allow, serve, path);
    const response =
      reply instanceof Promise ? reply.then((each) => this.#answer(each, arrived)) : this.#answer(reply, arrived);
    return origin === null ? response : readableBy(origin, response);
  }

  /** Returns the response of a reply. This is the end of every refusal. */
  #answer(reply: Reply, arrived: Arrived): Response {
    if (reply instanceof Response) return reply;
    this.#stages?.refused(reply, arrived);
    return reply.toResponse();
  }

  /** Used on platforms that never end background work. */
  readonly #endless: Execution = {
    waitUntil: (work) => {
      Promise.resolve(work).catch((error: unknown) => this.#report(error, "(waitUntil)"));
    },
  };

  #admit(
    arrived: Arrived,
    allow: string,
    serve: (admitted: Admitted) => Promise<Reply>,
    path = splitUrl(arrived.request.url).pathname,
  ): Reply | Promise<Reply> {
    const { request, env, execution } = arrived;
    const { method } = request;
    if (method === "OPTIONS") return preflight(request, allow);
    if (!allow.split(", ").includes(method)) {
      // GET and DELETE are only for legacy sessions.
      const isModern = findVersion(request.headers.get("MCP-Protocol-Version") ?? "")?.era === "modern";
      return notAllowed(method, isModern && allow === this.#allow ? "POST" : allow);
    }
    const server = this.#source;
    const incoming = { request, env, execution, endpoint: this.#options.endpoint ?? path };
    // If every caller gets the same server, and there is no plugin, nothing needs to be awaited.
    if (!this.#options.auth && !this.#stages && typeof server !== "function" && server.isForAll) {
      return serve({ ...incoming, principal: undefined, registry: server });
    }
    return this.#admitOne(incoming, serve, arrived);
  }

  async #admitOne(
    incoming: Omit<Admitted, "principal" | "registry">,
    serve: (admitted: Admitted) => Promise<Reply>,
    arrived: Arrived,
  ): Promise<Reply> {
    const report = (error: unknown, method: string) => this.#report(error, method);
    const stages = this.#stages;
    const admitted = await admit(incoming, this.#source, this.#options, report);
    if (admitted instanceof Refused) return admitted;
    if (admitted instanceof Response) {
      stages?.refused(admitted, arrived);
      return admitted;
    }
    arrived.principal = admitted.principal;
    const denied = incoming.request.method === "POST" ? undefined : await stages?.authorize(admitted, []);
    return denied ?? serve(admitted);
  }

  async #post(admitted: Admitted): Promise<Reply> {
    const form = this.#formOf(admitted.request.headers);
    const body = typeof form === "object" ? { refusal: form } : await readBody(admitted.request, this.#limits);
    const verdict: Verdict = body.refusal
      ? { kind: "refuse", refusal: body.refusal }
      : this.#classify(body.value, admitted);
    const stages = this.#stages;
    const denied = stages && (await stages.authorizePost(admitted, verdict, body));
    return denied ?? (await this.#serve(verdict, form as AcceptedForm, admitted));
  }

  #formOf(headers: Headers): AcceptedForm | Refusal {
    const contentType = headers.get("Content-Type");
    if (!isJsonContentType(contentType)) return { reason: "content-type", contentType: contentType ?? "" };
    const accept = headers.get("Accept");
    const form = acceptedForm(accept);
    const { jsonOnly = false } = this.#options;
    if (!form || (jsonOnly && form === "sse")) return { reason: "not-acceptable", accept: accept ?? "" };
    return jsonOnly ? "json" : form;
  }

  #classify(body: unknown, { request, registry }: Admitted): Verdict {
    const { versions } = registry;
    const hasSessions = this.#options.sessions !== undefined;
    const { headers } = request;
    const ladderHeaders: ClassifyHeaders = {
      protocolVersion: headers.get("MCP-Protocol-Version"),
      method: headers.get("Mcp-Method"),
      name: headers.get("Mcp-Name"),
      sessionId: headers.get("Mcp-Session-Id"),
    };
    return classify(body, ladderHeaders, { versions, hasSessions, batchMax: this.#limits.batchMax });
  }

  #serve(verdict: Verdict, form: AcceptedForm, admitted: Admitted): Reply | Promise<Reply> {
    switch (verdict.kind) {
      case "refuse":
        return refuse(verdict.refusal, verdict.id);
      case "notification":
        if (verdict.message) this.#takeNotification(verdict.message, admitted);
        return new Response(null, { status: 202 });
      case "modern":
        return this.#serveModern(verdict, form, admitted);
      case "initialize":
        return this.guarded(() => this.#initialize(verdict.request, form, admitted), verdict.request.id);
      case "legacy":
        return this.guarded(() => this.#serveLegacy(verdict, form, admitted), requestId(verdict.messages));
    }
  }

  #takeNotification(message: JSONRPCNotification, admitted: Admitted): void {
    const { registry } = admitted;
    takeCustomNotification(registry, message, this.#common(findSender(message, registry.versions), admitted));
  }

  #serveModern(
    { request, client, logLevel }: ModernVerdict,
    form: AcceptedForm,
    admitted: Admitted,
  ): Reply | Promise<Reply> {
    const { env, registry } = admitted;
    const problem = findHeaderProblem(registry, request, admitted.request.headers);
    if (problem) return refuse({ reason: "header-mismatch", problem }, request.id);
    const { notifications, stateKeys } = this.#options;
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
      { form, limits: this.#limits, request: admitted.request },
    );
  }

  async #initialize(request: JSONRPCRequest, form: AcceptedForm, admitted: Admitted): Promise<Response> {
    const { sessions, notifications } = this.#options;
    const { registry } = admitted;
    const client = introduced(registry, request);
    const { text, errorCode } = await dispatch({
      ...this.#common(client, admitted, sessions && notifications ? {} : undefined),
      request,
      ending: admitted.request,
      logLevel: undefined,
      emit: () => undefined,
      asker: unavailableAsker("the handshake is not complete"),
      // Declares logging in the answer. The session, once it exists, stores the level.
      setLogLevel: sessions && (() => undefined),
    });
    const isRefused = errorCode !== undefined;
    // 400 for every refusal: a 404 would mean that this is not an MCP endpoint (versioning, matrix).
    const status = isRefused ? 400 : 200;
    const id = isRefused ? undefined : await sessions?.create(client, admitted);
    const options = { form: isRefused ? "json" : form, limits: this.#limits } as const;
    const response = await respond(async () => ({ text, status }), options);
    if (id !== undefined) response.headers.set("Mcp-Session-Id", id);
    return response;
  }

  #serveLegacy(verdict: LegacyVerdict, form: AcceptedForm, admitted: Admitted): Reply | Promise<Reply> {
    const { messages, isBatch, version, sessionId } = verdict;
    const { sessions } = this.#options;
    if (sessions && sessionId !== undefined) {
      return sessions.post(verdict, form, admitted, this.services(form, admitted));
    }
    const { versions } = admitted.registry;
    const rules = version ?? versions.find(ASSUMED_HTTP_VERSION.version);
    if (!rules) return refuse(unservedVersion(ASSUMED_HTTP_VERSION.version, versions), requestId(messages));
    return this.#serveHere(messages, isBatch, new ClientFacts(rules, {}), form, admitted);
  }

  /** Returns what sessions need to serve a request. */
  services(form: AcceptedForm, admitted: Admitted): SessionServices {
    const { registry, env } = admitted;
    const { notifications } = this.#options;
    const endpoint = this;
    return {
      limits: this.#limits,
      get notifications() {
        return (
          notifications && { source: notifications.source(env), lists: LISTS.filter((list) => registry.offers(list)) }
        );
      },
      request: this.#plain(admitted),
      authorize: async (messages) => endpoint.#stages?.authorize(admitted, messages),
      serveHere(messages, isBatch, client) {
        return endpoint.#serveHere(messages, isBatch, client, form, admitted);
      },
    };
  }

  #plain({ request, registry }: Admitted): PlainRequest | undefined {
    const isAskedFor = typeof this.#source === "function" || registry.asksForRequest;
    return isAskedFor ? { url: request.url, headers: [...request.headers] } : undefined;
  }

  #serveHere(
    messages: readonly ParsedMessage[],
    isBatch: boolean,
    client: ClientFacts,
    form: AcceptedForm,
    admitted: Admitted,
  ): Response | Promise<Response> {
    return serveLegacy(messages, isBatch, { ...this.#common(client, admitted), form });
  }

  /** Returns the members that all calls have. @param methods The methods that this kind of call adds. */
  #common(client: ClientFacts, admitted: Admitted, methods?: MethodTable) {
    const { onError, once, replay, extend, endpointHooks } = this.#options;
    const { request: http, registry, env, principal, endpoint, execution } = admitted;
    const limits = this.#limits;
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
    const { sessions } = this.#options;
    const { request, registry } = admitted;
    const version = request.headers.get("MCP-Protocol-Version") ?? "";
    const { method } = request;
    if (!sessions || registry.versions.find(version)?.era === "modern") return notAllowed(method, "POST");
    if (method === "DELETE") return this.guarded(() => sessions.delete(admitted));
    return this.guarded(() => sessions.get(admitted, this.services("sse", admitted)));
  }

  /** Serves a request. Answers 503 if sessions are unavailable, since a 404 would tell the client that its session is gone. */
  async guarded(serve: () => Reply | Promise<Reply>, id?: RequestId): Promise<Reply> {
    try {
      return await serve();
    } catch (error) {
      const correlationId = this.#report(error, "(sessions)");
      if (error instanceof SessionsUnavailable) return refuse({ reason: "sessions-unavailable", correlationId }, id);
      return refuse({ reason: "internal", correlationId }, id);
    }
  }

  #report(error: unknown, method: string): string {
    const correlationId = crypto.randomUUID();
    const { onError } = this.#options;
    const where = { correlationId, method };
    if (typeof this.#source === "function")
      runDetached(
        () => onError(error, where),
        () => undefined,
      );
    else this.#source.report(error, where, onError);
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

type ModernVerdict = Extract<Verdict, { kind: "modern" }>;

/** Returns the client that `initialize` introduces. If it is invalid, dispatch answers with the error. */
function introduced(registry: Registry, request: JSONRPCRequest): ClientFacts {
  try {
    return negotiate(registry, request, { logLevel: false, notifications: false }).client;
  } catch {
    return new ClientFacts(ASSUMED_HTTP_VERSION, {});
  }
}

/** Returns the first mismatch between an `Mcp-Param-*` header and its argument, or undefined. */
function findHeaderProblem(registry: Registry, { method, params }: JSONRPCRequest, headers: Headers) {
  const tool =
    method === "tools/call" && typeof params?.name === "string" ? registry.tools.find(params.name) : undefined;
  return tool && findParamProblem(tool.paramHeaders, params?.arguments, headers);
}
