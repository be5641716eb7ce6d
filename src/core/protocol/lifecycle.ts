/**
 * How clients describe themselves: legacy clients in the `initialize` handshake, modern clients in the `_meta` of each
 * request.
 *
 * @module
 * @see MCP 2025-11-25, basic/lifecycle; MCP 2026-07-28, basic/versioning
 */

import { quote } from "../basics/quote.ts";
import type { ClientCapabilities } from "./client-capabilities.ts";
import { ClientFacts, readImplementation } from "./client-facts.ts";
import * as ErrorCode from "./error-codes.ts";
import { invalidParams, McpError } from "./errors.ts";
import { isObject, type JSONRPCNotification, type JSONRPCRequest, type JsonObject } from "./jsonrpc.ts";
import { type LoggingLevel, readLevel } from "./logging.ts";
import * as META from "./meta.ts";
import { listNames, type ServedVersions, type VersionRules } from "./versions.ts";

/** Returns the `_meta` of a message's params, or an empty object. */
export function readMeta(params: JsonObject | undefined): JsonObject {
  return isObject(params?._meta) ? params._meta : {};
}

/** Whether a message is modern: its `_meta` has the protocol version or the capabilities of the client. */
export function hasEnvelope(params: JsonObject | undefined): boolean {
  const meta = readMeta(params);
  return META.protocolVersion in meta || META.clientCapabilities in meta;
}

/**
 * The fields in the `_meta` of a modern request. Their presence and types are checked, but not whether the version is
 * served.
 */
export interface Envelope {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly meta: JsonObject;
}

/**
 * Reads the fields in the `_meta` of a modern request.
 *
 * @throws {McpError} -32602 naming the field that is missing or of the wrong type.
 * @see MCP 2026-07-28, basic, "Per-request protocol fields"
 */
export function readEnvelope(params: JsonObject | undefined): Envelope {
  const meta = readMeta(params);
  const version = meta[META.protocolVersion];
  const capabilities = meta[META.clientCapabilities];
  if (typeof version !== "string") throw missingField(META.protocolVersion, "a string");
  if (!isObject(capabilities)) throw missingField(META.clientCapabilities, "an object");
  return { version, capabilities, meta };
}

function missingField(field: string, type: string): McpError {
  return invalidParams(`params._meta["${field}"] is required and must be ${type}.`, {
    field,
  });
}

/**
 * Returns the client of a modern request.
 *
 * @throws {McpError} -32022 listing the served versions if the version of the client is not one of them.
 */
export function toClient(envelope: Envelope, versions: ServedVersions): ClientFacts {
  const rules = versions.find(envelope.version);
  if (rules?.era !== "modern") throw unsupportedVersion(envelope.version, versions);
  return new ClientFacts(rules, envelope.capabilities, readImplementation(envelope.meta[META.clientInfo]));
}

/**
 * Returns the client that sent a notification: from its `_meta`, else `known`, else a client without capabilities.
 *
 * @param known The client of the connection or session, if there is one.
 */
export function findSender(
  { params }: Pick<JSONRPCNotification, "params">,
  versions: ServedVersions,
  known?: ClientFacts,
): ClientFacts {
  try {
    if (hasEnvelope(params)) return toClient(readEnvelope(params), versions);
  } catch {
    // A notification gets no response, so its error cannot be reported to the client.
  }
  return known ?? new ClientFacts((versions.modern[0] ?? versions.legacy[0]) as VersionRules, {});
}

/**
 * Returns a -32022 error. `supported` lists only modern versions; the message adds the versions of the handshake.
 */
export function unsupportedVersion(requested: string, versions: ServedVersions): McpError {
  const modern = listNames(versions.modern);
  const legacy = listNames(versions.legacy);
  const hint = legacy.length > 0 ? ` By initialize: ${legacy.join(", ")}.` : "";
  return new McpError(
    ErrorCode.UnsupportedProtocolVersion,
    `Protocol version ${quote(requested)} is not served. Per request: ${modern.join(", ") || "none"}.${hint}`,
    { supported: modern, requested },
  );
}

/**
 * Returns the log level in the `_meta` of a modern request, if there is one.
 *
 * @throws {McpError} -32602 if it is not a level.
 */
export function readLogLevel(request: { readonly params?: JsonObject | undefined }): LoggingLevel | undefined {
  const level = readMeta(request.params)[META.logLevel];
  return level === undefined ? undefined : readLevel(level, `params._meta["${META.logLevel}"]`);
}

/** The state that a transport stores between requests. Capabilities that need other state are not declared. */
export interface TransportFeatures {
  readonly logLevel: boolean;
  /** Whether notifications of changes reach the client. */
  readonly notifications: boolean;
  /** Adds the capabilities of the transport to the capabilities of the server. */
  readonly declare?: ((capabilities: JsonObject) => JsonObject) | undefined;
}

/** How a server describes itself. */
export interface ServerIdentity {
  readonly versions: ServedVersions;
  /** `instructions` explains to the model how to use the server. */
  readonly options: { readonly instructions?: string | undefined };
  /** The server's `Implementation`, with the members that the version defines. */
  info(rules: VersionRules): JsonObject;
  /** The server's capabilities, as far as the version defines them and the transport stores their state. */
  capabilities(rules: VersionRules, features: TransportFeatures): JsonObject;
}

/** The outcome of `initialize`: the client with its version, and the result for the client. */
export interface Negotiated {
  readonly client: ClientFacts;
  readonly result: JsonObject;
}

/**
 * Returns the result of `initialize`: with the requested version if it is a served legacy version, otherwise with the
 * newest served legacy version.
 *
 * @throws {McpError} -32602 if a required field is missing; -32601 naming the served versions if none of them is
 *   legacy.
 */
export function negotiate(identity: ServerIdentity, request: JSONRPCRequest, features: TransportFeatures): Negotiated {
  const { protocolVersion, capabilities, clientInfo } = request.params ?? {};
  const newest = identity.versions.legacy[0];
  if (!newest) throw noLegacy(identity.versions);
  if (typeof protocolVersion !== "string") throw invalidParams("initialize: params.protocolVersion is not a string.");
  if (!isObject(capabilities)) throw invalidParams("initialize: params.capabilities is not an object.");
  const info = readImplementation(clientInfo);
  if (!info) throw invalidParams("initialize: params.clientInfo has no string name and version.");
  const asked = identity.versions.find(protocolVersion);
  const rules = asked?.era === "legacy" ? asked : newest;
  return { client: new ClientFacts(rules, capabilities, info), result: initializeResult(identity, rules, features) };
}

function initializeResult(identity: ServerIdentity, rules: VersionRules, features: TransportFeatures): JsonObject {
  return {
    protocolVersion: rules.version,
    capabilities: identity.capabilities(rules, features),
    serverInfo: identity.info(rules),
    ...getInstructions(identity),
  };
}

/** Returns the member `instructions` of a result, if the server has instructions. */
export function getInstructions({ options: { instructions } }: ServerIdentity): JsonObject {
  return instructions === undefined ? {} : { instructions };
}

function noLegacy(versions: ServedVersions): McpError {
  const modern = listNames(versions.modern).join(", ");
  return new McpError(
    ErrorCode.MethodNotFound,
    `This server has no initialize handshake. It serves ${modern}, which each request names in its _meta.`,
  );
}

/** Adds the result type and the server info, which every modern result has. */
export function completeResult(result: JsonObject, identity: ServerIdentity, rules: VersionRules): JsonObject {
  if (!rules.resultEnvelope) return result;
  const meta = { ...(result._meta as JsonObject | undefined), [META.serverInfo]: identity.info(rules) };
  return { resultType: "complete", ...result, _meta: meta };
}
