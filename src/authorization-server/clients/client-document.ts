/**
 * Clients whose `client_id` is the URL of a document about them.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization/client-registration, "Client ID Metadata Documents"
 */
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { isLoopback } from "../../http/origin.ts";
import { createSafeFetch } from "../../safe/fetch.ts";
import { parseObject } from "../../worker/access/auth/fetch-json.ts";
import { DocumentCache } from "./document-cache.ts";
import { DocumentLoads, type DocumentRequest } from "./document-loads.ts";
import { cleanName } from "./names.ts";
import type { OAuthClient } from "./oauth-client.ts";
import { findRedirectProblem } from "./redirects.ts";

/**
 * The longest `client_id` and the largest document, in characters and bytes.
 * @limit characters A `client_id` that is a URL. The user gets a page with the reason.
 */
const URL_MAX = 500;
/**
 * @limit bytes The metadata document of a client. The user gets a page with the reason.
 */
const BYTES_MAX = 16 * 1024;
/** Milliseconds for which an isolate keeps a document, or the fact that there is none. */
const KEPT_MS = 10 * 60_000;
const FAILED_MS = 30_000;
/**
 * @limit ms The time in which a metadata document must arrive. The user gets a page with the reason.
 */
const TIMEOUT_MS = 5_000;
/** Milliseconds that a request waits for a document, which another request may have asked for. */
const WAIT_MS = TIMEOUT_MS + 1_000;
/**
 * The maximum number of documents that an isolate keeps, and the maximum number of URLs of which it remembers that
 * there is none.
 * @limit count Metadata documents that an isolate keeps, each for ten minutes. The oldest is requested again.
 */
const KEPT_MAX = 200;
/**
 * The maximum number of redirect URIs of a document.
 * @limit count Redirect URIs of a metadata document. The user gets a page with the reason.
 */
const REDIRECTS_MAX = 20;

/** Requests the documents of clients, and keeps them for a while. */
export class ClientDocuments {
  readonly #schemes: readonly string[];
  readonly #clients = new DocumentCache<OAuthClient>(KEPT_MAX, KEPT_MS);
  /** Kept apart, so that invented URLs, of which everyone has any number, replace no document. */
  readonly #failures = new DocumentCache<string>(KEPT_MAX, FAILED_MS);
  readonly #loads = new DocumentLoads<OAuthClient | string>(WAIT_MS);

  /** @param schemes The private-use schemes that redirect URIs may have. */
  constructor(schemes: readonly string[]) {
    this.#schemes = schemes;
  }

  /** Returns the client, or why there is none. */
  async find(asked: DocumentRequest, issuer: string): Promise<OAuthClient | string> {
    const { id } = asked;
    const isLocal = isLoopback(new URL(issuer).hostname);
    const problem = findUrlProblem(id, isLocal);
    if (problem !== undefined) return problem;
    return this.#clients.get(id) ?? this.#failures.get(id) ?? this.#loads.join(asked, () => this.#request(id, isLocal));
  }

  async #request(id: string, isLocal: boolean): Promise<OAuthClient | string> {
    const client = await this.#load(id, isLocal);
    if (typeof client === "string") this.#failures.set(id, client);
    else this.#clients.set(id, client);
    return client;
  }

  async #load(id: string, isLocal: boolean): Promise<OAuthClient | string> {
    const privateHosts = isLocal && isLoopback(new URL(id).hostname) ? [new URL(id).host] : [];
    const request = createSafeFetch({
      responseBytesMax: BYTES_MAX,
      timeoutMs: TIMEOUT_MS,
      privateHosts,
      redirectsMax: 0,
    });
    let document: JsonObject | undefined;
    try {
      const response = await request(id, { headers: { Accept: "application/json" }, redirect: "manual" });
      if (response.status !== 200) return `The document of the client was answered with the status ${response.status}.`;
      document = parseObject(await response.text());
    } catch (error) {
      // Without the stack: everyone can cause this line.
      console.warn(`mcp-edge: the document of a client could not be requested: ${(error as Error).message}`);
      return "The document of the client could not be requested.";
    }
    return document ? toClient(id, document, this.#schemes) : "The document of the client is not a JSON object.";
  }
}

/** Says why a URL cannot be a `client_id`; undefined if it can. */
function findUrlProblem(id: string, isLocal: boolean): string | undefined {
  if (id.length > URL_MAX || !URL.canParse(id)) return `client_id is not a URL of at most ${URL_MAX} characters.`;
  const { protocol, hostname, username, password, pathname, href } = new URL(id);
  // On the author's machine, so can the clients that are developed there.
  const isHere = isLocal && protocol === "http:" && isLoopback(hostname);
  if (protocol !== "https:" && !isHere) return "client_id is a URL whose scheme is not https.";
  if (username !== "" || password !== "" || id.includes("#"))
    return "client_id has a user name, a password or a fragment.";
  // Two texts for one URL would be two clients with one document.
  if (pathname === "/" || href !== id) return "client_id is a URL without a path, or not in its normal form.";
  return undefined;
}

/** Reads a document. Returns why it cannot be used. */
function toClient(id: string, document: JsonObject, schemes: readonly string[]): OAuthClient | string {
  const { client_id, client_name, redirect_uris } = document;
  if (client_id !== id) return "The document of the client names another client_id.";
  if (document.client_secret !== undefined) return "The document of the client contains a secret.";
  if (!isPublic(document)) return "The client authenticates in a way that this server does not support.";
  if (!Array.isArray(redirect_uris) || redirect_uris.length === 0 || redirect_uris.length > REDIRECTS_MAX) {
    return `The document of the client has no redirect_uris, or more than ${REDIRECTS_MAX}.`;
  }
  // Those of other servers, which may have other schemes, are no reason to refuse the client.
  const redirectUris = redirect_uris.filter((uri) => findRedirectProblem(uri, schemes) === undefined) as string[];
  return {
    id,
    name: cleanName(client_name) ?? new URL(id).host,
    redirectUris,
    source: "document",
    method: "none",
  };
}

/** Whether a client may use the token endpoint without credentials. */
function isPublic({
  token_endpoint_auth_method: method = "none",
  token_endpoint_auth_methods_supported: all,
}: JsonObject) {
  return method === "none" || (Array.isArray(all) && all.includes("none"));
}
