/**
 * Streamable HTTP for both eras at one URL, as a web-standard `(Request) => Response`.
 *
 * The checks, in order: host and origin, method, authorization, content negotiation, body, classification. Then a modern
 * call is served here, and a legacy call in its session if it has one. Every refusal is created by `refuse`.
 *
 * @module
 */

import { unavailableAsker } from "../core/ask/asker.ts";
import type { Registry } from "../core/define/registry.ts";
import { ClientFacts } from "../core/protocol/client-facts.ts";
import { runDetached } from "../core/protocol/error-reports.ts";
import type { Execution } from "../core/protocol/execution.ts";
import type { JSONRPCNotification, JSONRPCRequest, ParsedMessage, RequestId } from "../core/protocol/jsonrpc.ts";
import { negotiate, senderOf } from "../core/protocol/lifecycle.ts";
import type { ListKind } from "../core/protocol/notices.ts";
import { ASSUMED_HTTP_VERSION, findVersion } from "../core/protocol/versions.ts";
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
import type { Admitted, HttpOptions, MethodTable, RegistrySource, SessionServices } from "./endpoint-types.ts";
import { type AcceptedForm, acceptedForm, isJsonContentType } from "./headers.ts";
import { serveLegacy } from "./legacy.ts";
import { checkOrigin, preflight, readableBy, splitUrl } from "./origin.ts";
import { findParamProblem } from "./param-headers.ts";
import { type Refusal, refuse, statusOf } from "./refusal.ts";
import { type Outcome, respond } from "./respond.ts";
import type { HttpLimits } from "./response-times.ts";
import { type PlainRequest, SessionsUnavailable } from "./sessions.ts";

const LISTS: readonly ListKind[] = ["tools", "prompts", "resources"];

/** One endpoint. Parts that serve further paths use it to apply the same checks. */
export class Endpoint {
  readonly #source: RegistrySource;
  readonly #options: HttpOptions;
  readonly #limits: HttpLimits;
  readonly #allow: string;

  constructor(source: RegistrySource, options: HttpOptions) {
    this.#source = source;
    this.#options = options;
    this.#limits = options.limits;
    this.#allow = options.sessions ? "POST, GET, DELETE" : "POST";
  }

  handle(request: Request, env: unknown, execution: Execution | undefined): Response | Promise<Response> {
    return this.serve(request, env, execution, this.#allow, (admitted) =>
      request.method === "POST" ? this.#post(admitted) : this.#getOrDelete(admitted),
    );
  }

  /**
   * Serves a request after all checks that precede the body. Adds CORS headers to the answer.
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
    serve: (admitted: Admitted) => Promise<Response>,
    path?: string,
  ): Response | Promise<Response> {
    const origin = request.headers.get("Origin");
    const problem = checkOrigin(request, origin, this.#options);
    // A page that is not allowed gets no CORS headers, so it cannot read the reason.
    if (problem) return refuse(problem);
    const misconfigured = this.#options.guard?.(env, request);
    const response = misconfigured ?? this.#admit(request, env, execution ?? this.#endless, allow, serve, path);
    return origin === null ? response : readableBy(origin, response);
  }

  /** Used on platforms that never end background work. */
  readonly #endless: Execution = {
    waitUntil: (work) => {
      Promise.resolve(work).catch((error: unknown) => this.#report(error, "(waitUntil)"));
    },
  };

  #admit(
    request: Request,
    env: unknown,
    execution: Execution,
    allow: string,
    serve: (admitted: Admitted) => Promise<Response>,
    path = splitUrl(request.url).pathname,
  ): Response | Promise<Response> {
    const { method } = request;
    if (method === "OPTIONS") return preflight(request, allow);
    if (!allow.split(", ").includes(method)) {
      // GET and DELETE are only for legacy sessions.
      const isModern = findVersion(request.headers.get("MCP-Protocol-Version") ?? "")?.era === "modern";
      return notAllowed(method, isModern && allow === this.#allow ? "POST" : allow);
    }
    const server = this.#source;
    const incoming = { request, env, execution, endpoint: this.#options.endpoint ?? path };
    // If every caller gets the same server and there is no `auth`, nothing needs to be awaited.
    if (!this.#options.auth && typeof server !== "function" && server.isForAll) {
      return serve({ ...incoming, principal: undefined, server });
    }
    return this.#admitOne(incoming, serve);
  }

  async #admitOne(
    incoming: Omit<Admitted, "principal" | "server">,
    serve: (admitted: Admitted) => Promise<Response>,
  ): Promise<Response> {
    const report = (error: unknown, method: string) => this.#report(error, method);
    const admitted = await admit(incoming, this.#source, this.#options, report);
    return admitted instanceof Response ? admitted : serve(admitted);
  }

  async #post(admitted: Admitted): Promise<Response> {
    const { headers } = admitted.request;
    const contentType = headers.get("Content-Type");
    if (!isJsonContentType(contentType)) return refuse({ reason: "content-type", contentType: contentType ?? "" });
    const form = this.#formOf(headers.get("Accept"));
    if (typeof form === "object") return refuse(form);
    const body = await readBody(admitted.request, this.#limits);
    if (body.refusal) return refuse(body.refusal);
    return await this.#serve(this.#classify(body.value, admitted), form, admitted);
  }

  #formOf(accept: string | null): AcceptedForm | Refusal {
    const form = acceptedForm(accept);
    const { jsonOnly = false } = this.#options;
    if (!form || (jsonOnly && form === "sse")) return { reason: "not-acceptable", accept: accept ?? "" };
    return jsonOnly ? "json" : form;
  }

  #classify(body: unknown, { request, server }: Admitted): Verdict {
    const { versions } = server;
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

  #serve(verdict: Verdict, form: AcceptedForm, admitted: Admitted): Response | Promise<Response> {
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
    const { server } = admitted;
    takeCustomNotification(server, message, this.#common(senderOf(message, server.versions), admitted));
  }

  #serveModern(
    { request, client, logLevel }: ModernVerdict,
    form: AcceptedForm,
    admitted: Admitted,
  ): Response | Promise<Response> {
    const { env, server } = admitted;
    const problem = findHeaderProblem(server, request, admitted.request.headers);
    if (problem) return refuse({ reason: "header-mismatch", problem }, request.id);
    const { notices, stateKeys } = this.#options;
    // Notices need a client that accepts streams.
    const methods = form === "json" ? undefined : notices?.methods(notices.source(env));
    return respond(
      (emit, stream) =>
        dispatch(server, request, {
          ...this.#common(client, admitted, methods),
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
    const { sessions, notices } = this.#options;
    const { server } = admitted;
    const client = introduced(server, request);
    const { text, errorCode } = await dispatch(server, request, {
      ...this.#common(client, admitted, sessions && notices ? {} : undefined),
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

  #serveLegacy(verdict: LegacyVerdict, form: AcceptedForm, admitted: Admitted): Response | Promise<Response> {
    const { messages, isBatch, version, sessionId } = verdict;
    const { sessions } = this.#options;
    if (sessions && sessionId !== undefined) {
      return sessions.post(verdict, form, admitted, this.services(form, admitted));
    }
    const { versions } = admitted.server;
    const rules = version ?? versions.find(ASSUMED_HTTP_VERSION.version);
    if (!rules) return refuse(unservedVersion(ASSUMED_HTTP_VERSION.version, versions), requestId(messages));
    return this.#serveHere(messages, isBatch, new ClientFacts(rules, {}), form, admitted);
  }

  /** Returns what sessions need to serve a request. */
  services(form: AcceptedForm, admitted: Admitted): SessionServices {
    const { server, env } = admitted;
    const { notices } = this.#options;
    const endpoint = this;
    return {
      limits: this.#limits,
      get notices() {
        return notices && { source: notices.source(env), lists: LISTS.filter((list) => server.offers(list)) };
      },
      request: this.#plain(admitted),
      serveHere(messages, isBatch, client) {
        return endpoint.#serveHere(messages, isBatch, client, form, admitted);
      },
    };
  }

  #plain({ request, server }: Admitted): PlainRequest | undefined {
    const isAskedFor = typeof this.#source === "function" || server.asksForRequest;
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
    const { onError, once, replay, extend } = this.#options;
    const { env } = admitted;
    const limits = this.#limits;
    return {
      ...admitted,
      client,
      limits,
      onError,
      once: once?.(env),
      replay,
      methods: extend?.(methods, env, client) ?? methods,
    };
  }

  /** Serves GET and DELETE, which are only for legacy sessions. */
  async #getOrDelete(admitted: Admitted): Promise<Response> {
    const { sessions } = this.#options;
    const { request, server } = admitted;
    const version = request.headers.get("MCP-Protocol-Version") ?? "";
    const { method } = request;
    if (!sessions || server.versions.find(version)?.era === "modern") return notAllowed(method, "POST");
    if (method === "DELETE") return this.guarded(() => sessions.delete(admitted));
    return this.guarded(() => sessions.get(admitted, this.services("sse", admitted)));
  }

  /** Serves a request. Answers 503 if sessions are unavailable, since a 404 would tell the client that its session is gone. */
  async guarded(serve: () => Response | Promise<Response>, id?: RequestId): Promise<Response> {
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
function notAllowed(method: string, allow: string): Response {
  return refuse({ reason: "method-not-allowed", method, allow });
}

function modernOutcome({ text, errorCode, isBusy }: Answer): Outcome {
  return { text, status: isBusy ? 429 : statusOf(errorCode, true) };
}

type ModernVerdict = Extract<Verdict, { kind: "modern" }>;

/** Returns the client that `initialize` introduces. If it is invalid, dispatch answers with the error. */
function introduced(server: Registry, request: JSONRPCRequest): ClientFacts {
  try {
    return negotiate(server, request, { logLevel: false, notices: false }).client;
  } catch {
    return new ClientFacts(ASSUMED_HTTP_VERSION, {});
  }
}

/** Returns the first mismatch between an `Mcp-Param-*` header and its argument, or undefined. */
function findHeaderProblem(server: Registry, { method, params }: JSONRPCRequest, headers: Headers) {
  const tool = method === "tools/call" && typeof params?.name === "string" ? server.tools.find(params.name) : undefined;
  return tool && findParamProblem(tool.paramHeaders, params?.arguments, headers);
}
