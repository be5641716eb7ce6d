/**
 * How the two eras open: legacy by an `initialize` handshake, modern by `_meta` on each request.
 *
 * @module
 * @see MCP 2025-11-25, basic/lifecycle; MCP 2026-07-28, basic/versioning
 */
import { type ClientCapabilities, ClientFacts, readImplementation } from "./client-facts.ts";
import { invalidParams, McpError } from "./errors.ts";
import { ErrorCode, isObject, type JSONRPCNotification, type JSONRPCRequest, type JsonObject } from "./jsonrpc.ts";
import { type LoggingLevel, readLevel } from "./logging.ts";
import { quote } from "./quote.ts";
import type { ServedVersions, VersionRules } from "./versions.ts";

export const META = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  logLevel: "io.modelcontextprotocol/logLevel",
} as const;

/** The `_meta` of a message's params; empty when there is none. */
export function metaOf(params: JsonObject | undefined): JsonObject {
  return isObject(params?._meta) ? params._meta : {};
}

/** True when a message claims the modern era: any of the per-request fields is in its `_meta`. */
export function hasEnvelope(params: JsonObject | undefined): boolean {
  const meta = metaOf(params);
  return META.protocolVersion in meta || META.clientCapabilities in meta;
}

/** The per-request fields of a modern request, checked for presence and type but not yet for a served version. */
export interface Envelope {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly meta: JsonObject;
}

/**
 * Reads the per-request fields.
 *
 * @throws {McpError} -32602 naming the missing or ill-typed field.
 * @see MCP 2026-07-28, basic, "Per-request protocol fields"
 */
export function readEnvelope(params: JsonObject | undefined): Envelope {
  const meta = metaOf(params);
  const version = meta[META.protocolVersion];
  const capabilities = meta[META.clientCapabilities];
  if (typeof version !== "string") throw missingField(META.protocolVersion, "a string");
  if (!isObject(capabilities)) throw missingField(META.clientCapabilities, "an object");
  return { version, capabilities, meta };
}

function missingField(field: string, type: string): McpError {
  return invalidParams(`params._meta["${field}"] is required and is ${type} (MCP 2026-07-28, basic, "_meta").`, {
    field,
  });
}

/**
 * The client of a modern request whose version is served.
 *
 * @throws {McpError} -32022 with the versions that are.
 */
export function clientOf(envelope: Envelope, versions: ServedVersions): ClientFacts {
  const rules = versions.find(envelope.version);
  if (rules?.era !== "modern") throw unsupportedVersion(envelope.version, versions);
  return new ClientFacts(rules, envelope.capabilities, readImplementation(envelope.meta[META.clientInfo]));
}

/**
 * The client that sent a notification, as far as it is known.
 *
 * @param known The client of the connection or session; undefined: a client of which nothing is known.
 */
export function senderOf(
  { params }: Pick<JSONRPCNotification, "params">,
  versions: ServedVersions,
  known?: ClientFacts,
): ClientFacts {
  try {
    if (hasEnvelope(params)) return clientOf(readEnvelope(params), versions);
  } catch {
    // A notification has no answer that could say what is wrong with it.
  }
  return known ?? new ClientFacts((versions.modern[0] ?? versions.legacy[0]) as VersionRules, {});
}

/** -32022. `supported` names modern versions only; legacy ones are opened by `initialize`, and the text says so. */
export function unsupportedVersion(requested: string, versions: ServedVersions): McpError {
  const modern = versions.modern.map((rules) => rules.version);
  const legacy = versions.legacy.map((rules) => rules.version);
  const hint = legacy.length > 0 ? ` By initialize: ${legacy.join(", ")}.` : "";
  return new McpError(
    ErrorCode.UnsupportedProtocolVersion,
    `Protocol version ${quote(requested)} is not served. Per request: ${modern.join(", ") || "none"}.${hint}`,
    { supported: modern, requested },
  );
}

/**
 * The log level a modern request asks for, by its `_meta`.
 *
 * @throws {McpError} -32602 when it is no level.
 */
export function logLevelOf(request: { readonly params?: JsonObject | undefined }): LoggingLevel | undefined {
  const level = metaOf(request.params)[META.logLevel];
  return level === undefined ? undefined : readLevel(level, `params._meta["${META.logLevel}"]`);
}

/** The state that a way of serving keeps between requests. Capabilities that need more are not declared. */
export interface Keeps {
  readonly logLevel: boolean;
  /** Whether notices of changes reach the client. */
  readonly notices: boolean;
}

/** How a server introduces itself. */
export interface ServerIdentity {
  readonly versions: ServedVersions;
  /** `instructions`: how to use the server, for the model. */
  readonly options: { readonly instructions?: string | undefined };
  /** Name, version and the rest of the `Implementation`, as far as the version has them. */
  info(rules: VersionRules): JsonObject;
  /** What the server can do, as far as the version has words for it and the way of serving can keep it. */
  capabilities(rules: VersionRules, keeps: Keeps): JsonObject;
}

/** The outcome of `initialize`: the client, with its version, and the result for it. */
export interface Negotiated {
  readonly client: ClientFacts;
  readonly result: JsonObject;
}

/**
 * Answers `initialize`: the asked version if it is served, else the newest legacy one that is.
 *
 * @throws {McpError} -32602 when a required field is missing; -32601 when no legacy version is served, naming those that are.
 */
export function negotiate(server: ServerIdentity, request: JSONRPCRequest, keeps: Keeps): Negotiated {
  const { protocolVersion, capabilities, clientInfo } = request.params ?? {};
  const newest = server.versions.legacy[0];
  if (!newest) throw noLegacy(server.versions);
  if (typeof protocolVersion !== "string") throw invalidParams("initialize: params.protocolVersion is not a string.");
  if (!isObject(capabilities)) throw invalidParams("initialize: params.capabilities is not an object.");
  const info = readImplementation(clientInfo);
  if (!info) throw invalidParams("initialize: params.clientInfo has no string name and version.");
  const asked = server.versions.find(protocolVersion);
  const rules = asked?.era === "legacy" ? asked : newest;
  return { client: new ClientFacts(rules, capabilities, info), result: initializeResult(server, rules, keeps) };
}

function initializeResult(server: ServerIdentity, rules: VersionRules, keeps: Keeps): JsonObject {
  return {
    protocolVersion: rules.version,
    capabilities: server.capabilities(rules, keeps),
    serverInfo: server.info(rules),
    ...instructionsOf(server),
  };
}

/** The member `instructions` of a result, where the server has them. */
export function instructionsOf({ options: { instructions } }: ServerIdentity): JsonObject {
  return instructions === undefined ? {} : { instructions };
}

function noLegacy(versions: ServedVersions): McpError {
  const modern = versions.modern.map((rules) => rules.version).join(", ");
  return new McpError(
    ErrorCode.MethodNotFound,
    `This server has no initialize handshake. It serves ${modern}, with the version in each request's _meta.`,
  );
}

/** Adds what every modern result has: its type, and who the server is. */
export function completeResult(result: JsonObject, server: ServerIdentity, rules: VersionRules): JsonObject {
  if (!rules.resultEnvelope) return result;
  const meta = { ...(result._meta as JsonObject | undefined), [META.serverInfo]: server.info(rules) };
  return { resultType: "complete", ...result, _meta: meta };
}
