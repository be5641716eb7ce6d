/**
 * Detects the era of a server and negotiates a version:
 *
 * 1. The client sends `server/discover`. A result or an error of the modern era identifies a modern server.
 * 2. Otherwise it sends `initialize`.
 * 3. If the server refuses this POST as well, the client opens HTTP+SSE (2024-11-05).
 *
 * @module
 * @see MCP 2026-07-28, basic/versioning, "Backward Compatibility with Initialization-Based Versions"
 */

import { type Implementation, readImplementation } from "../../core/protocol/client-facts.ts";
import { pick } from "../../core/protocol/content.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { McpError } from "../../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { readMeta } from "../../core/protocol/lifecycle.ts";
import * as META from "../../core/protocol/meta.ts";
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
  /** Returns the capabilities to send with `initialize`. */
  capabilities(): JsonObject;
  readonly timeoutMs: number;
  readonly probeTimeoutMs: number;
  /** Aborts when the client closes. */
  readonly signal: AbortSignal;
  /** Creates a link. With "http-sse", the link uses that transport. */
  readonly open: (transport?: "http-sse") => Promise<Link>;
  /** Whether the client may fall back to HTTP+SSE. */
  readonly hasHttpSse: boolean;
}

/** A negotiation on one link. */
interface Attempt extends Negotiation {
  readonly link: Link;
}

/** Statuses that do not depend on the era: they are about the caller, or come from a proxy. */
const UNRELATED: readonly number[] = [401, 403, 407, 408, 425, 429];
/** Codes that only modern servers send. */
const MODERN_CODES: readonly number[] = [
  ErrorCode.HeaderMismatch,
  ErrorCode.MissingRequiredClientCapability,
  ErrorCode.UnsupportedProtocolVersion,
];

/**
 * Connects to a server of either era, and makes the new link the current one. If this fails, the current link stays in use.
 *
 * @param isLegacy Whether the server is known to be legacy, so that `server/discover` is not sent.
 * @throws {ClientError} `version-unsupported` with the versions of both sides, or another failure of the connection.
 * @throws {McpError} the error with which the server refused the connection.
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
    const text = `The server does not support ${listNames(versions.modern)}, the only protocolVersions: ${reason}`;
    throw new ClientError("version-unsupported", text);
  };
  let facts: ServerFacts;
  try {
    facts = await useLink(negotiation, await open(), first);
  } catch (error) {
    if (!hasHttpSse || !isRefusedPost(error)) throw error;
    // If the server refuses the GET as well, the error of the POST is thrown, which is more specific.
    facts = await useLink(negotiation, await open("http-sse"), initialize, error);
    reason = "The server refused POST and supports HTTP+SSE";
  }
  sender.report({ type: "connected", protocolVersion: facts.protocolVersion, reason });
  return facts;
}

/** Opens a link, and makes it the current one if `handshake` succeeds. @param refused The error to throw if the link cannot be opened. */
async function useLink(
  negotiation: Negotiation,
  link: Link,
  handshake: (attempt: Attempt) => Promise<ServerFacts>,
  refused?: unknown,
): Promise<ServerFacts> {
  const { sender, timeoutMs } = negotiation;
  const { rules } = link;
  try {
    await withTimeout(negotiation, "connect()", timeoutMs, () => sender.start(link)).catch((error) => {
      throw refused ?? error;
    });
    const facts = await handshake({ ...negotiation, link });
    negotiation.signal.throwIfAborted();
    sender.use(link);
    return facts;
  } catch (error) {
    // A pipe stays in use with the rules that it had before.
    link.rules = rules;
    sender.drop(link);
    throw error;
  }
}

/** Sends `server/discover`. Returns the facts about a modern server, or the reason why the server counts as legacy. */
async function probe(attempt: Attempt): Promise<ServerFacts | string> {
  const { link, versions, probeTimeoutMs } = attempt;
  let rules = versions.modern[0] as SpokenVersion;
  // The second attempt may use the same version again, because some servers refuse a version and then list it as supported.
  for (let isRetry = false; ; isRetry = true) {
    link.rules = rules;
    try {
      const outcome = readDiscovery(attempt, await request(attempt, "server/discover", undefined, probeTimeoutMs));
      if (typeof outcome === "string") link.rules = undefined;
      return outcome;
    } catch (error) {
      const next = isRetry ? undefined : findSupported(error, versions);
      const legacy = next === undefined ? findReasonForLegacy(error, versions) : undefined;
      if (legacy !== undefined) {
        link.rules = undefined;
        return legacy;
      }
      if (!next) throw error;
      rules = next;
    }
  }
}

/** Returns the modern version to use after the error -32022, if there is a common one. */
function findSupported(error: unknown, versions: SpokenVersions): SpokenVersion | undefined {
  if (!McpError.is(error) || error.code !== ErrorCode.UnsupportedProtocolVersion) return undefined;
  const supported = toList(isObject(error.data) ? error.data.supported : undefined);
  return versions.modern.find(({ version }) => supported.includes(version));
}

/**
 * Returns the reason why an error of `server/discover` indicates a legacy server, or undefined if it does not.
 *
 * @throws {ClientError} `version-unsupported` if the server supports only versions that this client does not support.
 */
function findReasonForLegacy(error: unknown, versions: SpokenVersions): string | undefined {
  if (McpError.is(error)) {
    if (!MODERN_CODES.includes(error.code)) return `server/discover failed with ${error.code}: ${error.message}`;
    if (error.code !== ErrorCode.UnsupportedProtocolVersion) return undefined;
    const supported = toList(isObject(error.data) ? error.data.supported : undefined);
    // An empty list says nothing about legacy versions, because some servers list only modern versions.
    const isOffered = supported.length === 0 || versions.legacy.some(({ version }) => supported.includes(version));
    if (!isOffered) throw noCommonVersion(versions, supported);
    return error.message;
  }
  if (!ClientError.is(error)) return undefined;
  switch (error.code) {
    case "http-status":
      return isRefusedPost(error) ? error.message : undefined;
    case "timeout":
      return "server/discover timed out";
    case "answer-invalid":
    case "stream-lost":
      return "server/discover got no valid response";
    default:
      return undefined;
  }
}

/** Reads the result of `server/discover`. Returns the facts, or the reason why the server counts as legacy. */
function readDiscovery({ link, versions }: Attempt, result: JsonObject): ServerFacts | string {
  // Some legacy servers respond to every unknown method with an empty result.
  if (!Array.isArray(result.supportedVersions)) return "server/discover returned no supportedVersions";
  const supported = toList(result.supportedVersions);
  const rules = versions.modern.find(({ version }) => supported.includes(version));
  if (!rules) {
    if (versions.legacy.some(({ version }) => supported.includes(version)))
      return `the server supports ${supported.join(", ")}`;
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
  const result = await request(attempt, "initialize", params, timeoutMs);
  const rules = versions.legacy.find(({ version }) => version === result.protocolVersion);
  if (!rules) throw noCommonVersion(versions, toList([result.protocolVersion]));
  link.rules = rules;
  const method = "notifications/initialized";
  await withTimeout(attempt, method, timeoutMs, () => sender.notify(method, undefined, link)).catch((error) => {
    // The session exists, so the next request shows whether the server works.
    if (!ClientError.is(error) || error.code !== "http-status") throw error;
    sender.report({ type: "warning", message: error.message });
  });
  return listFacts(link, rules, result, readImplementation(result.serverInfo));
}

/**
 * Whether the server refused a POST, or failed with a status of 500 or 501, as some servers do for an unknown method. Other failures
 * and redirects come from a proxy.
 */
function isRefusedPost(error: unknown): boolean {
  const status = ClientError.is(error) && error.code === "http-status" ? (error.response?.status ?? 0) : 0;
  return status >= 400 && status <= 501 && !UNRELATED.includes(status);
}

function request(
  attempt: Attempt,
  method: string,
  params: JsonObject | undefined,
  timeoutMs: number,
): Promise<JsonObject> {
  const { sender, link } = attempt;
  return withTimeout(attempt, method, timeoutMs, (deadline) => sender.request(method, params, { deadline, link }));
}

/** Runs one step of the negotiation. Rejects if it takes too long or the client is closed. */
async function withTimeout<T>(
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
  const text = `No common protocol version: the server supports ${offered.join(", ") || "none"}, this client ${own}.`;
  return new ClientError("version-unsupported", text);
}

function listNames(versions: readonly SpokenVersion[]): string {
  return versions.map(({ version }) => version).join(", ");
}

function toList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
