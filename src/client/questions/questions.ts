/**
 * What servers ask clients, and the answers.
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
   * Aborts when the server withdraws the question, when the caller cancels the request, or when the connection closes.
   */
  readonly signal: AbortSignal;
  /**
   * Given to `onElicitUrl` by `visitPages()`: call it when the user says that the visit has ended. The request that
   * needs the page is then sent again, even if the server does not report the end.
   */
  readonly finish?: () => void;
}

/** A form that the server asks the user to fill in. @see MCP 2026-07-28, client/elicitation, "Form Mode" */
export interface ElicitRequestFormParams {
  /** Absent in versions before 2025-11-25. */
  readonly mode?: "form";
  /** What the form is for. Show the user which server asks. */
  readonly message: string;
  /** The JSON Schema of the form: an object whose properties are texts, numbers, booleans and choices. */
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
  /** What the page is for. */
  readonly message: string;
  /** The page. Show it to the user before opening it, and do not fetch it. */
  readonly url: string;
  /** Identifies the question in `onElicitationComplete`. Sent in 2025-11-25. */
  readonly elicitationId?: string;
}

/** What the user did. */
export interface ElicitAnswer {
  /** The user agreed, refused, or dismissed the question without a choice. */
  readonly action: "accept" | "decline" | "cancel";
  /**
   * The values of the form, if the user agreed. Fields that are missing get the default of the schema, if it has one.
   */
  readonly content?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** Content of a sampling message. Models that use tools also send `tool_use` and `tool_result`. */
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
  /** Who says it. */
  readonly role: "user" | "assistant";
  /** What is said; several blocks only if the client declared `sampling.tools`. */
  readonly content: SamplingContent | readonly SamplingContent[];
}

/** A request to let the client's model write a message. @see MCP 2026-07-28, client/sampling */
export interface CreateMessageRequestParams {
  /** The conversation so far. */
  readonly messages: readonly SamplingMessage[];
  /** The maximum number of tokens to write. The client may stop earlier. */
  readonly maxTokens: number;
  /** The system prompt that the server wishes for. The client may change or omit it. */
  readonly systemPrompt?: string;
  /** Which model the server wishes for. */
  readonly modelPreferences?: {
    /** Names or parts of names of models, the best first. */
    readonly hints?: readonly { readonly name?: string }[];
    /** How much a low price matters, from 0 to 1. */
    readonly costPriority?: number;
    /** How much speed matters, from 0 to 1. */
    readonly speedPriority?: number;
    /** How much ability matters, from 0 to 1. */
    readonly intelligencePriority?: number;
  };
  /** The variation of the answer. Its range depends on the model. */
  readonly temperature?: number;
  /** Texts at which the model stops. */
  readonly stopSequences?: readonly string[];
  /** The context of other servers to add. Sent only if the client declared `sampling.context`. */
  readonly includeContext?: "none" | "thisServer" | "allServers";
  /** Settings for the provider of the model. */
  readonly metadata?: JsonObject;
  /** Tools that the model may use. Sent only if the client declared `sampling.tools`. */
  readonly tools?: readonly Tool[];
  /** Whether the model must use a tool. */
  readonly toolChoice?: { readonly mode?: "auto" | "required" | "none" };
}

/** The message that the client's model wrote. */
export interface CreateMessageResult {
  /** Usually `assistant`. */
  readonly role: "user" | "assistant";
  /** What the model wrote. */
  readonly content: SamplingContent | readonly SamplingContent[];
  /** The name of the model. */
  readonly model: string;
  /** Why the model stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse` or another text. */
  readonly stopReason?: string;
}

/** A log message of the server. @see MCP 2026-07-28, server/utilities/logging */
export interface LogMessage {
  /** How grave it is. */
  readonly level: LoggingLevel;
  /** The part of the server that sent it. */
  readonly logger?: string;
  /** The message: a text or any other JSON value. */
  readonly data: unknown;
}

/** The handlers of questions and changes. Each that is given declares the capability that belongs to it. */
export interface ServerHandlers {
  /** Shows the user a form of the server. Declares `elicitation.form`. */
  readonly onElicit?: (form: ElicitRequestFormParams, context: QuestionContext) => ElicitAnswer | Promise<ElicitAnswer>;
  /**
   * Shows the user the address of a page, and opens it if the user agrees. `accept` means consent, not that the user
   * has finished there. Declares `elicitation.url`.
   */
  readonly onElicitUrl?: (
    page: ElicitRequestURLParams,
    context: QuestionContext,
  ) => Pick<ElicitAnswer, "action"> | Promise<Pick<ElicitAnswer, "action">>;
  /** Called when the user has finished on a page of `onElicitUrl`. Sent in 2025-11-25. */
  readonly onElicitationComplete?: (elicitationId: string) => void;
  /** Lets a model write a message for the server. Let the user see and change both. Declares `sampling`. */
  readonly onSample?: (
    request: CreateMessageRequestParams,
    context: QuestionContext,
  ) => CreateMessageResult | Promise<CreateMessageResult>;
  /** Whether `onSample` understands `tools`. Declares `sampling.tools`. @default false */
  readonly samplesWithTools?: boolean;
  /** The places that the server may work in. Change them with `setRoots()`. Declares `roots`. */
  readonly roots?: readonly Root[];
  /** Called when the tools may have changed. */
  readonly onToolsChanged?: () => void;
  /** Called when the prompts may have changed. */
  readonly onPromptsChanged?: () => void;
  /** Called when the resources may have changed. */
  readonly onResourcesChanged?: () => void;
  /** Called when a resource of `subscribe()` may have changed. */
  readonly onResourceUpdated?: (uri: string) => void;
  /** Called with each log message. See `setLevel()`. */
  readonly onLog?: (message: LogMessage) => void;
}
