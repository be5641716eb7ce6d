/**
 * The questions of servers, their answers, and the options with the handlers that answer them.
 *
 * @module
 * @see MCP 2026-07-28, client/elicitation, client/sampling, client/roots
 */
import type { AudioContent, ImageContent, TextContent } from "../../core/protocol/content.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { LoggingLevel } from "../../core/protocol/logging.ts";
import type { Root } from "../../core/protocol/root.ts";
import type { Received, ReceivedContentBlock, Tool } from "../requests/results.ts";

/** The context of a question that the server asks. */
export interface QuestionContext {
  /**
   * Aborts when the server cancels the question, when the caller cancels the request, or when the connection closes.
   */
  readonly signal: AbortSignal;
  /**
   * Present in `onElicitUrl` with `visitPages()`. Call it when the user has finished on the page. The request that needs the page is
   * then sent again, even if the server does not report that the user has finished.
   */
  readonly finish?: () => void;
}

/** A form that the server asks the user to fill in. @see MCP 2026-07-28, client/elicitation, "Form Mode" */
export interface ElicitRequestFormParams {
  /** Absent in versions before 2025-11-25. */
  readonly mode?: "form";
  /** The purpose of the form. Show it together with the name of the server. */
  readonly message: string;
  /** The JSON Schema of the form: an object whose properties are strings, numbers, booleans and enums. */
  readonly requestedSchema: {
    /** Always `object`. */
    readonly type: "object";
    /** The fields, by name. */
    readonly properties: Readonly<Record<string, JsonObject>>;
    /** The names of the fields that must be filled in. */
    readonly required?: readonly string[];
  };
}

/** A page that the server asks the user to visit. @see MCP 2025-11-25 and later, client/elicitation, "URL Mode" */
export interface ElicitRequestURLParams {
  /** Always `url`. */
  readonly mode: "url";
  /** The purpose of the page. */
  readonly message: string;
  /** The URL of the page. Show it to the user before opening it, and do not fetch it. */
  readonly url: string;
  /** Identifies the question in `onElicitationComplete`. Sent in 2025-11-25. */
  readonly elicitationId?: string;
}

/** What the user did. */
export interface ElicitAnswer {
  /** The user agreed, refused, or dismissed the question without a choice. */
  readonly action: "accept" | "decline" | "cancel";
  /**
   * The values of the form, if the user agreed. Missing fields get the default of the schema, if there is one.
   */
  readonly content?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** Content of a sampling message. Conversations with tools also contain `tool_use` and `tool_result`. */
export type SamplingContent =
  | TextContent
  | Received<ImageContent>
  | Received<AudioContent>
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: JsonObject }
  | {
      readonly type: "tool_result";
      readonly toolUseId: string;
      readonly content: readonly ReceivedContentBlock[];
      readonly structuredContent?: unknown;
      readonly isError?: boolean;
    };

/** A message for a model. */
export interface SamplingMessage {
  /** The role of the author. */
  readonly role: "user" | "assistant";
  /** The content. An array only if the client has declared `sampling.tools`. */
  readonly content: SamplingContent | readonly SamplingContent[];
}

/** A request to generate a message with a model of the client. @see MCP 2026-07-28, client/sampling */
export interface CreateMessageRequestParams {
  /** The conversation so far. */
  readonly messages: readonly SamplingMessage[];
  /** The maximum number of tokens to generate. The client may generate fewer. */
  readonly maxTokens: number;
  /** The system prompt that the server requests. The client may change or omit it. */
  readonly systemPrompt?: string;
  /** The preferences of the server for the choice of the model. */
  readonly modelPreferences?: {
    /** Names of models or parts of them, the preferred one first. */
    readonly hints?: readonly { readonly name?: string }[];
    /** The importance of low cost, from 0 to 1. */
    readonly costPriority?: number;
    /** The importance of speed, from 0 to 1. */
    readonly speedPriority?: number;
    /** The importance of capability, from 0 to 1. */
    readonly intelligencePriority?: number;
  };
  /** The sampling temperature. Its range depends on the model. */
  readonly temperature?: number;
  /** Sequences at which the model stops. */
  readonly stopSequences?: readonly string[];
  /** The servers whose context to include. Sent only if the client has declared `sampling.context`. */
  readonly includeContext?: "none" | "thisServer" | "allServers";
  /** Settings for the provider of the model. */
  readonly metadata?: JsonObject;
  /** Tools that the model may use. Sent only if the client has declared `sampling.tools`. */
  readonly tools?: readonly Tool[];
  /** Whether the model may, must or must not use a tool. */
  readonly toolChoice?: { readonly mode?: "auto" | "required" | "none" };
}

/** The message that a model of the client has generated. */
export interface CreateMessageResult {
  /** Usually `assistant`. */
  readonly role: "user" | "assistant";
  /** The content of the message. */
  readonly content: SamplingContent | readonly SamplingContent[];
  /** The name of the model. */
  readonly model: string;
  /** Why the model stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse` or another reason. */
  readonly stopReason?: string;
}

/** A log message of the server. @see MCP 2026-07-28, server/utilities/logging */
export interface LogMessage {
  /** The severity. */
  readonly level: LoggingLevel;
  /** The part of the server that sent it. */
  readonly logger?: string;
  /** The message: a string or any other JSON value. */
  readonly data: unknown;
}

/** The handlers of questions and changes. A handler for questions also declares its capability. */
export interface ServerHandlers {
  /** Shows the user a form of the server. Declares `elicitation.form`. */
  readonly onElicit?: (form: ElicitRequestFormParams, context: QuestionContext) => ElicitAnswer | Promise<ElicitAnswer>;
  /**
   * Shows the user the URL of a page, and opens the page if the user agrees. `accept` means that the user agreed, not that the user
   * has finished on the page. Declares `elicitation.url`.
   */
  readonly onElicitUrl?: (
    page: ElicitRequestURLParams,
    context: QuestionContext,
  ) => Pick<ElicitAnswer, "action"> | Promise<Pick<ElicitAnswer, "action">>;
  /** Called when the user has finished on a page of `onElicitUrl`. Sent in 2025-11-25. */
  readonly onElicitationComplete?: (elicitationId: string) => void;
  /** Generates a message with a model. Let the user review the request and the message. Declares `sampling`. */
  readonly onSample?: (
    request: CreateMessageRequestParams,
    context: QuestionContext,
  ) => CreateMessageResult | Promise<CreateMessageResult>;
  /** Whether `onSample` supports `tools`. Declares `sampling.tools`. @default false */
  readonly samplesWithTools?: boolean;
  /** The folders and files that the server may work with. Change them with `setRoots()`. Declares `roots`. */
  readonly roots?: readonly Root[];
  /** Called when the tools may have changed. */
  readonly onToolsChanged?: () => void;
  /** Called when the prompts may have changed. */
  readonly onPromptsChanged?: () => void;
  /** Called when the resources may have changed. */
  readonly onResourcesChanged?: () => void;
  /** Called when a resource that was passed to `subscribe()` may have changed. */
  readonly onResourceUpdated?: (uri: string) => void;
  /** Called with each log message. See `setLevel()`. */
  readonly onLog?: (message: LogMessage) => void;
}
