/** A real authorization server, oidc-provider, and an MCP server that accepts its tokens. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Provider, { type Configuration } from "oidc-provider";
import { ignoreLogs } from "../../harness/logs.ts";
import { CACHED, discovered } from "../scripted.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

async function listen(handler: Handler): Promise<{ server: Server; origin: string }> {
  const server = createServer((request, response) => void handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

export class RealAuthority implements AsyncDisposable {
  readonly provider: Provider;
  readonly issuer: string;
  /** The URL of the MCP server. */
  readonly url: string;
  readonly #servers: readonly Server[];
  /** Access tokens that the MCP server has seen. */
  readonly seen = new Set<string>();
  /** Access tokens that it no longer accepts. */
  readonly expired = new Set<string>();
  /** The grants that were exchanged for tokens. */
  readonly granted: string[] = [];
  /** Whether the user sees pages and clicks. Otherwise the user agrees to everything at once. */
  hasPages = false;
  /** Runs before a request for tokens is read. If it returns false, the request is lost. */
  onToken: (request: IncomingMessage) => Promise<boolean> | boolean = () => true;

  private constructor(provider: Provider, issuer: string, url: string, servers: readonly Server[]) {
    this.provider = provider;
    this.issuer = issuer;
    this.url = url;
    this.#servers = servers;
  }

  static async start(more: Configuration = {}): Promise<RealAuthority> {
    let onIssuer: Handler = () => undefined;
    let onMcp: Handler = () => undefined;
    const issuer = await listen((request, response) => onIssuer(request, response));
    const mcp = await listen((request, response) => onMcp(request, response));
    const url = `${mcp.origin}/mcp`;
    ignoreLogs(/^oidc-provider (WARNING|NOTICE): /);
    const provider = new Provider(issuer.origin, configurationFor(url, more));
    const authority = new RealAuthority(provider, issuer.origin, url, [issuer.server, mcp.server]);
    provider.on("grant.success", (context) => {
      authority.granted.push(String(context.oidc.params?.grant_type));
    });
    const usual = provider.callback();
    onIssuer = async (request, response) => {
      if (request.url?.startsWith("/interaction/")) return authority.#interact(request, response);
      if (request.url === "/token" && !(await authority.onToken(request))) return request.socket.destroy();
      return usual(request, response);
    };
    onMcp = (request, response) => authority.#serve(request, response);
    return authority;
  }

  /** Makes the MCP server refuse all access tokens that it has seen. */
  expire(): void {
    for (const token of this.seen) this.expired.add(token);
  }

  async #interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.hasPages || request.method === "POST") return this.#agree(request, response);
    const { prompt } = await this.provider.interactionDetails(request, response);
    const page = `<!doctype html><title>${prompt.name}</title><form method="post"><button>Agree</button></form>`;
    response.writeHead(200, { "content-type": "text/html" }).end(page);
  }

  /** Logs the user in, or consents. */
  async #agree(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session } = await this.provider.interactionDetails(request, response);
    if (prompt.name === "login") {
      return this.provider.interactionFinished(request, response, { login: { accountId: "ada" } });
    }
    const grant = new this.provider.Grant({ accountId: session?.accountId ?? "", clientId: String(params.client_id) });
    grant.addOIDCScope(String(params.scope ?? "openid offline_access"));
    grant.addResourceScope(this.url, "read write");
    await this.provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await request.toArray()).join("");
    const reply = (status: number, body: unknown, headers = {}) => {
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
    };
    const metadata = { resource: this.url, authorization_servers: [this.issuer], scopes_supported: ["read"] };
    if (request.url === "/.well-known/oauth-protected-resource/mcp") return reply(200, metadata);
    if (request.url !== "/mcp") return reply(404, {});
    const [, scheme = "", token = ""] = /^(\w+) (.*)$/.exec(request.headers.authorization ?? "") ?? [];
    const found = await this.provider.AccessToken.find(token);
    const machine = found ?? (await this.provider.ClientCredentials.find(token));
    this.seen.add(token);
    const isBound = machine?.jkt !== undefined;
    const isMeant = machine?.aud === this.url && isBound === (scheme === "DPoP") && !this.expired.has(token);
    if (!isMeant) return reply(401, {}, { "www-authenticate": "Bearer" });
    const message = JSON.parse(text) as { id: unknown; method: string };
    const results: Record<string, object> = {
      "server/discover": discovered(),
      "tools/list": { ...CACHED, tools: [{ name: "add", inputSchema: { type: "object" } }] },
    };
    const result = results[message.method] ?? { resultType: "complete", content: [{ type: "text", text: "added" }] };
    return reply(200, { jsonrpc: "2.0", id: message.id, result });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }
}

function configurationFor(url: string, more: Configuration): Configuration {
  return {
    scopes: ["openid", "offline_access"],
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    cookies: { keys: ["test"] },
    interactions: { url: (_context: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}` },
    // Only a client that may refresh gets a refresh token.
    issueRefreshToken: (_context: unknown, client: { grantTypeAllowed(type: string): boolean }) =>
      client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      revocation: { enabled: true },
      dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 1), requireNonce: () => true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: "read write", audience: url, accessTokenFormat: "opaque" }),
      },
    },
    ...more,
  };
}

/** A browser with cookies: follows redirects until they leave the authorization server. */
export async function browse(page: string): Promise<string> {
  const cookies = new Map<string, string>();
  let url = page;
  for (let hops = 0; hops < 20; hops += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const each of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null)
      throw new Error(`The page has status ${response.status}: ${(await response.text()).slice(0, 500)}`);
    const next = new URL(location, url);
    if (next.origin !== new URL(page).origin) return next.href;
    url = next.href;
  }
  throw new Error("Too many redirects.");
}
