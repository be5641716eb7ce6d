/**
 * Checks the Host and Origin of a request against DNS rebinding and foreign web pages, and sets the CORS headers.
 *
 * @module
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Security & Endpoint"
 */
import { memo } from "../core/basics/memo.ts";
import type { Refusal } from "./refusal.ts";

/** The hosts and origins that are served. */
export interface OriginRules {
  /**
   * Host names (without port) that are served over plain HTTP in addition to loopback names. The check stops DNS
   * rebinding, in which an attacker lets the name of a web page resolve to the address of a local server. Over HTTPS
   * every host passes, because an attacker has no certificate for the name of the server. A POST or DELETE without
   * Origin passes too, because browsers always send Origin with these methods. Behind a proxy that terminates TLS, list
   * the public name here.
   *
   * @default none
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /**
   * Origins of web pages that may send requests, such as `https://app.example.com`; `"*"` admits all. Requests without
   * Origin (from programs), from the server's own origin, and from loopback pages to a loopback server (the Inspector)
   * are always served. The check does not stop programs, which may send any Origin: authenticate their users.
   *
   * @default none
   */
  readonly allowedOrigins?: readonly string[] | undefined;
}

/** Returns the parts of a request's URL. */
export const splitUrl = memo((url) => {
  const { protocol, hostname, host, origin, pathname } = new URL(url);
  return { protocol, hostname, host, origin, pathname };
});

/** Returns a refusal if the Host or the Origin is not allowed. @param header The request's Origin. */
export function checkOrigin(request: Request, header: string | null, rules: OriginRules): Refusal | undefined {
  // Browsers send Origin with every method but GET and HEAD, so this request comes from a program, which may send any
  // Host.
  if (header === null && (request.method === "POST" || request.method === "DELETE")) return undefined;
  const url = splitUrl(request.url);
  const isLocal = isLoopback(url.hostname);
  if (
    url.protocol === "http:" &&
    !isLocal &&
    !rules.allowedHosts?.some((host) => host.toLowerCase() === url.hostname)
  ) {
    return { reason: "host-not-allowed", host: url.host };
  }
  if (header === null) {
    // A page can make the browser send a GET without Origin. It cannot read the response, and must not open a stream
    // either.
    const isForeign = request.headers.get("Sec-Fetch-Site") === "cross-site";
    return isForeign ? { reason: "origin-not-allowed", origin: "(of another site)" } : undefined;
  }
  // Scheme and host are case-insensitive; a URL has them in lower case.
  const origin = canonicalOrigin(header);
  if (origin === url.origin) return undefined;
  if (rules.allowedOrigins?.some((allowed) => allowed === "*" || canonicalOrigin(allowed) === origin)) return undefined;
  if (isLocal && isLoopbackOrigin(origin)) return undefined;
  return { reason: "origin-not-allowed", origin: header };
}

/**
 * Returns an origin as `URL` writes it. "null" (sandboxed pages, files) and invalid origins are returned in lower case.
 */
function canonicalOrigin(origin: string): string {
  const { origin: written } = URL.canParse(origin) ? new URL(origin) : { origin: "null" };
  // For schemes that URL does not know (chrome-extension:) it returns "null", which would make their origins equal.
  return written === "null" ? origin.toLowerCase() : written;
}

function isLoopbackOrigin(origin: string): boolean {
  // Only web pages count, because the "host" in the origin of a desktop program does not identify a machine.
  return /^https?:/.test(origin) && URL.canParse(origin) && isLoopback(new URL(origin).hostname);
}

/** Returns whether a name always means this machine: `localhost` and its subdomains, 127.0.0.0/8, ::1. */
export function isLoopback(hostname: string): boolean {
  return /^(?:(?:.*\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

const EXPOSED = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After";

/**
 * Returns the response to a preflight. Allows every requested header, because tools define the names of `Mcp-Param-*`
 * headers.
 */
export function preflight(request: Request, allow: string): Response {
  const wanted = request.headers.get("Access-Control-Request-Headers");
  const headers: Record<string, string> = {
    Allow: `${allow}, OPTIONS`,
    "Access-Control-Allow-Methods": allow,
    "Access-Control-Max-Age": "86400",
  };
  if (wanted !== null) headers["Access-Control-Allow-Headers"] = wanted;
  return new Response(null, { status: 204, headers });
}

/** Adds the headers with which pages of an origin that has passed {@link checkOrigin} can read a response. */
export async function readableBy(origin: string, answer: Response | Promise<Response>): Promise<Response> {
  const response = await answer;
  const readable = new Response(response.body, response);
  const { headers } = readable;
  // The author's response may already have CORS headers. Values are appended, except for the origin, which must be
  // single.
  headers.set("Access-Control-Allow-Origin", origin);
  headers.append("Access-Control-Expose-Headers", EXPOSED);
  headers.append("Vary", "Origin");
  return readable;
}
