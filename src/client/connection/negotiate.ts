/**
 * Detects the era of a server and agrees on a version.
 *
 * 1. `server/discover`. A result or a modern error identifies a modern server.
 * 2. Otherwise `initialize`.
 * 3. Over HTTP, if that POST is refused as well, HTTP+SSE (2024-11-05).
 *
 * @module
 * @see MCP 2026-07-28, basic/versioning, "Backward Compatibility with Initialization-Based Versions"
 */
import { type Implementation, readImplementation } from "../../core/protocol/client-facts.ts";
import { pick } from "../../core/protocol/content.ts";
import { McpError } from "../../core/protocol/errors.ts";
import { ErrorCode, isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { META, readMeta } from "../../core/protocol/lifecycle.ts";
import type { SpokenVersion, SpokenVersions } from "../../core/protocol/spoken-versions.ts";
import { Deadline, untilAborted } from "../basics/deadline.ts";
import { ClientError } from "../basics/errors.ts";
import type { ServerCapabilities, ServerFacts } from "../requests/results.ts";
import type { Link } from "../transports/link.ts";
import type { RequestSender } from "./request-sender.ts";

export interface Negotiation {
  readonly sender: RequestSender;
  readonly versions: SpokenVersions;
  readonly info: Implementation;
  /** The capabilities for `initialize`. */
  capabilities(): JsonObject;
  readonly timeoutMs: number;
  readonly probeTimeoutMs: number;
  /** Ends the negotiation, because the client is closed. */
  readonly signal: AbortSignal;
  /** Creates a link. The argument is "http-sse" for a fallback to that transport. */
  readonly open: (transport?: "http-sse") => Promise<Link>;
  /** Whether a refused `initialize` may be followed by HTTP+SSE. */
  readonly hasHttpSse: boolean;
}

/** A negotiation on one link. */
interface Attempt extends Negotiation {
  readonly link: Link;
}

/** Statuses that say nothing about the era: they concern the caller, or a server in between. */
const UNTELLING: readonly number[] = [401, 403, 407, 408, 425, 429];
/** Codes that only modern servers send. */
const MODERN_CODES: readonly number[] = [
  ErrorCode.HeaderMismatch,
  ErrorCode.MissingRequiredClientCapability,
  ErrorCode.UnsupportedProtocolVersion,
];

/**
 * Connects to a server of either era. The link is in use as soon as this has succeeded; otherwise nothing changes.
 *
 * @param isLegacy Whether the server is known to be legacy, so that no probe is sent.
 * @throws {ClientError} `version-unsupported` naming the versions of both sides; any other failure of the connection.
 * @throws {McpError} the error with which the server refused.
 */
export async function negotiate(negotiation: Negotiation, isLegacy = false): Promise<ServerFacts> {
  const { sender, versions, open, hasHttpSse } = negotiation;
  let reason: string | undefined;
  const first = async (attempt: Attempt): Promise<ServerFacts> => {
    if (!isLegacy && versions.modern.length > 0) {
      const outcome = await probe(attempt);
      if (typeof outcome === "object") return outcome;
      reason = outcome;
    }
    if (versions.legacy.length > 0) return initialize(attempt);
    const text = `The server does not speak ${listNames(versions.modern)}, and protocolVersions allows no other: ${reason}`;
    throw new ClientError("version-unsupported", text);
  };
  let facts: ServerFacts;
  try {
    facts = await agree(negotiation, await open(), first);
  } catch (error) {
    if (!hasHttpSse || !isRefusedPost(error)) throw error;
    // If GET is refused too, the answer to the POST says more about the reason.
    facts = await agree(negotiation, await open("http-sse"), initialize, error);
    reason = "POST was refused and GET opened an HTTP+SSE stream";
  }
  sender.report({ type: "connected", protocolVersion: facts.protocolVersion, reason });
  return facts;
}

/** Opens a link, and uses it if `talk` succeeds. @param refused What to throw if the link cannot be opened. */
async function agree(
  negotiation: Negotiation,
  link: Link,
  talk: (attempt: Attempt) => Promise<ServerFacts>,
  refused?: unknown,
): Promise<ServerFacts> {
  const { sender, timeoutMs } = negotiation;
  const { rules } = link;
  try {
    await limited(negotiation, "connect()", timeoutMs, () => sender.start(link)).catch((error) => {
      throw refused ?? error;
    });
    const facts = await talk({ ...negotiation, link });
    negotiation.signal.throwIfAborted();
    sender.use(link);
    return facts;
  } catch (error) {
    // A pipe that was in use before remains so.
    link.rules = rules;
    sender.drop(link);
    throw error;
  }
}

/** Sends `server/discover`. Returns the facts of a modern server, or the reason to take the server for a legacy one. */
async function probe(attempt: Attempt): Promise<ServerFacts | string> {
  const { link, versions, probeTimeoutMs } = attempt;
  let rules = versions.modern[0] as SpokenVersion;
  // A server may refuse a version that it then lists, so the second try may have the same version.
  for (let isRetry = false; ; isRetry = true) {
    link.rules = rules;
    try {
      const outcome = discovered(attempt, await ask(attempt, "server/discover", undefined, probeTimeoutMs));
      if (typeof outcome === "string") link.rules = undefined;
      return outcome;
    } catch (error) {
      const next = isRetry ? undefined : supportedBy(error, versions);
      const legacy = next === undefined ? reasonForLegacy(error, versions) : undefined;
      if (legacy !== undefined) {
        link.rules = undefined;
        return legacy;
      }
      if (!next) throw error;
      rules = next;
    }
  }
}

/** Returns the modern version to use after -32022, if client and server have one in common. */
function supportedBy(error: unknown, versions: SpokenVersions): SpokenVersion | undefined {
  if (!McpError.is(error) || error.code !== ErrorCode.UnsupportedProtocolVersion) return undefined;
  const supported = toList(isObject(error.data) ? error.data.supported : undefined);
  return versions.modern.find(({ version }) => supported.includes(version));
}

/**
 * Returns why an answer to the probe comes from a legacy server, or undefined if it does not.
 *
 * @throws {ClientError} `version-unsupported` if the server offers only versions that this client does not speak.
 */
function reasonForLegacy(error: unknown, versions: SpokenVersions): string | undefined {
  if (McpError.is(error)) {
    if (!MODERN_CODES.includes(error.code)) return `server/discover failed with ${error.code}: ${error.message}`;
    if (error.code !== ErrorCode.UnsupportedProtocolVersion) return undefined;
    const supported = toList(isObject(error.data) ? error.data.supported : undefined);
    // Servers that list modern versions only have none of them if the list is empty.
    const isOffered = supported.length === 0 || versions.legacy.some(({ version }) => supported.includes(version));
    if (!isOffered) throw noCommonVersion(versions, supported);
    return error.message;
  }
  if (!ClientError.is(error)) return undefined;
  switch (error.code) {
    case "http-status":
      return isRefusedPost(error) ? error.message : undefined;
    case "timeout":
      return "server/discover was not answered";
    case "answer-invalid":
    case "stream-lost":
      return "server/discover was not answered with a valid message";
    default:
      return undefined;
  }
}

function discovered({ link, versions }: Attempt, result: JsonObject): ServerFacts | string {
  // Some legacy servers answer every unknown method with an empty result.
  if (!Array.isArray(result.supportedVersions)) return "the answer to server/discover names no versions";
  const supported = toList(result.supportedVersions);
  const rules = versions.modern.find(({ version }) => supported.includes(version));
  if (!rules) {
    if (versions.legacy.some(({ version }) => supported.includes(version)))
      return `the server offers ${supported.join(", ")}`;
    throw noCommonVersion(versions, supported);
  }
  link.rules = rules;
  const info = readImplementation(readMeta(result)[META.serverInfo]);
  return listFacts(link, rules, result, info);
}

async function initialize(attempt: Attempt): Promise<ServerFacts> {
  const { sender, link, versions, info, timeoutMs } = attempt;
  const newest = versions.legacy[0] as SpokenVersion;
  const params = {
    protocolVersion: newest.version,
    capabilities: attempt.capabilities(),
    clientInfo: pick(info, newest.implementationFields),
  };
  const result = await ask(attempt, "initialize", params, timeoutMs);
  const rules = versions.legacy.find(({ version }) => version === result.protocolVersion);
  if (!rules) throw noCommonVersion(versions, [String(result.protocolVersion)]);
  link.rules = rules;
  const method = "notifications/initialized";
  await limited(attempt, method, timeoutMs, () => sender.notify(method, undefined, link)).catch((error) => {
    // The session exists. If the server means it, its answer to the next request says so.
    if (!ClientError.is(error) || error.code !== "http-status") throw error;
    sender.report({ type: "warning", message: error.message });
  });
  return listFacts(link, rules, result, readImplementation(result.serverInfo));
}

/**
 * Whether a server refuses a POST, or fails as it may for an unknown method. Redirects that are not followed and the other
 * failures come from a server in between.
 */
function isRefusedPost(error: unknown): boolean {
  const status = ClientError.is(error) && error.code === "http-status" ? (error.response?.status ?? 0) : 0;
  return status >= 400 && status <= 501 && !UNTELLING.includes(status);
}

function ask(attempt: Attempt, method: string, params: JsonObject | undefined, timeoutMs: number): Promise<JsonObject> {
  const { sender, link } = attempt;
  return limited(attempt, method, timeoutMs, (deadline) => sender.ask(method, params, { deadline, link }));
}

/** Runs one step of the negotiation, until it takes too long or the client is closed. */
async function limited<T>(
  { signal }: Negotiation,
  what: string,
  timeoutMs: number,
  run: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const deadline = new Deadline({ what, timeoutMs, totalTimeoutMs: 0, signal });
  try {
    return await untilAborted(run(deadline), deadline.signal);
  } finally {
    deadline.stop();
  }
}

function listFacts(
  link: Link,
  rules: SpokenVersion,
  result: JsonObject,
  info: Implementation | undefined,
): ServerFacts {
  const { capabilities, instructions } = result;
  return {
    protocolVersion: rules.version,
    transport: link.transport,
    capabilities: isObject(capabilities) ? (capabilities as ServerCapabilities) : {},
    info,
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}

function noCommonVersion(versions: SpokenVersions, offered: readonly string[]): ClientError {
  const own = listNames([...versions.modern, ...versions.legacy]);
  const text = `No common protocol version: the server offers ${offered.join(", ") || "none"}, this client speaks ${own}.`;
  return new ClientError("version-unsupported", text);
}

function listNames(versions: readonly SpokenVersion[]): string {
  return versions.map(({ version }) => version).join(", ");
}

function toList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
