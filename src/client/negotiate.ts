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
import { type Implementation, readImplementation } from "../core/protocol/client-facts.ts";
import { pick } from "../core/protocol/content.ts";
import { McpError } from "../core/protocol/errors.ts";
import { ErrorCode, isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import { META, metaOf } from "../core/protocol/lifecycle.ts";
import type { SpokenVersion, SpokenVersions } from "../core/protocol/spoken-versions.ts";
import { Deadline } from "./deadline.ts";
import { ClientError } from "./errors.ts";
import type { Link } from "./link.ts";
import type { ServerCapabilities, ServerFacts } from "./results.ts";
import type { Wire } from "./wire.ts";

export interface Negotiation {
  readonly wire: Wire;
  readonly versions: SpokenVersions;
  readonly info: Implementation;
  /** The capabilities for `initialize`. */
  capabilities(): JsonObject;
  readonly timeoutMs: number;
  readonly probeTimeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Creates a link. The argument is "http-sse" for a fallback to that transport. */
  readonly open: (transport?: "http-sse") => Promise<Link>;
  /** Whether a refused `initialize` may be followed by HTTP+SSE. */
  readonly hasHttpSse: boolean;
}

/** Statuses that say nothing about the era: they concern the caller, or a server in between. */
const UNTELLING: readonly number[] = [401, 403, 407, 408, 425, 429];
/** Failures of the server. An unknown method may cause the first two; the others come from a gateway. */
const LEGACY_FAILURES: readonly number[] = [500, 501];
/** Codes that only modern servers send. */
const MODERN_CODES: readonly number[] = [
  ErrorCode.HeaderMismatch,
  ErrorCode.MissingRequiredClientCapability,
  ErrorCode.UnsupportedProtocolVersion,
];

/**
 * Connects to a server of either era.
 *
 * @param isLegacy Whether the server is known to be legacy, so that no probe is sent.
 * @throws {ClientError} `version-unsupported` naming the versions of both sides; any other failure of the connection.
 * @throws {McpError} the error with which the server refused.
 */
export async function negotiate(negotiation: Negotiation, isLegacy = false): Promise<ServerFacts> {
  const { wire, versions, open } = negotiation;
  let reason: string | undefined;
  await wire.use(await open());
  if (!isLegacy && versions.modern.length > 0) {
    const outcome = await probe(negotiation);
    if (typeof outcome === "object") return connected(negotiation, outcome);
    reason = outcome;
  }
  if (versions.legacy.length === 0) {
    const text = `The server does not speak ${namesOf(versions.modern)}, and protocolVersions allows no other: ${reason}`;
    throw new ClientError("version-unsupported", text);
  }
  try {
    return connected(negotiation, await initialize(negotiation), reason);
  } catch (error) {
    if (!negotiation.hasHttpSse || !isRefusedPost(error)) throw error;
    const facts = await initializeOverHttpSse(negotiation, error);
    return connected(negotiation, facts, "POST was refused and GET opened an HTTP+SSE stream");
  }
}

function connected({ wire }: Negotiation, facts: ServerFacts, reason?: string): ServerFacts {
  wire.report({ type: "connected", protocolVersion: facts.protocolVersion, reason });
  return facts;
}

/** Sends `server/discover`. Returns the facts of a modern server, or the reason to take the server for a legacy one. */
async function probe(negotiation: Negotiation): Promise<ServerFacts | string> {
  const { wire, versions } = negotiation;
  let rules = versions.modern[0] as SpokenVersion;
  // A server may refuse a version that it then lists, so the second try may have the same version.
  for (let attempt = 1; ; attempt += 1) {
    wire.link.rules = rules;
    try {
      const result = await ask(negotiation, "server/discover", undefined, negotiation.probeTimeoutMs);
      const outcome = discovered(negotiation, result);
      if (typeof outcome === "string") wire.link.rules = undefined;
      return outcome;
    } catch (error) {
      const next = attempt === 1 ? supportedBy(error, versions) : undefined;
      const legacy = next === undefined ? reasonForLegacy(error, versions) : undefined;
      if (legacy !== undefined) {
        wire.link.rules = undefined;
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
  const supported = listOf(isObject(error.data) ? error.data.supported : undefined);
  return versions.modern.find(({ version }) => supported.includes(version));
}

/**
 * Returns why an answer to the probe comes from a legacy server, or undefined if it does not.
 *
 * @throws {ClientError} `version-unsupported` if the server offers only versions that this client does not speak.
 */
function reasonForLegacy(error: unknown, versions: SpokenVersions): string | undefined {
  if (McpError.is(error)) {
    if (!MODERN_CODES.includes(error.code)) return `server/discover was answered with error ${error.code}`;
    if (error.code !== ErrorCode.UnsupportedProtocolVersion) return undefined;
    const supported = listOf(isObject(error.data) ? error.data.supported : undefined);
    // Servers that list modern versions only have none of them if the list is empty.
    const isOffered = supported.length === 0 || versions.legacy.some(({ version }) => supported.includes(version));
    if (!isOffered) throw noCommonVersion(versions, supported);
    return error.message;
  }
  if (!ClientError.is(error)) return undefined;
  switch (error.code) {
    case "http-status": {
      const status = error.response?.status ?? 0;
      const isTelling = status < 500 ? !UNTELLING.includes(status) : LEGACY_FAILURES.includes(status);
      return isTelling ? `server/discover was answered with HTTP status ${status}` : undefined;
    }
    case "timeout":
      return "server/discover was not answered";
    case "answer-invalid":
    case "stream-lost":
      return "server/discover was not answered with a valid message";
    default:
      return undefined;
  }
}

function discovered({ wire, versions }: Negotiation, result: JsonObject): ServerFacts | string {
  // Some legacy servers answer every unknown method with an empty result.
  if (!Array.isArray(result.supportedVersions)) return "the answer to server/discover names no versions";
  const supported = listOf(result.supportedVersions);
  const rules = versions.modern.find(({ version }) => supported.includes(version));
  if (!rules) {
    if (versions.legacy.some(({ version }) => supported.includes(version)))
      return `the server offers ${supported.join(", ")}`;
    throw noCommonVersion(versions, supported);
  }
  wire.link.rules = rules;
  const info = readImplementation(metaOf(result)[META.serverInfo]);
  return factsOf(wire.link, rules, result, info);
}

async function initialize(negotiation: Negotiation): Promise<ServerFacts> {
  const { wire, versions, info } = negotiation;
  const newest = versions.legacy[0] as SpokenVersion;
  const params = {
    protocolVersion: newest.version,
    capabilities: negotiation.capabilities(),
    clientInfo: pick(info, newest.implementationFields),
  };
  const result = await ask(negotiation, "initialize", params, negotiation.timeoutMs);
  const rules = versions.legacy.find(({ version }) => version === result.protocolVersion);
  if (!rules) throw noCommonVersion(versions, [String(result.protocolVersion)]);
  wire.link.rules = rules;
  await wire.notify("notifications/initialized");
  return factsOf(wire.link, rules, result, readImplementation(result.serverInfo));
}

async function initializeOverHttpSse(negotiation: Negotiation, refused: unknown): Promise<ServerFacts> {
  const { wire, open } = negotiation;
  try {
    await wire.use(await open("http-sse"));
  } catch {
    // Not a server of 2024-11-05 either. The answer to the POST says more about the reason.
    throw refused;
  }
  return initialize(negotiation);
}

/** Whether a server does not serve POST at this URL, as those of HTTP+SSE do not. */
function isRefusedPost(error: unknown): boolean {
  const status = ClientError.is(error) && error.code === "http-status" ? (error.response?.status ?? 0) : 0;
  return status >= 400 && status <= 501 && !UNTELLING.includes(status);
}

async function ask(
  { wire, signal }: Negotiation,
  method: string,
  params: JsonObject | undefined,
  timeoutMs: number,
): Promise<JsonObject> {
  const deadline = new Deadline({ what: method, timeoutMs, totalTimeoutMs: 0, signal });
  try {
    return await wire.ask(method, params, { deadline });
  } finally {
    deadline.stop();
  }
}

function factsOf(link: Link, rules: SpokenVersion, result: JsonObject, info: Implementation | undefined): ServerFacts {
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
  const own = namesOf([...versions.modern, ...versions.legacy]);
  const text = `No common protocol version: the server offers ${offered.join(", ") || "none"}, this client speaks ${own}.`;
  return new ClientError("version-unsupported", text);
}

function namesOf(versions: readonly SpokenVersion[]): string {
  return versions.map(({ version }) => version).join(", ");
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
