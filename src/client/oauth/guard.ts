/**
 * Sends requests to URLs that servers have named. A hostile server could name a URL inside the network of the client
 * (server-side request forgery), so the URL is checked, redirects are not followed, and size and time are limited.
 *
 * @module
 * @see MCP 2026-07-28, docs/tutorials/security/security_best_practices, "Server-Side Request Forgery (SSRF)"
 */
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { ClientError, toText } from "../basics/errors.ts";
import { readText } from "../transports/event-reader.ts";
import type { FetchFunction } from "../transports/fetch-options.ts";
import { OAuthError } from "./errors.ts";

/** The largest answer that is read, in bytes. The largest known metadata documents have about 20 KB. */
const ANSWER_BYTES_MAX = 256 * 1024;

/** Returns the IP addresses of a host name. If it rejects, the name counts as one without addresses. */
export type ResolveFunction = (hostname: string) => Promise<readonly string[]>;

/** How requests for metadata and tokens are made on behalf of one MCP server. */
export interface Net {
  /** The MCP server whose metadata led to the requests. */
  readonly server: URL;
  /** Sends a request without adding a token. */
  readonly fetch: FetchFunction;
  /** The time limit of each request, in milliseconds. */
  readonly timeoutMs: number;
  /** Looks up the addresses of a host. Undefined if the runtime cannot. */
  readonly resolve?: ResolveFunction | undefined;
}

/** How far a host is from the public network. Without a lookup, only the text of the host is known. */
const PUBLIC = 0;
const PRIVATE = 1;
const LOOPBACK = 2;

const THIS_MACHINE = /^(127\.\d+\.\d+\.\d+|\[?::1\]?|(.+\.)?localhost)\.?$/;

/** Whether credentials may travel to an address: over TLS, or within this machine. */
export function isConfidential({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && THIS_MACHINE.test(hostname));
}

/**
 * Checks a URL that a server has named.
 *
 * @param what What the URL is, for the error.
 * @throws {OAuthError} `address-refused`.
 */
export async function checkAddress(net: Pick<Net, "server" | "resolve">, what: string, address: unknown): Promise<URL> {
  const refuse = (problem: string) =>
    new OAuthError("address-refused", `${what} is ${JSON.stringify(address)}, which is not requested: ${problem}.`);
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
  // A public server must not lead requests into the client's network.
  const names = [url.hostname];
  // A name that cannot be looked up cannot be requested either.
  if (net.resolve && own === PUBLIC) names.push(...(await net.resolve(url.hostname).catch(() => [])));
  if (names.some((name) => findZone(name) > own)) throw refuse(`${net.server.host} is outside this network`);
  return url;
}

/**
 * Sends a request, and returns the answer with a body that has been read within the limits. Redirects are not followed.
 * Of the headers, only `DPoP-Nonce` is kept.
 *
 * @throws {OAuthError} `unreachable`, or `address-refused`.
 */
export async function request(net: Net, what: string, address: unknown, init: RequestInit = {}): Promise<Response> {
  const url = await checkAddress(net, what, address);
  try {
    const signal = AbortSignal.timeout(net.timeoutMs);
    const response = await net.fetch(url.href, { ...init, redirect: "manual", signal });
    const text = await readText(response, ANSWER_BYTES_MAX);
    // A browser hides redirects behind status 0, which a new response cannot have.
    const status = response.status < 200 || [204, 205, 304].includes(response.status) ? 404 : response.status;
    // Other headers describe the body as it was sent, compressed for example.
    const nonce = response.headers.get("dpop-nonce");
    return new Response(text, { status, headers: nonce === null ? {} : { "dpop-nonce": nonce } });
  } catch (cause) {
    const problem = ClientError.is(cause) ? `more than ${ANSWER_BYTES_MAX} bytes` : toText(cause);
    throw new OAuthError("unreachable", `${what} (${url.origin}) did not answer: ${problem}.`, { cause });
  }
}

/** Returns the JSON object in the body of an answer, or undefined if there is none. */
export async function findObject(response: Response): Promise<JsonObject | undefined> {
  try {
    const value: unknown = await response.json();
    return isObject(value) ? value : undefined;
  } catch {
    // The body is not JSON; it can be a web page, for example.
    return undefined;
  }
}
