/**
 * Sends requests to URLs that servers have named. A hostile server could name a URL in the network of the client (server-side request
 * forgery). URLs are therefore checked, redirects are not followed, and size and time are limited.
 *
 * @module
 * @see MCP 2026-07-28, docs/tutorials/security/security_best_practices, "Server-Side Request Forgery (SSRF)"
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { ClientError, toText } from "../basics/errors.ts";
import { readText } from "../transports/event-reader.ts";
import type { FetchFunction } from "../transports/fetch-options.ts";
import { OAuthError } from "./errors.ts";

/** The maximum size of a response, in bytes. The largest known metadata documents have about 20 KB. */
const RESPONSE_BYTES_MAX = 256 * 1024;

/** Returns the IP addresses of a host name. If it rejects, the name is treated as a name without addresses. */
export type ResolveFunction = (hostname: string) => Promise<readonly string[]>;

/** The settings of the requests for metadata and tokens of one MCP server. */
export interface Net {
  /** The MCP server whose metadata led to the requests. */
  readonly server: URL;
  /** Sends a request without adding a token. */
  readonly fetch: FetchFunction;
  /** The time limit of each request, in milliseconds. */
  readonly timeoutMs: number;
  /** Resolves a host name. Undefined if the runtime does not support that. */
  readonly resolve?: ResolveFunction | undefined;
}

/** The kinds of hosts, from public to local. */
const PUBLIC = 0;
const PRIVATE = 1;
const LOOPBACK = 2;

const THIS_MACHINE = /^(127\.\d+\.\d+\.\d+|\[?::1\]?|(.+\.)?localhost)\.?$/;

/** Whether credentials may be sent to a URL: over TLS, or to this machine. */
export function isConfidential({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && THIS_MACHINE.test(hostname));
}

/**
 * Checks a URL that a server has named.
 *
 * @param what The purpose of the URL, for the error.
 * @throws {OAuthError} `address-refused`.
 */
export async function checkAddress(net: Pick<Net, "server" | "resolve">, what: string, address: unknown): Promise<URL> {
  const refuse = (problem: string) =>
    new OAuthError("address-refused", `${what} ${JSON.stringify(address)} is refused: ${problem}.`);
  if (typeof address !== "string" || !URL.canParse(address)) throw refuse("it is not a URL");
  const url = new URL(address);
  if (!isConfidential(url)) throw refuse("use https; http is only for this machine");
  if (url.username || url.password) throw refuse("it contains credentials");
  // Only a sign-in needs the rules for addresses, so they are loaded on demand.
  const { isPublicHost } = await import("../../core/basics/addresses.ts");
  const findZone = (hostname: string) => {
    if (THIS_MACHINE.test(hostname)) return LOOPBACK;
    return isPublicHost(hostname.replace(/\.$/, "")) ? PUBLIC : PRIVATE;
  };
  const own = findZone(net.server.hostname);
  // A server must not direct requests to a more private network than its own.
  const names = [url.hostname];
  // A name that cannot be resolved cannot be requested either.
  if (net.resolve && own === PUBLIC) names.push(...(await net.resolve(url.hostname).catch(() => [])));
  if (names.some((name) => findZone(name) > own)) throw refuse(`${net.server.host} is not in the same network`);
  return url;
}

/**
 * Sends a request, and returns the response after reading its body within the limits. Redirects are not followed. Of the headers, only
 * `DPoP-Nonce` is kept.
 *
 * @throws {OAuthError} `unreachable`, or `address-refused`.
 */
export async function request(net: Net, what: string, address: unknown, init: RequestInit = {}): Promise<Response> {
  const url = await checkAddress(net, what, address);
  try {
    const signal = AbortSignal.timeout(net.timeoutMs);
    const response = await net.fetch(url.href, { ...init, redirect: "manual", signal });
    const text = await readText(response, RESPONSE_BYTES_MAX);
    // In a browser the status of a redirect is 0, which a new Response cannot have.
    const status = response.status < 200 || [204, 205, 304].includes(response.status) ? 404 : response.status;
    // Other headers, such as Content-Encoding, describe the body as it was sent.
    const nonce = response.headers.get("dpop-nonce");
    return new Response(text, { status, headers: nonce === null ? {} : { "dpop-nonce": nonce } });
  } catch (cause) {
    const problem = ClientError.is(cause) ? `it sent more than ${RESPONSE_BYTES_MAX} bytes` : toText(cause);
    throw new OAuthError("unreachable", `${what} (${url.origin}) sent no usable response: ${problem}.`, { cause });
  }
}

/** Returns the JSON object in the body of a response; undefined if the body is anything else. */
export async function findObject(response: Response): Promise<JsonObject | undefined> {
  try {
    const value: unknown = await response.json();
    return isObject(value) ? value : undefined;
  } catch {
    // The body is not JSON, but for example a web page.
    return undefined;
  }
}
