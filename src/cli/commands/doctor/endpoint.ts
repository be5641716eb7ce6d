/**
 * Explains a first response that is neither a handshake nor a request to sign in.
 *
 * @module
 */
import { isConfidential } from "../../../client/oauth/guard.ts";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { hostsWithout, PROFILES } from "../../host-profiles/profiles.ts";
import { oneLine } from "../../terminal/terminal.ts";
import { initialize, type Line, toConversation } from "./conversation.ts";
import type { Diagnosis, FindingInput } from "./diagnosis.ts";
import { describeExchange, type Exchange, exchange, isExchange } from "./exchange.ts";

/** The error in a response. */
export function errorOf({ messages }: Exchange): JsonObject | undefined {
  const error = messages.find((each) => isObject(each.error))?.error;
  return isObject(error) ? error : undefined;
}

/** The reasons with which mcp-edge refuses the requests of the doctor. */
const REASONS: ReadonlySet<string> = new Set([
  "host-not-allowed",
  "unauthorized",
  "invalid_token",
  "insufficient_scope",
  "invalid_request",
  "invalid_dpop_proof",
  "use_dpop_nonce",
  "not-jsonrpc",
  "session-missing",
  "sessions-unavailable",
  "too-many",
  "protocol",
]);

/** Returns the reason that mcp-edge gives in its refusals; undefined in the responses of other servers. */
export function reasonOf(answer: Exchange): string | undefined {
  const data = errorOf(answer)?.data;
  return isObject(data) && typeof data.reason === "string" && REASONS.has(data.reason) ? data.reason : undefined;
}

const REDIRECTS = [301, 302, 303, 307, 308];

/** Adds what is wrong with the response to `initialize`. */
export async function explainRefusal(line: Line, answer: Exchange, diagnosis: Diagnosis): Promise<void> {
  const { status } = answer;
  if (REDIRECTS.includes(status)) return addRedirect(line, answer, diagnosis);
  const message = String(errorOf(answer)?.message ?? "");
  const hasToken = Object.keys(line.headers).some((name) => name.toLowerCase() === "authorization");
  const finding = findByText(line, answer, message) ?? findByStatus(answer, message, hasToken);
  if (finding) {
    diagnosis.add(finding);
    return;
  }
  const isElsewhere = status === 404 || status === 405 || (status < 300 && !errorOf(answer));
  if (isElsewhere) return addWrongPath(line, answer, diagnosis);
  diagnosis.add({
    id: "handshake-refused",
    step: "handshake",
    severity: "breaks",
    fault: "server",
    what: `The server refuses initialize: ${describeExchange(answer)}.`,
    fix: "Respond to initialize with 200 and the result, for every protocol version that the client may offer.",
  });
}

function addRedirect(line: Line, { status, headers }: Exchange, diagnosis: Diagnosis): void {
  const location = headers.get("location") ?? "";
  const found = URL.canParse(location, line.url) ? new URL(location, line.url) : undefined;
  const to = found?.href ?? "an invalid address";
  const isUsable = found !== undefined && isConfidential(found);
  const following = PROFILES.filter(({ followsRedirects }) => followsRedirects?.value).map(({ name }) => name);
  const finding = {
    id: "redirects",
    step: "endpoint",
    fault: "configuration",
    what: `The address redirects (${status}) to ${to}. Clients do not send tokens or POST bodies to another address.`,
    fix: isUsable
      ? `Enter the final address in the host: ${to}`
      : "Respond to the request at this address, or redirect to an https: address.",
  } as const;
  const others = PROFILES.map(({ name }) => name).filter((name) => !following.includes(name));
  diagnosis.add({ ...finding, severity: "breaks", hosts: others, notKnown: hostsWithout("followsRedirects") });
  diagnosis.add({ ...finding, severity: "degrades", hosts: following });
}

/** Messages about the header Host. */
const HOST_HEADER =
  /\b(?:invalid|unknown|unexpected|untrusted|disallowed|forbidden) host\b|\bhost header\b|\bheader ["'`]?host\b|\bhost(?:name)?\b.{0,80}\bnot (?:allowed|permitted|trusted)\b/i;

/** The message of `bearer()` if tokens could be used at any host name. */
const HOST_UNKNOWN = /\banyone can choose the host\b/i;

const BASE = { step: "endpoint", severity: "breaks", fault: "configuration" } as const;

/** Returns the finding about a response that refuses the host name of the request; undefined for any other response. */
export function explainHost({ url }: Line, answer: Exchange): FindingInput | undefined {
  const { status } = answer;
  const message = String(errorOf(answer)?.message ?? "");
  const needsResource = HOST_UNKNOWN.test(message);
  const isAboutHost = needsResource || reasonOf(answer) === "host-not-allowed" || HOST_HEADER.test(message);
  if (status !== 421 && !((status === 400 || status === 403) && isAboutHost)) return undefined;
  const { hostname } = new URL(url);
  // The server receives another name than the URL has if a proxy changes the header Host.
  const received = /\bHost "([\w.-]+)(?::\d+)?"/.exec(message)?.[1] ?? hostname;
  const ours = needsResource
    ? `Write resource: ${JSON.stringify(url)} in the options of bearer()`
    : `Write edge(server, { allowedHosts: [${JSON.stringify(received)}] })`;
  return {
    ...BASE,
    id: "host-refused",
    what: `The server refuses the host name with which it is called: ${describeExchange(answer)}. A proxy may change the header Host, or end TLS.`,
    fix: `Let the server accept ${hostname}, or the proxy forward the original Host and X-Forwarded-Proto.`,
    ours: `${ours}, or let the proxy forward requests over https with the original Host.`,
  };
}

function findByText(line: Line, answer: Exchange, message: string): FindingInput | undefined {
  const { status } = answer;
  const aboutHost = explainHost(line, answer);
  if (aboutHost) return aboutHost;
  if (/already initialized/i.test(message)) {
    return {
      id: "second-session",
      step: "session",
      severity: "breaks",
      fault: "server",
      what: `The server accepts only one session until it is restarted: ${describeExchange(answer)}.`,
      fix: "Create a transport and a server object for each session.",
    };
  }
  if (status === 406) {
    return {
      id: "accept-refused",
      step: "handshake",
      severity: "breaks",
      fault: "server",
      what: `The server refuses the header Accept of the specification: ${describeExchange(answer)}.`,
      fix: "Accept application/json and text/event-stream in any order.",
    };
  }
  return undefined;
}

function findByStatus(answer: Exchange, message: string, hasToken: boolean): FindingInput | undefined {
  const { status, headers, mediaType } = answer;
  const isPage = mediaType === "text/html";
  if ((status === 403 || status === 503) && (isPage || headers.has("cf-mitigated"))) {
    return {
      ...BASE,
      id: "blocked",
      fault: "network",
      what: `A firewall or bot protection responds instead of the server (HTTP ${status}).`,
      fix: "Exclude the path of the endpoint, and the well-known paths, from bot protection and challenges.",
    };
  }
  if (status === 403) {
    return {
      id: "refused-403",
      step: "sign-in",
      severity: "breaks",
      fault: "server",
      what: `A request ${hasToken ? "with the given credentials" : "without a token"} gets 403${message === "" ? "" : ` (${oneLine(message, 200)})`}. ${hasToken ? "Without a WWW-Authenticate header, clients cannot ask for more scopes" : "Clients start a sign-in only after 401"}.`,
      fix: hasToken
        ? 'Check what the account may do. If scopes are missing, send WWW-Authenticate: Bearer error="insufficient_scope" with the scopes.'
        : "Respond to requests without a valid token with 401 and a WWW-Authenticate header with resource_metadata.",
    };
  }
  if (status < 500) return undefined;
  const what = `The server fails on initialize: ${describeExchange(answer)}.`;
  const ours = "Run npx mcp-edge check-config, and look at the exception in npx wrangler tail.";
  const fix = "Look at the exception in the log of the server.";
  return { ...BASE, fault: "server", id: "server-error", what, fix, ours };
}

/** Adds what is at the address instead of an endpoint, and the address of an endpoint on the same server. */
async function addWrongPath(line: Line, answer: Exchange, diagnosis: Diagnosis): Promise<void> {
  const stream = await exchange(line, { headers: { Accept: "text/event-stream", ...line.headers } });
  if (isExchange(stream) && stream.status === 200 && stream.mediaType === "text/event-stream") {
    diagnosis.add({
      ...BASE,
      id: "legacy-transport",
      severity: "degrades",
      fault: "server",
      what: "The server only supports the transport HTTP+SSE of 2024-11-05, which hosts are dropping.",
      fix: "Serve Streamable HTTP at the same address.",
    });
    return;
  }
  const url = new URL(line.url);
  const near = url.pathname === "/mcp" ? "/" : "/mcp";
  // The user has not named this path, so it does not get the user's credentials.
  const other = { ...line, url: new URL(near, url).href, headers: {} };
  const found = await initialize(other);
  const opened = toConversation(other, found);
  await opened?.end();
  const isThere = opened !== undefined || (isExchange(found) && found.status === 401);
  const what = `There is no MCP endpoint at ${url.pathname}: ${describeExchange(answer)}, ${answer.mediaType || "without content"}.`;
  const path = JSON.stringify(url.pathname);
  diagnosis.add({
    ...BASE,
    id: "not-an-endpoint",
    what,
    fix: isThere
      ? `Enter this address in the host: ${other.url}`
      : "Enter the address of the MCP endpoint, with its path.",
    ...(isThere ? { ours: `Enter ${other.url} in the host, or write edge(server, { path: ${path} }).` } : {}),
  });
}
