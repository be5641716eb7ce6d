/**
 * Streamable HTTP for both eras at one URL, as a web-standard `(Request) => Response`.
 *
 * The rungs, in order: host and origin, method, authorization, content negotiation, body, classification; then the
 * modern call in place, or the legacy one by way of its session. Every refusal leaves through `refuse`.
 *
 * @module
 */
import { askNobody } from "../core/asker.ts";
import { ClientFacts, type Principal } from "../core/client-facts.ts";
import type { Call, ErrorReporter } from "../core/context.ts";
import { dispatch, isStatic, takeCustomNotification } from "../core/dispatch.ts";
import { McpError } from "../core/errors.ts";
import { ASK_BY_RETURNING } from "../core/input-required.ts";
import { encodeResult, type JSONRPCRequest, type ParsedMessage, type RequestId } from "../core/jsonrpc.ts";
import type { KeyRing } from "../core/key-ring.ts";
import { negotiate } from "../core/lifecycle.ts";
import { DEFAULT_LIMITS, type Limits } from "../core/limits.ts";
import type { McpServer } from "../core/server.ts";
import { ASSUMED_HTTP_VERSION } from "../core/versions.ts";
import { readBody } from "./body.ts";
import { classify, unservedVersion, type Verdict } from "./classify.ts";
import { type AcceptedForm, acceptedForm, isJsonContentType } from "./headers.ts";
import { serveLegacy } from "./legacy.ts";
import { checkOrigin, corsHeaders, type OriginRules, preflight } from "./origin.ts";
import { findParamProblem } from "./param-headers.ts";
import { type Refusal, refuse, statusOf } from "./refusal.ts";
import { respond } from "./respond.ts";
import { type FoundSession, type SessionGate, SessionsUnavailable } from "./sessions.ts";

/**
 * Decides who a request acts for. Return the principal, `"anonymous"` to serve without one, or null to refuse with
 * 401. Runs before the body is read.
 */
export type AuthHook<Env> = (
  request: Request,
  env: Env,
) => Principal | "anonymous" | null | Promise<Principal | "anonymous" | null>;

export interface HttpOptions<Env> extends OriginRules {
  readonly limits?: Partial<Limits>;
  /** @default everyone is served anonymously */
  readonly auth?: AuthHook<Env>;
  /** Legacy sessions; without them legacy requests each stand alone. */
  readonly sessions?: SessionGate<Env>;
  /** Keys that seal `requestState`. Rejects when there are none. */
  readonly stateKeys?: (env: Env) => Promise<KeyRing>;
  /** Hears of exceptions when the server has no `onError` of its own. */
  readonly onError: ErrorReporter;
}

/** Answers one HTTP request. Never rejects for what a peer sends. */
export type HttpHandler<Env> = (request: Request, env: Env) => Promise<Response>;

/** Makes the handler of one endpoint. */
export function createHttpHandler<Env>(server: McpServer<Env>, options: HttpOptions<Env>): HttpHandler<Env> {
  const endpoint = new Endpoint(server, options);
  return (request, env) => endpoint.handle(request, env);
}

/** What is known of one request once it was let in. */
interface Admitted<Env> {
  readonly request: Request;
  readonly env: Env;
  readonly principal: Principal | undefined;
}

class Endpoint<Env> {
  readonly #server: McpServer<Env>;
  readonly #options: HttpOptions<Env>;
  readonly #limits: Limits;
  readonly #allow: string;

  constructor(server: McpServer<Env>, options: HttpOptions<Env>) {
    this.#server = server;
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#allow = options.sessions ? "POST, DELETE" : "POST";
  }

  async handle(request: Request, env: Env): Promise<Response> {
    const problem = checkOrigin(request, this.#options);
    // A page that is not allowed gets no CORS headers: it may not even read why.
    if (problem) return refuse(problem);
    const response = await this.#admit(request, env);
    const cors = Object.entries(corsHeaders(request));
    if (cors.length === 0) return response;
    const readable = new Response(response.body, response);
    for (const [name, value] of cors) readable.headers.set(name, value);
    return readable;
  }

  async #admit(request: Request, env: Env): Promise<Response> {
    if (request.method === "OPTIONS") return preflight(request, this.#allow);
    if (!this.#isServed(request)) {
      return refuse({ reason: "method-not-allowed", method: request.method, allow: this.#allow });
    }
    const who = await this.#authenticate(request, env);
    if ("reason" in who) return refuse(who);
    const admitted = { request, env, principal: who.principal };
    return request.method === "DELETE" ? this.#delete(admitted) : this.#post(admitted);
  }

  /** DELETE ends a legacy session; a request that names a modern version has none to end. */
  #isServed(request: Request): boolean {
    if (request.method === "POST") return true;
    const version = request.headers.get("MCP-Protocol-Version") ?? "";
    const isModern = this.#server.versions.find(version)?.era === "modern";
    return request.method === "DELETE" && this.#options.sessions !== undefined && !isModern;
  }

  async #authenticate(request: Request, env: Env): Promise<{ principal: Principal | undefined } | Refusal> {
    const { auth } = this.#options;
    if (!auth) return { principal: undefined };
    try {
      const who = await auth(request, env);
      if (who === null) return { reason: "unauthorized", tokenPresented: request.headers.has("Authorization") };
      return { principal: who === "anonymous" ? undefined : who };
    } catch (error) {
      return { reason: "internal", correlationId: this.#report(error, "(auth)") };
    }
  }

  async #post(admitted: Admitted<Env>): Promise<Response> {
    const { headers } = admitted.request;
    const contentType = headers.get("Content-Type");
    if (!isJsonContentType(contentType)) return refuse({ reason: "content-type", contentType: contentType ?? "" });
    const accept = headers.get("Accept");
    const form = acceptedForm(accept);
    if (!form) return refuse({ reason: "not-acceptable", accept: accept ?? "" });
    const body = await readBody(admitted.request, this.#limits);
    if (body.refusal) return refuse(body.refusal);
    return this.#serve(this.#classify(body.value, headers), form, admitted);
  }

  #classify(body: unknown, headers: Headers): Verdict {
    const ladderHeaders = {
      protocolVersion: headers.get("MCP-Protocol-Version"),
      method: headers.get("Mcp-Method"),
      name: headers.get("Mcp-Name"),
      sessionId: headers.get("Mcp-Session-Id"),
    };
    const hasSessions = this.#options.sessions !== undefined;
    const { versions } = this.#server;
    return classify(body, ladderHeaders, { versions, hasSessions, batchMax: this.#limits.batchMax });
  }

  async #serve(verdict: Verdict, form: AcceptedForm, admitted: Admitted<Env>): Promise<Response> {
    switch (verdict.kind) {
      case "refuse":
        return refuse(verdict.refusal, verdict.id);
      case "notification":
        takeCustomNotification(this.#server, verdict.message, this.#options.onError);
        return new Response(null, { status: 202 });
      case "modern":
        return this.#serveModern(verdict, form, admitted);
      case "initialize":
        return this.#guarded(() => this.#initialize(verdict.request, form, admitted), verdict.request.id);
      case "legacy":
        return this.#guarded(() => this.#serveLegacy(verdict, form, admitted), requestId(verdict.messages));
    }
  }

  #serveModern(
    { request, client, logLevel }: ModernVerdict,
    form: AcceptedForm,
    admitted: Admitted<Env>,
  ): Promise<Response> {
    const problem = this.#findParamProblem(request, admitted.request.headers);
    if (problem) return Promise.resolve(refuse({ reason: "header-mismatch", problem }, request.id));
    const { env, principal } = admitted;
    const { onError, stateKeys } = this.#options;
    const shared = {
      client,
      env,
      principal,
      limits: this.#limits,
      onError,
      logLevel,
      asker: askNobody(ASK_BY_RETURNING),
    };
    const keys = stateKeys ? { stateKeys: () => stateKeys(env) } : {};
    return respond(
      async (emit, signal) => {
        const call: Call<Env> = { ...shared, ...keys, signal, emit };
        const { text, errorCode } = await dispatch(this.#server, request, call);
        return { text, status: statusOf(errorCode, true) };
      },
      { form, limits: this.#limits, clientGone: admitted.request.signal, cancelsWithClient: true },
    );
  }

  #findParamProblem({ method, params }: JSONRPCRequest, headers: Headers): string | undefined {
    const tool =
      method === "tools/call" && typeof params?.name === "string" ? this.#server.tools.find(params.name) : undefined;
    return tool && findParamProblem(tool.paramHeaders, params?.arguments, headers);
  }

  async #initialize(request: JSONRPCRequest, form: AcceptedForm, { env, principal }: Admitted<Env>): Promise<Response> {
    try {
      const keeps = { logLevel: this.#options.sessions !== undefined, notices: false };
      const { client, result } = negotiate(this.#server as unknown as McpServer<never>, request, keeps);
      const id = await this.#options.sessions?.open(client, principal, env);
      const text = encodeResult(request.id, result);
      const options = { form, limits: this.#limits, clientGone: undefined, cancelsWithClient: false };
      const response = await respond(async () => ({ text, status: 200 }), options);
      if (id !== undefined) response.headers.set("Mcp-Session-Id", id);
      return response;
    } catch (error) {
      if (!McpError.is(error)) throw error;
      return refuse({ reason: "protocol", error }, request.id);
    }
  }

  async #serveLegacy(verdict: LegacyVerdict, form: AcceptedForm, admitted: Admitted<Env>): Promise<Response> {
    const { sessions } = this.#options;
    if (!sessions || verdict.sessionId === undefined) {
      const client = new ClientFacts(verdict.version ?? ASSUMED_HTTP_VERSION, {});
      return this.#serveHere(verdict.messages, verdict.isBatch, client, form, admitted);
    }
    const session = await sessions.find(verdict.sessionId, admitted.principal, admitted.env);
    const id = requestId(verdict.messages);
    if (!session) return refuse({ reason: "session-unknown" }, id);
    if (verdict.isBatch && !session.client.rules.batch) {
      return refuse({ reason: "batch", problem: `${session.client.protocolVersion} has no batches` });
    }
    return (await this.#serveInSession(session, verdict, form, admitted)) ?? refuse({ reason: "session-unknown" }, id);
  }

  /** Lists and pings need no handler: once the object says the session lives, they are answered from what is compiled here. */
  async #serveInSession(session: FoundSession, verdict: LegacyVerdict, form: AcceptedForm, admitted: Admitted<Env>) {
    const { messages, isBatch } = verdict;
    const needsNoHandler = messages.every(
      (parsed) => parsed.kind === "request" && isStatic(this.#server as unknown as McpServer<never>, parsed.message),
    );
    if (!needsNoHandler) return session.post({ messages, isBatch, form });
    if (!(await session.admit())) return undefined;
    return this.#serveHere(messages, isBatch, session.client, form, admitted);
  }

  #serveHere(
    messages: readonly ParsedMessage[],
    isBatch: boolean,
    client: ClientFacts,
    form: AcceptedForm,
    { env, principal }: Admitted<Env>,
  ): Promise<Response> {
    const { onError } = this.#options;
    return serveLegacy(messages, isBatch, {
      server: this.#server,
      client,
      principal,
      env,
      limits: this.#limits,
      onError,
      form,
    });
  }

  async #delete(admitted: Admitted<Env>): Promise<Response> {
    return this.#guarded(async () => {
      const { headers } = admitted.request;
      const version = headers.get("MCP-Protocol-Version");
      const { versions } = this.#server;
      if (version !== null && !versions.find(version)) return refuse(unservedVersion(version, versions));
      const id = headers.get("Mcp-Session-Id");
      if (id === null) return refuse({ reason: "session-missing" });
      const session = await this.#options.sessions?.find(id, admitted.principal, admitted.env);
      const isEnded = session !== undefined && (await session.end());
      return isEnded ? new Response(null, { status: 204 }) : refuse({ reason: "session-unknown" });
    });
  }

  /** Sessions that cannot be reached are 503: a 404 would tell the client that they are gone. */
  async #guarded(serve: () => Promise<Response>, id?: RequestId): Promise<Response> {
    try {
      return await serve();
    } catch (error) {
      const correlationId = this.#report(error, "(sessions)");
      if (error instanceof SessionsUnavailable) return refuse({ reason: "keys-unavailable", correlationId }, id);
      return refuse({ reason: "internal", correlationId }, id);
    }
  }

  #report(error: unknown, method: string): string {
    const correlationId = crypto.randomUUID();
    this.#server.report(error, { correlationId, method }, this.#options.onError);
    return correlationId;
  }
}

type ModernVerdict = Extract<Verdict, { kind: "modern" }>;
type LegacyVerdict = Extract<Verdict, { kind: "legacy" }>;

function requestId(messages: readonly ParsedMessage[]) {
  const [first] = messages;
  return messages.length === 1 && first?.kind === "request" ? first.message.id : undefined;
}
