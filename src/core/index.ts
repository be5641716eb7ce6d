/**
 * mcp-edge: define an MCP server once, serve it at the edge (`mcp-edge/worker`) and over stdio (`mcp-edge/node`).
 *
 * @example
 * ```ts
 * import { McpServer } from "mcp-edge";
 * import * as z from "zod";
 *
 * const server = new McpServer({ name: "calculator", version: "1.0.0" });
 * server.tool("add", { input: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => String(a + b));
 * ```
 *
 * @module
 */

export { QuestionError } from "./asker.ts";
export type { ClientCapabilities, ClientCapabilityName, Implementation, Principal } from "./client-facts.ts";
export { ClientFacts } from "./client-facts.ts";
export type { Completer, Completers } from "./completion.ts";
export type { Connection, ConnectOptions } from "./connection.ts";
export { connect } from "./connection.ts";
export type {
  Annotations,
  AudioContent,
  BlobResourceContents,
  ContentBlock,
  EmbeddedResource,
  Icon,
  ImageContent,
  ResourceLink,
  TextContent,
  TextResourceContents,
} from "./content.ts";
export type {
  ContextOf,
  ErrorPlace,
  ErrorReporter,
  Execution,
  ProgressOptions,
  TraceContext,
  WithContext,
} from "./context.ts";
export { HandlerContext } from "./context.ts";
export type { CustomHandler, CustomNotificationHandler, NotificationContext } from "./custom.ts";
export type { ElicitationSchema } from "./elicitation-schema.ts";
export type { KitErrorCode } from "./errors.ts";
export { CancelledError, KitError, McpError, ToolError } from "./errors.ts";
export type { AroundHook, RequestData, RequestEnd, RequestEndHook, SampleHook, SampleRecord } from "./hooks.ts";
export type { InputRequired } from "./input-required.ts";
export { inputRequired } from "./input-required.ts";
export type {
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  RequestId,
} from "./jsonrpc.ts";
export { ErrorCode } from "./jsonrpc.ts";
export type { Limits } from "./limits.ts";
export { DEFAULT_LIMITS } from "./limits.ts";
export type { LoggingLevel } from "./logging.ts";
export type { Once, OutcomeKeeper, Presented } from "./once.ts";
export { IDEMPOTENCY_KEY, onceWith, outcomesInMemory } from "./once.ts";
export type {
  PromptArgument,
  PromptDefinition,
  PromptHandler,
  PromptMessage,
  PromptOptions,
  PromptReturn,
} from "./prompt.ts";
export { definePrompt } from "./prompt.ts";
export type { Question } from "./question.ts";
export type { ElicitResult, Root, SampleParams, SampleResult } from "./questions.ts";
export { elicitQuestion, readElicitResult } from "./questions.ts";
export type {
  ListedResource,
  ReadReturn,
  ResourceContent,
  ResourceDefinition,
  ResourceOptions,
  ResourceProvider,
  ResourceReader,
  TemplateDefinition,
  TemplateOptions,
  TemplateReader,
} from "./resource.ts";
export { defineResource, defineResourceTemplate } from "./resource.ts";
export type { RetryOptions, TryContext } from "./retrying.ts";
export { retrying } from "./retrying.ts";
export type {
  AnySchema,
  InferInput,
  InferOutput,
  SchemaIssue,
  SchemaPair,
  SchemaResult,
  StandardJsonSchema,
  StandardSchema,
} from "./schema.ts";
export { McpServer } from "./server.ts";
export type {
  CacheableMethod,
  CacheHint,
  CallerFacts,
  ContextFunction,
  Definition,
  RequestFacts,
  ServerOptions,
  SubscriptionHook,
  SubscriptionPlace,
} from "./server-options.ts";
export type { ToolAnnotations, ToolDefinition, ToolHandler, ToolOptions, ToolResult, ToolReturn } from "./tool.ts";
export { defineTool } from "./tool.ts";
export type { Transport } from "./transport.ts";
export type { TemplateVariables } from "./uri-template.ts";
export type { ElicitUrlResult, UrlElicitation } from "./url-elicitation.ts";
export { elicitUrlQuestion, UrlElicitationRequiredError } from "./url-elicitation.ts";
export { withinRoots } from "./within-roots.ts";
