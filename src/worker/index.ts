/**
 * mcp-edge/worker: an MCP server as a Cloudflare Worker.
 *
 * @module
 */

export type { EndpointHooks } from "../core/define/hook-types.ts";
export type { Principal } from "../core/protocol/client-facts.ts";
export type { ParsedMessage } from "../core/protocol/jsonrpc.ts";
export type { Era } from "../core/protocol/spoken-versions.ts";
export type {
  AuthHook,
  Authorize,
  AuthResult,
  ReceivedRequest,
  RefusedMessage,
  RefusedRequest,
  ServerFactory,
  ServerSource,
} from "../http/endpoint-types.ts";
export type { OriginRules } from "../http/origin.ts";
export type { OwnReason, PartReason, Refusal, Refused, Reply, WireForm } from "../http/refusal.ts";
export type { HttpLimits, ResponseTimes } from "../http/response-times.ts";
export type { PlainRequest } from "../http/sessions.ts";
export type { Brand } from "../look/brand.ts";
export type { AuditRecord } from "./access/audit/audit-record.ts";
export type { AuditOptions, AuditPlugin, UnusualUse, UnusualUseOptions } from "./access/audit/index.ts";
export { audit } from "./access/audit/index.ts";
export { type BytesInFlightOptions, limitBytesInFlight } from "./access/rates/bytes-in-flight.ts";
export type { AddedBy, AddedClasses, AddsClasses } from "./added-classes.ts";
export type { ObjectsOptions } from "./bindings.ts";
export { anonymous, authenticate, definePlugin } from "./contributions.ts";
export type { DebugOptions } from "./debug/index.ts";
export { debug } from "./debug/index.ts";
export type { EdgeApp } from "./edge.ts";
export { edge } from "./edge.ts";
export type { EdgeOptions } from "./edge-options.ts";
export type { HealthOptions, HealthReport, IsolateState, LastError, LastRefusal } from "./health/index.ts";
export { health } from "./health/index.ts";
export type { McpObject, McpObjectClass, WithMcpObject } from "./object.ts";
export { objects } from "./objects.ts";
export type { PageOptions } from "./page/index.ts";
export { page } from "./page/index.ts";
export type { HonoEnv, Part } from "./parts.ts";
export type { Contribution, Plugin, PluginDefinition, PluginEndpoint, Use } from "./plugin.ts";
export type { Problem, ProblemCode } from "./problems.ts";
