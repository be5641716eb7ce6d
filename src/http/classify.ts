/**
 * The request ladder: a pure function that classifies one POST by its body and headers. It never throws, and it does
 * not use `Request`. Each refusal is a row of the table in test/http/ladder.ts.
 *
 * @module
 * @see MCP 2026-07-28, basic/versioning, "Backward Compatibility with Initialization-Based Versions"
 */

import { quote } from "../core/basics/quote.ts";
import type { ClientFacts } from "../core/protocol/client-facts.ts";
import { McpError } from "../core/protocol/errors.ts";
import {
  isObject,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type ParsedMessage,
  parseMessage,
  type RequestId,
} from "../core/protocol/jsonrpc.ts";
import { type Envelope, hasEnvelope, readEnvelope, readLogLevel, toClient } from "../core/protocol/lifecycle.ts";
import type { LoggingLevel } from "../core/protocol/logging.ts";
import { nameOfDefinition } from "../core/protocol/methods.ts";
import {
  ASSUMED_HTTP_VERSION,
  type Era,
  listNames,
  type ServedVersions,
  type VersionRules,
} from "../core/protocol/versions.ts";
import { type ClassifyHeaders, decodeHeaderValue } from "./headers.ts";
import type { Refusal } from "./refusal.ts";

/** The facts about a POST that reading and classifying it have determined. */
export interface Contents {
  /** The messages in their order. Empty if the body cannot be read, or has more messages than a batch may have. */
  readonly messages: readonly ParsedMessage[];
  /** The era that the messages belong to. Undefined if they show none. */
  readonly era?: Era | undefined;
}

/** The part of the endpoint's configuration that the ladder needs. */
export interface ClassifyOptions {
  readonly versions: ServedVersions;
  /** Whether the endpoint has sessions for legacy clients. */
  readonly hasSessions: boolean;
  /** Maximum number of messages in one batch. */
  readonly batchMax: number;
}

/** The ladder's decision about one POST. Plain data: safe to log, compare and table-test. */
export type Verdict = Contents & Decision;

type Decision =
  | {
      readonly kind: "modern";
      readonly request: JSONRPCRequest;
      readonly client: ClientFacts;
      readonly logLevel: LoggingLevel | undefined;
      /**
       * The tool, prompt or resource whose handler the request runs. Undefined if it runs none, or does not name it.
       */
      readonly name: string | undefined;
    }
  /**
   * A notification. The modern protocol has no notifications over HTTP, but a server may define its own. `message` is
   * undefined when the notification is invalid: it is dropped, because a notification is never answered, not even with
   * an error.
   */
  | { readonly kind: "notification"; readonly message: JSONRPCNotification | undefined }
  | { readonly kind: "initialize"; readonly request: JSONRPCRequest }
  /** `version` is from the version header. If undefined, the version of the session or the assumed one applies. */
  | {
      readonly kind: "legacy";
      readonly isBatch: boolean;
      readonly sessionId: string | undefined;
      readonly version: VersionRules | undefined;
    }
  | { readonly kind: "refuse"; readonly refusal: Refusal; readonly id?: RequestId | undefined };

/** A modern request. */
export type ModernVerdict = Extract<Verdict, { readonly kind: "modern" }>;
/** A legacy request, or a batch. */
export type LegacyVerdict = Extract<Verdict, { readonly kind: "legacy" }>;

/** Classifies a body. Every JSON value has exactly one verdict. */
export function classify(body: unknown, headers: ClassifyHeaders, options: ClassifyOptions): Verdict {
  if (Array.isArray(body)) {
    const messages = body.length > options.batchMax ? [] : body.map(parseMessage);
    return { era: "legacy", messages, ...classifyBatch(body, messages, headers, options) };
  }
  const parsed = parseMessage(body);
  const messages = [parsed];
  if (parsed.kind === "invalid") {
    if (parsed.isNotification) return { messages, kind: "notification", message: undefined };
    return { messages, ...refusal({ reason: "not-jsonrpc", problem: parsed.problem }, parsed.id) };
  }
  return isModern(parsed.message, headers, options)
    ? { era: "modern", messages, ...classifyModern(parsed, headers, options) }
    : { era: "legacy", messages, ...classifyLegacy(messages, false, headers, options) };
}

/**
 * Returns whether a message is modern: its `_meta` has an envelope, or else the version header names a modern version.
 */
function isModern(message: JSONRPCMessage, headers: ClassifyHeaders, { versions }: ClassifyOptions): boolean {
  if ("params" in message && isObject(message.params) && hasEnvelope(message.params)) return true;
  // Treated as legacy even if only modern versions are served: the refusal then lists the versions served.
  if ("method" in message && message.method === "initialize" && headers.protocolVersion === null) return false;
  const { protocolVersion } = headers;
  if (protocolVersion !== null) return versions.find(protocolVersion)?.era === "modern";
  return versions.legacy.length === 0;
}

function classifyModern(parsed: ParsedMessage, headers: ClassifyHeaders, options: ClassifyOptions): Decision {
  if (parsed.kind === "notification") return { kind: "notification", message: parsed.message };
  if (parsed.kind !== "request") return refusal({ reason: "client-response" });
  const request = parsed.message;
  try {
    // In this order, so that a missing field is reported before a mismatch, and a mismatch before an unserved version.
    const envelope = readEnvelope(request.params);
    const name = nameOfDefinition(request);
    const problem = findHeaderProblem(request, name, envelope, headers);
    if (problem) return refusal({ reason: "header-mismatch", problem }, request.id);
    const client = toClient(envelope, options.versions);
    return { kind: "modern", request, client, logLevel: readLogLevel(request), name };
  } catch (error) {
    if (!McpError.is(error)) throw error;
    return refusal({ reason: "protocol", error }, request.id);
  }
}

/** Returns how the headers differ from the body, or undefined. @see streamable-http, "Server Validation" */
function findHeaderProblem(
  request: JSONRPCRequest,
  name: string | undefined,
  envelope: Envelope,
  headers: ClassifyHeaders,
): string | undefined {
  if (headers.protocolVersion === null) return "MCP-Protocol-Version is missing";
  if (headers.protocolVersion !== envelope.version) {
    return `MCP-Protocol-Version is ${quote(headers.protocolVersion)} but the body says ${quote(envelope.version)}`;
  }
  const { method } = headers;
  if (method === null) return "Mcp-Method is missing";
  if (method !== request.method) {
    return `Mcp-Method is ${quote(method)} but the body says ${quote(request.method)}`;
  }
  // Dispatch refuses a request without a name.
  return name === undefined ? undefined : findNameProblem(headers.name, name);
}

function findNameProblem(header: string | null, inBody: string): string | undefined {
  if (header === null) return "Mcp-Name is missing";
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined) return "Mcp-Name has invalid characters or broken base64";
  return decoded === inBody ? undefined : `Mcp-Name is ${quote(decoded)} but the body says ${quote(inBody)}`;
}

function classifyLegacy(
  messages: readonly ParsedMessage[],
  isBatch: boolean,
  headers: ClassifyHeaders,
  options: ClassifyOptions,
): Decision {
  const [first] = messages;
  const id = !isBatch && first?.kind === "request" ? first.message.id : undefined;
  const version = headerVersion(headers, options.versions);
  if (version && "reason" in version) return refusal(version, id);
  const sessionId = headers.sessionId ?? undefined;
  if (!isBatch && first?.kind === "request" && first.message.method === "initialize") {
    if (sessionId === undefined || !options.hasSessions) return { kind: "initialize", request: first.message };
  }
  if (options.hasSessions && sessionId === undefined && !isBatch) return refusal({ reason: "session-missing" }, id);
  return { kind: "legacy", isBatch, sessionId, version };
}

function headerVersion(headers: ClassifyHeaders, versions: ServedVersions): VersionRules | Refusal | undefined {
  if (headers.protocolVersion === null) return undefined;
  const rules = versions.find(headers.protocolVersion);
  return rules?.era === "legacy" ? rules : unservedVersion(headers.protocolVersion, versions);
}

/** Returns the refusal of a version header that does not name a served legacy version. */
export function unservedVersion(version: string, versions: ServedVersions): Refusal {
  const served = versions.legacy.length > 0 ? versions.legacy : versions.modern;
  return { reason: "version-header", version, served: listNames(served) };
}

/** Classifies a batch. Only legacy versions have batches. Each invalid member gets its own error later. */
function classifyBatch(
  body: readonly unknown[],
  messages: readonly ParsedMessage[],
  headers: ClassifyHeaders,
  options: ClassifyOptions,
): Decision {
  const batch = (problem: string) => refusal({ reason: "batch", problem });
  if (headers.protocolVersion !== null && options.versions.find(headers.protocolVersion)?.batch !== true) {
    return batch("this protocol version does not support batches; send each message separately");
  }
  if (!options.versions.find(ASSUMED_HTTP_VERSION.version)) return batch("no served protocol version supports batches");
  if (body.some(isModernMember)) return batch("its messages name a protocol version that does not support batches");
  if (body.length === 0) return batch("it is empty");
  if (body.length > options.batchMax) return batch(`it has more than ${options.batchMax} messages`);
  const requests = messages.flatMap((parsed) => (parsed.kind === "request" ? [parsed.message] : []));
  if (requests.some(({ method }) => method === "initialize")) return batch("initialize must be sent separately");
  if (new Set(requests.map(({ id }) => id)).size < requests.length) return batch("an id occurs twice");
  return classifyLegacy(messages, true, headers, options);
}

function isModernMember(member: unknown): boolean {
  return isObject(member) && isObject(member.params) && hasEnvelope(member.params);
}

function refusal(reason: Refusal, id?: RequestId): Decision {
  return { kind: "refuse", refusal: reason, id };
}

/** Returns the id of a POST that consists of one request, or undefined for any other POST. */
export function requestId(messages: readonly ParsedMessage[]): RequestId | undefined {
  const [first] = messages;
  return messages.length === 1 && first?.kind === "request" ? first.message.id : undefined;
}
