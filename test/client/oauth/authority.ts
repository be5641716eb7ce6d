/**
 * An MCP server and its authorization server, on real sockets. Refresh tokens rotate without a grace period: the old one
 * is refused as soon as the new one exists. Tests replace parts of the responses.
 */
import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { OpenRedirect, RedirectHandler } from "../../../src/client/oauth/index.ts";
import { discovered } from "../scripted.ts";

type Members = Record<string, unknown>;

/** A request for tokens. */
export interface TokenRequest {
  readonly parameters: Readonly<Record<string, string>>;
  readonly authorization: string | undefined;
  readonly dpop: string | undefined;
  /** Whether the client is still there. */
  readonly isThere: () => boolean;
}

/** A response that a test uses in place of the usual response. */
export interface Reply {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

interface Grant {
  readonly challenge: string;
  readonly clientId: string;
  readonly scope: string;
}

export class Authority implements AsyncDisposable {
  readonly #mcp: Server;
  readonly #issuer: Server;
  readonly #codes = new Map<string, Grant>();
  /** Access tokens that the MCP server accepts, with their scopes. */
  readonly access = new Map<string, string>();
  readonly #refresh = new Map<string, string>();
  /** Paths that were requested at either server, in order. */
  readonly requests: string[] = [];
  /** The query of each authorization request. */
  readonly authorizations: Record<string, string>[] = [];
  readonly tokenRequests: TokenRequest[] = [];
  readonly registrations: Members[] = [];
  /** The parameters of each revocation request. The metadata name no endpoint for them unless a test adds it. */
  readonly revocations: Record<string, string>[] = [];
  /** Headers of the requests to the MCP server. */
  readonly calls: IncomingMessage["headers"][] = [];
  /** Members that replace members of the metadata. Undefined removes a member. */
  metadata: Members = {};
  resourceMetadata: Members = {};
  /** The time that tokens live, in seconds. */
  expiresIn: number | undefined = 3_600;
  /** Members that are added to the response of the authorization endpoint. */
  answer: Record<string, string> = {};
  /** Responses that replace the usual responses, by path. */
  readonly replies = new Map<string, Reply>();
  /** Runs before a token request gets its response. What it returns is the response. */
  onToken: (request: TokenRequest) => Promise<Reply | undefined> | Reply | undefined = () => undefined;
  /** Handles a revocation request. */
  onRevocation: (parameters: Readonly<Record<string, string>>) => Reply = () => ({});
  /** Returns the refusal of a request to the MCP server, or undefined if it is accepted. */
  challenge: (scope: string | undefined, message: Members) => Reply | undefined = (scope) =>
    scope === undefined ? this.unauthorized() : undefined;

  private constructor(mcp: Server, issuer: Server) {
    this.#mcp = mcp;
    this.#issuer = issuer;
  }

  static async start(): Promise<Authority> {
    const mcp = createServer((request, response) => void authority.#serveMcp(request, response));
    const issuer = createServer((request, response) => void authority.#serveIssuer(request, response));
    const authority = new Authority(mcp, issuer);
    for (const server of [mcp, issuer]) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return authority;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#mcp.address() as AddressInfo).port}`;
  }

  /** The URL of the MCP server. */
  get url(): string {
    return `${this.origin}/mcp`;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#issuer.address() as AddressInfo).port}`;
  }

  /** The number of times that a grant was exchanged for tokens. */
  readonly granted: string[] = [];

  count(grantType: string): number {
    return this.granted.filter((each) => each === grantType).length;
  }

  /** The grant type of each token request, refused ones included. */
  get attempts(): string[] {
    return this.tokenRequests.map(({ parameters }) => parameters.grant_type ?? "");
  }

  /** The refusal of a request without a valid token. */
  unauthorized(more = ""): Reply {
    const where = `${this.origin}/.well-known/oauth-protected-resource/mcp`;
    return { status: 401, headers: { "www-authenticate": `Bearer resource_metadata="${where}"${more}` }, body: {} };
  }

  /** Makes all access tokens invalid. Refresh tokens stay valid. */
  expire(): void {
    this.access.clear();
  }

  /** Makes every token invalid. */
  revoke(): void {
    this.access.clear();
    this.#refresh.clear();
  }

  /** A user's browser: it opens the page, consents, and is sent back. */
  browser(
    url = "http://127.0.0.1:8976/callback",
    change: (location: string) => string = (same) => same,
  ): RedirectHandler {
    const open: OpenRedirect = {
      url,
      authorize: async (page) => change(await visit(page)),
      close: () => undefined,
    };
    return { url, open: () => open };
  }

  async #serveMcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    this.requests.push(`${request.method} ${path}`);
    const text = (await request.toArray()).join("");
    const reply = this.replies.get(path);
    if (reply) return send(response, reply);
    if (path.startsWith("/.well-known/oauth-protected-resource")) {
      const body = { resource: this.url, authorization_servers: [this.issuer], ...this.resourceMetadata };
      return send(response, path.endsWith("/mcp") ? { body } : { status: 404 });
    }
    if (path !== "/mcp") return send(response, { status: 404 });
    this.calls.push(request.headers);
    const message = text === "" ? {} : (JSON.parse(text) as Members);
    const [, token = ""] = /^(?:Bearer|DPoP) (.*)$/.exec(request.headers.authorization ?? "") ?? [];
    const refusal = this.challenge(this.access.get(token), message);
    if (refusal) return send(response, refusal);
    const result =
      message.method === "server/discover" ? discovered() : { resultType: "complete", content: [], tools: [] };
    send(response, {
      body: { jsonrpc: "2.0", id: message.id, result: { ttlMs: 0, cacheScope: "private", ...result } },
    });
  }

  async #serveIssuer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", this.issuer);
    this.requests.push(`${request.method} ${url.pathname}`);
    const text = (await request.toArray()).join("");
    const reply = this.replies.get(url.pathname);
    if (reply) return send(response, reply);
    if (url.pathname === "/.well-known/oauth-authorization-server") return send(response, { body: this.#metadata() });
    if (url.pathname === "/authorize") return send(response, this.#authorize(Object.fromEntries(url.searchParams)));
    if (url.pathname === "/register") return send(response, this.#register(JSON.parse(text) as Members));
    if (url.pathname === "/revoke") {
      const parameters = Object.fromEntries(new URLSearchParams(text));
      this.revocations.push(parameters);
      return send(response, this.onRevocation(parameters));
    }
    if (url.pathname !== "/token") return send(response, { status: 404 });
    let isThere = true;
    response.on("close", () => {
      isThere = false;
    });
    const asked: TokenRequest = {
      parameters: Object.fromEntries(new URLSearchParams(text)),
      authorization: request.headers.authorization,
      dpop: request.headers.dpop as string | undefined,
      isThere: () => isThere,
    };
    this.tokenRequests.push(asked);
    send(response, (await this.onToken(asked)) ?? this.#token(asked.parameters));
  }

  #metadata(): Members {
    const own = this.issuer;
    return {
      issuer: own,
      authorization_endpoint: `${own}/authorize`,
      token_endpoint: `${own}/token`,
      registration_endpoint: `${own}/register`,
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
      ...this.metadata,
    };
  }

  #register(metadata: Members): Reply {
    this.registrations.push(metadata);
    return { status: 201, body: { ...metadata, client_id: `client-${this.registrations.length}` } };
  }

  #authorize(query: Record<string, string>): Reply {
    this.authorizations.push(query);
    const code = randomUUID();
    const { code_challenge: challenge = "", client_id: clientId = "", scope = "" } = query;
    this.#codes.set(code, { challenge, clientId, scope });
    const location = new URL(query.redirect_uri ?? "");
    const answer = { code, state: query.state ?? "", ...this.answer };
    for (const [name, value] of Object.entries(answer)) location.searchParams.set(name, value);
    return { status: 302, headers: { location: location.href } };
  }

  #token(parameters: Readonly<Record<string, string>>): Reply {
    const { grant_type: type = "", code = "", code_verifier: verifier = "", refresh_token: old = "" } = parameters;
    const refuse = (error: string): Reply => ({ status: 400, body: { error } });
    if (type === "refresh_token") {
      const scope = this.#refresh.get(old);
      if (scope === undefined) return refuse("invalid_grant");
      this.#refresh.delete(old);
      return this.issue(type, scope);
    }
    if (type !== "authorization_code") return this.issue(type, parameters.scope ?? "");
    const grant = this.#codes.get(code);
    this.#codes.delete(code);
    const hash = createHash("sha256").update(verifier).digest("base64url");
    return grant && grant.challenge === hash ? this.issue(type, grant.scope) : refuse("invalid_grant");
  }

  /** Issues tokens. */
  issue(type: string, scope: string, tokenType = "Bearer"): Reply {
    const [access, refresh] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    this.granted.push(type);
    this.access.set(access, scope);
    this.#refresh.set(refresh, scope);
    const body = { access_token: access, token_type: tokenType, expires_in: this.expiresIn, refresh_token: refresh };
    return { body: scope ? { ...body, scope } : body };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of [this.#mcp, this.#issuer]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }
}

/** Opens a page as a browser does, and returns where it leads. */
export async function visit(page: string): Promise<string> {
  const response = await fetch(page, { redirect: "manual" });
  const location = response.headers.get("location");
  if (location === null) throw new Error(`The page has status ${response.status}.`);
  return location;
}

function send(response: ServerResponse, { status = 200, headers = {}, body }: Reply): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body));
}
