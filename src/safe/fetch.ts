/**
 * A `fetch` for URLs from outside that does not reach private networks.
 *
 * @module
 */
import { COUNT, checkOptions, type OptionTable, SIZE, TIMER } from "../core/protocol/check-options.ts";
import { boundResponse, toFailure } from "./bounded-response.ts";
import { RefusedError, refusedValue } from "./refused.ts";
import { findUrlProblem, isListed, readHosts, type UrlRules } from "./url-rules.ts";

/** Options of {@link createSafeFetch}. */
export interface SafeFetchOptions {
  /**
   * The hosts that may be requested: `api.example.com` for one host, `*.example.com` for its subdomains, and
   * `api.example.com:8443` for another port than the default one.
   *
   * @default every public host, on the default port
   */
  readonly hosts?: readonly string[];
  /**
   * Hosts that may have private addresses, in addition to `hosts`, and that may be requested over `http:`. Use it for
   * services of your own network, such as `localhost:8080`, and never for a name that others control.
   *
   * @default none
   */
  readonly privateHosts?: readonly string[];
  /** Whether `http:` is allowed for every host. Others can then read and change what is sent. @default false */
  readonly allowHttp?: boolean;
  /** The maximum number of redirects that are followed. Each one is checked like the first URL. @default 5 */
  readonly redirectsMax?: number;
  /** The maximum number of bytes of an answer, after decompression. @default 10 MiB */
  readonly responseBytesMax?: number;
  /** Milliseconds for everything: redirects, headers and body. @default 30,000 */
  readonly timeoutMs?: number;
}

/** A function with the parameters of `fetch`. */
export type SafeFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** The parts of a request that are sent to one URL. */
export interface SentRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
  readonly signal: AbortSignal;
}

/**
 * Sends a request without following redirects.
 *
 * @param isPrivate Whether the host may have a private address.
 */
export type Sender = (url: URL, sent: SentRequest, isPrivate: boolean) => Promise<Response>;

/** The table that checks the options. */
export const SAFE_FETCH: OptionTable<SafeFetchOptions> = {
  hosts: null,
  privateHosts: null,
  allowHttp: null,
  redirectsMax: COUNT,
  responseBytesMax: SIZE,
  timeoutMs: TIMER,
};

/**
 * Returns a `fetch` for URLs that come from a model or another outsider. It stops server-side request forgery:
 *
 * - Only `https:`, no user names and passwords, only the default port, and only `hosts` if they are given.
 * - No addresses that are not public (loopback, private, link-local, cloud metadata, multicast), in any notation, and
 * no
 *   names such as `localhost`, `metadata`, `db.internal`, `kubernetes.default.svc` or `x.consul`.
 * - Each redirect is checked like the first URL. To another origin, only `Accept`, `Accept-Language`, `Content-Type`
 * and
 *   `User-Agent` are sent, and a request with a body is not redirected.
 * - Time and size are limited. The limits include the body.
 *
 * Names are not resolved. On Cloudflare's network a Worker reaches only public addresses unless you bind a private
 * network to it. The compatibility flag `global_fetch_strictly_public` also prevents requests that bypass the
 * protection of your own zone. On Node, use `createPinnedFetch` of `mcp-edge/node`: it checks the resolved addresses.
 * `wrangler dev` behaves like a program on your machine.
 *
 * The returned function rejects with a `RefusedError` (`address`, `redirect`, `too-large`, `timeout`), with the reason
 * of an aborted signal, or as `fetch` does. The option `redirect` is respected only if it is `"manual"`.
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function createSafeFetch(options: SafeFetchOptions = {}): SafeFetch {
  checkOptions("createSafeFetch(): ", options, SAFE_FETCH);
  return createFetch(options, (url, { method, headers, body, signal }) => {
    return fetch(url, { method, headers, signal, redirect: "manual", ...(body ? { body } : {}) });
  });
}

/** Returns a safe `fetch` that sends requests with a function of its own. */
export function createFetch(options: SafeFetchOptions, send: Sender): SafeFetch {
  const { hosts, privateHosts = [], allowHttp = false } = options;
  const { redirectsMax = 5, responseBytesMax = 10 * 1024 * 1024, timeoutMs = 30_000 } = options;
  const rules: UrlRules = {
    hosts: hosts && readHosts("hosts", hosts),
    privateHosts: readHosts("privateHosts", privateHosts),
    allowHttp,
  };
  return async (input, init) => {
    const first = input instanceof Request ? input.url : String(input);
    if (!URL.canParse(first)) throw refusedValue("address", "URL", first, "it is not an absolute URL");
    // Before a Request is created, which would throw a less clear error for a URL with a password.
    check(new URL(first), rules, first);
    const request = new Request(input, init);
    const { timeout, end } = startTimeout(timeoutMs);
    const signal = AbortSignal.any([timeout, request.signal]);
    const limits = { bytesMax: responseBytesMax, signal, timeout, timeoutMs, end };
    try {
      const start = { url: new URL(first), sent: await readRequest(request, signal) };
      return await boundResponse(
        await follow(start, { rules, redirectsMax, send, isManual: request.redirect === "manual" }),
        limits,
      );
    } catch (error) {
      end();
      throw toFailure(error, limits);
    }
  };
}

/**
 * Returns a signal that aborts after a time, and a function that stops the timer. `AbortSignal.timeout()` cannot be
 * stopped, and a pending timer keeps a Durable Object in memory.
 */
function startTimeout(timeoutMs: number): { readonly timeout: AbortSignal; readonly end: () => void } {
  const controller = new AbortController();
  const timer: unknown = setTimeout(() => controller.abort(), timeoutMs);
  // On Node, a body that is never read does not keep the process running.
  (timer as { unref?: () => void }).unref?.();
  return { timeout: controller.signal, end: () => clearTimeout(timer as number) };
}

async function readRequest(request: Request, signal: AbortSignal): Promise<SentRequest> {
  const headers = new Headers(request.headers);
  // The host decides which site of a server answers, so it must be that of the checked URL.
  headers.delete("Host");
  const bytes = new Uint8Array(await request.arrayBuffer());
  return { method: request.method, headers, body: bytes.length > 0 ? bytes : undefined, signal };
}

interface Hop {
  readonly url: URL;
  readonly sent: SentRequest;
}

interface Following {
  readonly rules: UrlRules;
  readonly redirectsMax: number;
  readonly send: Sender;
  readonly isManual: boolean;
}

/** Sends a request and follows its redirects. */
async function follow(start: Hop, { rules, redirectsMax, send, isManual }: Following): Promise<Response> {
  let { url, sent } = start;
  for (let redirects = 0; ; redirects++) {
    const response = await send(url, sent, isListed(url, rules.privateHosts));
    const location = REDIRECTS.has(response.status) && !isManual ? response.headers.get("Location") : null;
    if (location === null) return withUrl(response, url);
    await response.body?.cancel();
    if (redirects >= redirectsMax)
      throw new RefusedError("redirect", `More than ${redirectsMax} redirects were not followed.`);
    ({ url, sent } = redirected({ url, sent }, response.status, location));
    check(url, rules);
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The headers that another origin may get. All others may contain credentials. */
const FOR_OTHER_ORIGINS = ["Accept", "Accept-Language", "Content-Type", "User-Agent"];

/** Returns the request that follows a redirect. @see Fetch Standard, "HTTP-redirect fetch" */
function redirected({ url, sent }: Hop, status: number, location: string): Hop {
  if (!URL.canParse(location, url.href)) throw redirectRefused("its URL is not valid");
  const next = new URL(location, url);
  const { method, headers, body, signal } = sent;
  const isGet = status === 303 ? method !== "HEAD" : status < 303 && method === "POST";
  const isSameOrigin = next.origin === url.origin;
  if (!isSameOrigin && body && !isGet) throw redirectRefused("it would send the body to another origin");
  const kept = isSameOrigin ? new Headers(headers) : pickHeaders(headers, FOR_OTHER_ORIGINS);
  if (!isGet) return { url: next, sent: { method, headers: kept, body, signal } };
  for (const name of ["Content-Type", "Content-Encoding", "Content-Language", "Content-Location"]) kept.delete(name);
  return { url: next, sent: { method: "GET", headers: kept, body: undefined, signal } };
}

function pickHeaders(headers: Headers, names: readonly string[]): Headers {
  const kept = names.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : ([[name, value]] as [string, string][]);
  });
  return new Headers(kept);
}

/**
 * @param shown The URL as the caller gave it. The target of a redirect is not shown, because the caller does not know
 * it.
 */
function check(url: URL, rules: UrlRules, shown?: string): void {
  const problem = findUrlProblem(url, rules);
  if (problem === undefined) return;
  throw shown === undefined ? redirectRefused(problem) : refusedValue("address", "URL", shown, problem);
}

function redirectRefused(why: string): RefusedError {
  return new RefusedError("redirect", `The answer redirects to a URL that may not be requested: ${why}.`);
}

/** Sets the URL of a response that a sender created. */
function withUrl(response: Response, url: URL): Response {
  return Object.defineProperty(response, "url", { value: url.href, configurable: true });
}
