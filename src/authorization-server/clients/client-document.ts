/**
 * Clients whose `client_id` is the URL of their metadata document.
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
 * The maximum number of characters of a `client_id` that is a URL.
 * @limit characters A `client_id` that is a URL. A longer one is refused with a page that states the reason.
 */
const URL_MAX = 500;
/**
 * The maximum number of bytes of a document.
 * @limit bytes The metadata document of a client. A larger one is refused with a page that states the reason.
 */
const BYTES_MAX = 16 * 1024;
/** How long an isolate caches a document, in milliseconds. */
const CACHED_MS = 10 * 60_000;
/** How long an isolate caches a failure, in milliseconds. */
const FAILED_MS = 30_000;
/**
 * The time limit of a request for a document, in milliseconds.
 * @limit ms The request for a metadata document. After it, the client is refused with a page that states the reason.
 */
const TIMEOUT_MS = 5_000;
/** How long a request waits for a document that it or another request is loading, in milliseconds. */
const WAIT_MS = TIMEOUT_MS + 1_000;
/**
 * The maximum number of documents that an isolate caches, and the maximum number of failures.
 * @limit count Metadata documents that an isolate caches, each for ten minutes. When it is reached, the oldest document of the host
 * with the most is removed.
 */
const CACHED_MAX = 200;
/**
 * The maximum number of redirect URIs of a document.
 * @limit count Redirect URIs of a metadata document. A document with more is refused with a page that states the reason.
 */
const REDIRECTS_MAX = 20;

/** Requests the metadata documents of clients, and caches them. */
export class ClientDocuments {
  readonly #schemes: readonly string[];
  readonly #clients = new DocumentCache<OAuthClient>(CACHED_MAX, CACHED_MS);
  /** A separate cache, because anyone can invent any number of URLs, and these must not evict documents. */
  readonly #failures = new DocumentCache<string>(CACHED_MAX, FAILED_MS);
  readonly #loads = new DocumentLoads<OAuthClient | string>(WAIT_MS);

  /** @param schemes The private-use schemes that redirect URIs may have. */
  constructor(schemes: readonly string[]) {
    this.#schemes = schemes;
  }

  /** Returns the client, or the reason why it cannot be used. */
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
      if (response.status !== 200)
        return `The request for the metadata document of the client failed with the status ${response.status}.`;
      document = parseObject(await response.text());
    } catch (error) {
      // The stack is not logged, because anyone can cause this error.
      console.warn(`mcp-edge: the metadata document of a client could not be requested: ${(error as Error).message}`);
      return "The metadata document of the client could not be requested.";
    }
    return document
      ? toClient(id, document, this.#schemes)
      : "The metadata document of the client is not a JSON object.";
  }
}

/** Returns why a URL cannot be a `client_id`, or undefined if it can. */
function findUrlProblem(id: string, isLocal: boolean): string | undefined {
  if (id.length > URL_MAX || !URL.canParse(id)) return `client_id is not a URL of at most ${URL_MAX} characters.`;
  const { protocol, hostname, username, password, pathname, href } = new URL(id);
  // A server on the author's machine also accepts clients on that machine, for development.
  const isHere = isLocal && protocol === "http:" && isLoopback(hostname);
  if (protocol !== "https:" && !isHere) return "client_id is a URL whose scheme is not https.";
  if (username !== "" || password !== "" || id.includes("#"))
    return "client_id has a user name, a password or a fragment.";
  // If a URL could be written in several ways, one document would describe several clients.
  if (pathname === "/" || href !== id) return "client_id is a URL without a path, or is not normalized.";
  return undefined;
}

/** Returns the client of a document, or the reason why the document cannot be used. */
function toClient(id: string, document: JsonObject, schemes: readonly string[]): OAuthClient | string {
  const { client_id, client_name, redirect_uris } = document;
  if (client_id !== id) return "The metadata document of the client contains another client_id.";
  if (document.client_secret !== undefined) return "The metadata document of the client contains a secret.";
  if (!isPublic(document)) return "The client requires an authentication method that this server does not support.";
  if (!Array.isArray(redirect_uris) || redirect_uris.length === 0 || redirect_uris.length > REDIRECTS_MAX) {
    return `The metadata document of the client has no redirect_uris, or more than ${REDIRECTS_MAX}.`;
  }
  // Redirect URIs that are not allowed here are ignored, because other servers may allow them.
  const redirectUris = redirect_uris.filter((uri) => findRedirectProblem(uri, schemes) === undefined) as string[];
  return {
    id,
    name: cleanName(client_name) ?? new URL(id).host,
    redirectUris,
    source: "document",
    method: "none",
  };
}

/** Returns whether a client can use the token endpoint without credentials. */
function isPublic({
  token_endpoint_auth_method: method = "none",
  token_endpoint_auth_methods_supported: all,
}: JsonObject) {
  return method === "none" || (Array.isArray(all) && all.includes("none"));
}
