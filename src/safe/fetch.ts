/**
 * A `fetch` for untrusted URLs that does not reach private networks.
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
   * `api.example.com:8443` for a port other than the default port.
   *
   * @default all public hosts, on the default port
   */
  readonly hosts?: readonly string[];
  /**
   * Hosts that may have private addresses and may be requested over `http:`, in addition to `hosts`. Use it for services in your
   * own network, such as `localhost:8080`, and never for a name that others control.
   *
   * @default none
   */
  readonly privateHosts?: readonly string[];
  /** Whether `http:` is allowed for all hosts. Others can then read and change the data on its way. @default false */
  readonly allowHttp?: boolean;
  /** The maximum number of redirects that are followed. Each target is checked like the first URL. @default 5 */
  readonly redirectsMax?: number;
  /** The maximum size of a response in bytes, after decompression. @default 10 MiB */
  readonly responseBytesMax?: number;
  /** The time limit for the whole request, including redirects and the body, in milliseconds. @default 30,000 */
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
 * Creates a `fetch` for URLs from a model or another untrusted source. It prevents server-side request forgery:
 *
 * - Only `https:` URLs without user name and password are requested, only on the default port, and only from `hosts` if this
 *   option is set.
 * - Addresses that are not public (loopback, private, link-local, cloud metadata, multicast) are refused in any notation, and so
 *   are names such as `localhost`, `metadata`, `db.internal`, `kubernetes.default.svc` and `x.consul`.
 * - The target of each redirect is checked like the first URL. Only `Accept`, `Accept-Language`, `Content-Type` and `User-Agent`
 *   are sent to another origin, and a request with a body is not redirected to another origin.
 * - Time and size are limited, including the body.
 *
 * Names are not resolved. On Cloudflare's network, a Worker reaches only public addresses unless you bind a private network to
 * it. The compatibility flag `global_fetch_strictly_public` also prevents requests that bypass the protection of your own zone.
 * On Node, use `createPinnedFetch` of `mcp-edge/node`, which checks the resolved addresses. `wrangler dev` runs on your machine
 * and can reach its network.
 *
 * The returned function rejects with a `RefusedError` (`address`, `redirect`, `too-large`, `timeout`), with the reason of an aborted
 * signal, or with the error of `fetch`. The only value of the option `redirect` that has an effect is `"manual"`.
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function createSafeFetch(options: SafeFetchOptions = {}): SafeFetch {
  checkOptions("createSafeFetch(): ", options, SAFE_FETCH);
  return createFetch(options, (url, { method, headers, body, signal }) => {
    return fetch(url, { method, headers, signal, redirect: "manual", ...(body ? { body } : {}) });
  });
}

/** Creates a safe `fetch` that sends its requests with the given function. */
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
    // Checked before a Request is created, whose error for a URL with a password would be less clear.
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
  // On Node, the timer of a body that is never read must not keep the process running.
  (timer as { unref?: () => void }).unref?.();
  return { timeout: controller.signal, end: () => clearTimeout(timer as number) };
}

async function readRequest(request: Request, signal: AbortSignal): Promise<SentRequest> {
  const headers = new Headers(request.headers);
  // A server can have several sites, so the Host header must match the checked URL.
  headers.delete("Host");
  const bytes = new Uint8Array(await request.arrayBuffer());
  return { method: request.method, headers, body: bytes.length > 0 ? bytes : undefined, signal };
}

/** A request in a chain of redirects. */
interface Hop {
  readonly url: URL;
  readonly sent: SentRequest;
}

/** How redirects are followed. */
interface RedirectRules {
  readonly rules: UrlRules;
  readonly redirectsMax: number;
  readonly send: Sender;
  readonly isManual: boolean;
}

/** Sends a request and follows its redirects. */
async function follow(start: Hop, { rules, redirectsMax, send, isManual }: RedirectRules): Promise<Response> {
  let { url, sent } = start;
  for (let redirects = 0; ; redirects++) {
    const response = await send(url, sent, isListed(url, rules.privateHosts));
    const location = REDIRECTS.has(response.status) && !isManual ? response.headers.get("Location") : null;
    if (location === null) return withUrl(response, url);
    await response.body?.cancel();
    if (redirects >= redirectsMax)
      throw new RefusedError("redirect", `The response redirects more than ${redirectsMax} times.`);
    ({ url, sent } = redirected({ url, sent }, response.status, location));
    check(url, rules);
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The headers that are sent to another origin. All other headers may contain credentials. */
const FOR_OTHER_ORIGINS = ["Accept", "Accept-Language", "Content-Type", "User-Agent"];

/** Returns the next request after a redirect. @see Fetch Standard, "HTTP-redirect fetch" */
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
 * Checks a URL.
 *
 * @param shown The URL as the caller wrote it, for the error. It is omitted for the target of a redirect, which must not be revealed
 *   to the caller.
 * @throws {RefusedError} `address`; `redirect` if `shown` is omitted.
 */
function check(url: URL, rules: UrlRules, shown?: string): void {
  const problem = findUrlProblem(url, rules);
  if (problem === undefined) return;
  throw shown === undefined ? redirectRefused(problem) : refusedValue("address", "URL", shown, problem);
}

function redirectRefused(why: string): RefusedError {
  return new RefusedError("redirect", `The response redirects to a URL that must not be requested: ${why}.`);
}

/** Sets the URL of a response that a sender created. */
function withUrl(response: Response, url: URL): Response {
  return Object.defineProperty(response, "url", { value: url.href, configurable: true });
}
