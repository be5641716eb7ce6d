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

export type { Elicited, ElicitResult } from "./ask/answers.ts";
export { readElicitResult, readRoots } from "./ask/answers.ts";
export type { ElicitationSchema } from "./ask/elicitation-schema.ts";
export { QuestionError } from "./ask/question-errors.ts";
export type { QuestionOptions } from "./ask/question-options.ts";
export type { Question } from "./ask/questions.ts";
export { elicitQuestion, rootsQuestion } from "./ask/questions.ts";
export type { SampleHook, SampleRecord } from "./ask/sample-hook.ts";
export type { SampleParams, SampleResult } from "./ask/sampling-params.ts";
export { readSampleResult, sampleQuestion } from "./ask/sampling-params.ts";
export type { ElicitUrlOptions, ElicitUrlResult, UrlElicitation } from "./ask/url-elicitation.ts";
export { elicitUrlQuestion, readElicitUrlResult } from "./ask/url-elicitation.ts";
export { withinRoots } from "./ask/within-roots.ts";
export type { Connection, ServeTransportOptions } from "./connection/connection.ts";
export { serveTransport } from "./connection/connection.ts";
export { createTransportPair } from "./connection/transport-pair.ts";
export type { CacheableMethod, CacheHint } from "./define/cache-hint.ts";
export type { Completer, Completers } from "./define/completion.ts";
export type { CustomHandler, CustomNotificationHandler, NotificationContext } from "./define/custom-methods.ts";
export type {
  ContextOf,
  HandlerContext,
  OwnContents,
  ProgressOptions,
  TraceContext,
  WithContext,
} from "./define/handler-context.ts";
export type { Step, StepContext, Tries } from "./define/handler-run.ts";
export type { AroundHook, RequestData, RequestEnd, RequestEndHook } from "./define/hook-types.ts";
export type { InputRequired } from "./define/input-required.ts";
export type {
  PromptArgument,
  PromptArguments,
  PromptDefinition,
  PromptHandler,
  PromptMessage,
  PromptOptions,
  PromptReturn,
  PromptValues,
} from "./define/prompt.ts";
export { definePrompt } from "./define/prompt.ts";
export type {
  CommonResourceOptions,
  ListedResource,
  ReadResult,
  ReadReturn,
  ResourceContent,
  ResourceDefinition,
  ResourceOptions,
  ResourceProvider,
  ResourceReader,
  ResourceTemplateDefinition,
  ResourceTemplateOptions,
  ResourceTemplateReader,
} from "./define/resource.ts";
export { defineResource, defineResourceTemplate } from "./define/resource.ts";
export { McpServer } from "./define/server.ts";
export type {
  CallerFacts,
  ContextFunction,
  Definition,
  RequestFacts,
  ServerOptions,
  SubscribeHook,
  SubscriptionContext,
  SubscriptionHook,
} from "./define/server-options.ts";
export type {
  AnySchemaOrNone,
  ToolAnnotations,
  ToolArguments,
  ToolDefinition,
  ToolHandler,
  ToolOptions,
  ToolResult,
  ToolReturn,
  ToolReturnFor,
} from "./define/tool.ts";
export { defineTool } from "./define/tool.ts";
export type { UriTemplateVariables } from "./define/uri-template.ts";
export type { ClientCapabilities, ClientCapabilityName } from "./protocol/client-capabilities.ts";
export type { ClientFacts, Implementation, Principal, UpstreamToken } from "./protocol/client-facts.ts";
export type {
  Annotations,
  AudioContent,
  Base64OrBytes,
  BlobResourceContents,
  BlockCommon,
  ContentBlock,
  EmbeddedResource,
  Icon,
  ImageContent,
  ResourceLink,
  TextContent,
  TextResourceContents,
} from "./protocol/content.ts";
export type { ErrorContext, ErrorReporter } from "./protocol/error-reports.ts";
export type { KitErrorCode } from "./protocol/errors.ts";
export { CancelledError, KitError, McpError, ToolError } from "./protocol/errors.ts";
export type { Execution, HookTools } from "./protocol/execution.ts";
export type {
  JSONRPCErrorObject,
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  JsonObject,
  RequestId,
} from "./protocol/jsonrpc.ts";
export { ErrorCode } from "./protocol/jsonrpc.ts";
export type { Limits } from "./protocol/limits.ts";
export { DEFAULT_LIMITS } from "./protocol/limits.ts";
export type { LoggingLevel } from "./protocol/logging.ts";
export type { RequestDescription } from "./protocol/request-description.ts";
export type { Root } from "./protocol/root.ts";
export type {
  AnySchema,
  InferInput,
  InferOutput,
  SchemaIssue,
  SchemaOf,
  SchemaPair,
  SchemaResult,
  StandardJsonSchema,
  StandardSchema,
} from "./protocol/schema.ts";
export type { Era } from "./protocol/spoken-versions.ts";
export type { Transport, UnreadableMessage } from "./protocol/transport.ts";
export { inputRequired } from "./run/input-required.ts";
export type { RetryOptions, TryContext } from "./run/retry.ts";
export { retrying } from "./run/retry.ts";
export { UrlElicitationRequiredError } from "./run/url-elicitation-required.ts";
export type { OutcomeKeeper, Presented, PresentedRound } from "./serve/idempotency.ts";
export { IDEMPOTENCY_KEY, outcomesInMemory } from "./serve/idempotency.ts";
