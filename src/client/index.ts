/**
 * mcp-edge/client: connects to MCP servers of every protocol version, on Node, Workers, Deno, Bun and in browsers.
 *
 * @example
 * ```ts
 * import { connect } from "mcp-edge/client";
 *
 * const client = await connect("https://example.com/mcp", { name: "my-app", version: "1.0.0" });
 * for await (const tool of client.tools()) console.log(tool.name);
 * await client.close();
 * ```
 *
 * @module
 */

export type { ClientCapabilities } from "../core/protocol/client-capabilities.ts";
export type { Implementation } from "../core/protocol/client-facts.ts";
export { KitError, McpError } from "../core/protocol/errors.ts";
export type { JsonObject } from "../core/protocol/jsonrpc.ts";
export type { LoggingLevel } from "../core/protocol/logging.ts";
export type { Root } from "../core/protocol/root.ts";
export type { Era } from "../core/protocol/spoken-versions.ts";
export type { Transport } from "../core/protocol/transport.ts";
export type { CallOptions, Client, CompleteOptions, ListPageOptions } from "./api/client.ts";
export type { ClientExtension, ExtensionContext, ExtensionHooks } from "./api/extensions.ts";
export type { ClientOptions } from "./api/options.ts";
export type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitAnswer,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  LogMessage,
  QuestionContext,
  SamplingContent,
  SamplingMessage,
  ServerHandlers,
} from "./api/questions.ts";
export type { IncomingRequest, Next, OutgoingRequest } from "./api/wrapped-requests.ts";
export type { ClientErrorCode, ClientErrorFacts, ClientErrorSource, RefusedResponse } from "./basics/errors.ts";
export { ClientError } from "./basics/errors.ts";
export type { ClientEvent, EventHook } from "./basics/events.ts";
export type { ClientCacheOptions } from "./cache/cache.ts";
export { cache } from "./cache/cache.ts";
export type { CacheStore, MemoryCacheOptions } from "./cache/store.ts";
export { memoryCache } from "./cache/store.ts";
export { connect } from "./connection/connect.ts";
export type { ConnectTarget } from "./connection/open-link.ts";
export type { HostOptions, HostTool } from "./host/host.ts";
export { Host, openHost } from "./host/host.ts";
export type { CommandServer, ConfiguredServer, ConfigVariables, UrlServer } from "./host/server-config.ts";
export type { UrlElicitationError, VisitPagesOptions } from "./questions/url-pages.ts";
export { isUrlElicitationRequired, visitPages } from "./questions/url-pages.ts";
export type { ListedPage, ListingLimits } from "./requests/listing.ts";
export { Listing } from "./requests/listing.ts";
export type { RequestOptions } from "./requests/request-options.ts";
export type {
  CallToolResult,
  CheckedToolResult,
  Completion,
  CompletionReference,
  GetPromptResult,
  Listed,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  Page,
  Progress,
  Prompt,
  PromptParameter,
  ReadResourceResult,
  Received,
  ReceivedContentBlock,
  ReceivedPromptMessage,
  Resource,
  ResourceContents,
  ResourceTemplate,
  Result,
  ServerCapabilities,
  ServerFacts,
  Tool,
  ToolHints,
} from "./requests/results.ts";
export type { ConnectionState, RequestState } from "./state/state.ts";
export { getConnectionState, trackState } from "./state/state.ts";
export type { AuthContext, ClientAuth } from "./transports/auth.ts";
export type { FetchFunction, HeadersGiven, HeadersOption } from "./transports/fetch-options.ts";
export type { ReopenableTransport } from "./transports/pipe-opener.ts";
