/**
 * The types of what servers send: the items of lists, and the results of requests. Members that a server omits, or that its version
 * lacks, are absent. Members that are not declared here are kept.
 *
 * @module
 * @see MCP 2026-07-28, schema
 */
import type { Implementation } from "../../core/protocol/client-facts.ts";
import type {
  Annotations,
  AudioContent,
  BlobResourceContents,
  EmbeddedResource,
  Icon,
  ImageContent,
  ResourceLink,
  TextContent,
  TextResourceContents,
} from "../../core/protocol/content.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";

/** A type of `mcp-edge` in the form in which it is received: bytes are base64 strings. */
export type Received<T> = Omit<T, "data" | "blob"> & { readonly [K in keyof T & ("data" | "blob")]: string };

/** The contents of a resource: text, or bytes as base64. */
export type ResourceContents = TextResourceContents | Received<BlobResourceContents>;

/** One piece of content: text, an image, sound, a resource or a link to one. Bytes are base64. */
export type ReceivedContentBlock =
  | TextContent
  | Received<ImageContent>
  | Received<AudioContent>
  | (Omit<EmbeddedResource, "resource"> & { readonly resource: ResourceContents })
  | ResourceLink;

/** The members that all listed items share. */
export interface Listed {
  /** The name that identifies the item. */
  readonly name: string;
  /** The human-readable name. Sent since 2025-06-18. */
  readonly title?: string;
  /** A description for users and models. */
  readonly description?: string;
  /** Icons to show for the item. Sent since 2025-11-25. */
  readonly icons?: readonly Icon[];
  /** Metadata from the server. */
  readonly _meta?: JsonObject;
}

/** Hints about the behavior of a tool. They are claims of the server: rely on them only if you trust the server. */
export interface ToolHints {
  /** The human-readable name. */
  readonly title?: string;
  /** Whether the tool has no side effects. */
  readonly readOnlyHint?: boolean;
  /** Whether the tool may delete or overwrite data. */
  readonly destructiveHint?: boolean;
  /** Whether a repeated call with the same arguments has no additional effect. */
  readonly idempotentHint?: boolean;
  /** Whether the tool interacts with systems outside its server. */
  readonly openWorldHint?: boolean;
}

/** A tool of the server. @see MCP 2026-07-28, server/tools, "Tool" */
export interface Tool extends Listed {
  /** The JSON Schema of the arguments. */
  readonly inputSchema: JsonObject;
  /** The JSON Schema of `structuredContent`. Sent since 2025-06-18. */
  readonly outputSchema?: JsonObject;
  /** Hints about the behavior of the tool. Sent since 2025-03-26. */
  readonly annotations?: ToolHints;
  /** Whether the tool may run as a task. Sent in 2025-11-25. */
  readonly execution?: { readonly taskSupport?: "forbidden" | "optional" | "required" };
}

/** An argument of a prompt. */
export interface PromptParameter {
  /** The name of the argument. */
  readonly name: string;
  /** The human-readable name. */
  readonly title?: string;
  /** A description of the argument. */
  readonly description?: string;
  /** Whether the argument is required. */
  readonly required?: boolean;
}

/** A prompt of the server. @see MCP 2026-07-28, server/prompts, "Prompt" */
export interface Prompt extends Listed {
  /** The arguments of the prompt. */
  readonly arguments?: readonly PromptParameter[];
}

/** A resource of the server. @see MCP 2026-07-28, server/resources, "Resource" */
export interface Resource extends Listed {
  /** The URI of the resource. */
  readonly uri: string;
  /** The media type, if it is known. */
  readonly mimeType?: string;
  /** The size in bytes, if it is known. */
  readonly size?: number;
  /** Hints about the resource. */
  readonly annotations?: Annotations;
}

/** A template for the URIs of resources. @see MCP 2026-07-28, server/resources, "Resource Templates" */
export interface ResourceTemplate extends Listed {
  /** The URI template (RFC 6570). */
  readonly uriTemplate: string;
  /** The media type, if all resources of the template have the same type. */
  readonly mimeType?: string;
  /** Hints about the resources. */
  readonly annotations?: Annotations;
}

/** The members that all results share. */
export interface Result extends JsonObject {
  /** Metadata from the server. */
  readonly _meta?: JsonObject;
}

/** The members that the pages of all lists share. */
export interface Page extends Result {
  /** The cursor of the next page; absent on the last page. */
  readonly nextCursor?: string;
}

/** A page of the tools. */
export interface ListToolsResult extends Page {
  /** The tools. A tool with an invalid definition is left out, with a warning. */
  readonly tools: readonly Tool[];
}

/** A page of the prompts. */
export interface ListPromptsResult extends Page {
  /** The prompts. */
  readonly prompts: readonly Prompt[];
}

/** A page of the resources. */
export interface ListResourcesResult extends Page {
  /** The resources. */
  readonly resources: readonly Resource[];
}

/** A page of the resource templates. */
export interface ListResourceTemplatesResult extends Page {
  /** The templates. */
  readonly resourceTemplates: readonly ResourceTemplate[];
}

/** The result of a tool call. @see MCP 2026-07-28, server/tools, "Tool Result" */
export interface CallToolResult extends Result {
  /** The content, for the model. */
  readonly content: readonly ReceivedContentBlock[];
  /** The result as a JSON value, if the tool has an output schema. */
  readonly structuredContent?: unknown;
  /** Whether the tool has failed. The content then gives the reason to the model. */
  readonly isError?: boolean;
}

/** The result of a call with the option `output`. */
export type CheckedToolResult<Output> =
  | (CallToolResult & { readonly isError?: false; readonly structuredContent: Output })
  | (CallToolResult & { readonly isError: true });

/** The contents of a resource. */
export interface ReadResourceResult extends Result {
  /** The contents. Several, for example, for the files of a folder. */
  readonly contents: readonly ResourceContents[];
}

/** A message of a prompt. */
export interface ReceivedPromptMessage {
  /** The role of the author. */
  readonly role: "user" | "assistant";
  /** The content of the message. */
  readonly content: ReceivedContentBlock;
}

/** A prompt with its arguments filled in. */
export interface GetPromptResult extends Result {
  /** A description of the prompt. */
  readonly description?: string;
  /** The messages for the model. */
  readonly messages: readonly ReceivedPromptMessage[];
}

/** The prompt or resource template whose argument or variable is completed. */
export type CompletionReference =
  | { readonly type: "ref/prompt"; readonly name: string }
  | { readonly type: "ref/resource"; readonly uri: string };

/** Suggestions for a value. @see MCP 2026-07-28, server/utilities/completion */
export interface Completion {
  /** At most 100 values, the best first. */
  readonly values: readonly string[];
  /** The total number of values, if it is known. */
  readonly total?: number;
  /** Whether there are more values. */
  readonly hasMore?: boolean;
}

/** Progress of a request. @see MCP 2026-07-28, basic/patterns/progress */
export interface Progress {
  /** The progress so far, in any unit. It increases with each notification. */
  readonly progress: number;
  /** The value of `progress` at the end, if it is known. */
  readonly total?: number;
  /** A human-readable description of the current step. */
  readonly message?: string;
}

/** The capabilities of a server. Members that are not declared here are kept. */
export interface ServerCapabilities extends JsonObject {
  /** The server has tools. */
  readonly tools?: { readonly listChanged?: boolean };
  /** The server has prompts. */
  readonly prompts?: { readonly listChanged?: boolean };
  /** The server has resources. */
  readonly resources?: { readonly subscribe?: boolean; readonly listChanged?: boolean };
  /** The server completes arguments of prompts and variables of resource templates. */
  readonly completions?: JsonObject;
  /** The server sends log messages. */
  readonly logging?: JsonObject;
  /** Features that are not part of the protocol. */
  readonly experimental?: JsonObject;
  /** Extensions of the protocol, by name, each with its settings. */
  readonly extensions?: JsonObject;
}

/** The facts about a server that the client received when it connected. Plain JSON that can be stored. */
export interface ServerFacts {
  /** The protocol version that is used, such as `2026-07-28`. */
  readonly protocolVersion: string;
  /** The transport: Streamable HTTP, HTTP+SSE (2024-11-05), or a pipe such as stdio. */
  readonly transport: "streamable-http" | "http-sse" | "pipe";
  /** The capabilities of the server. */
  readonly capabilities: ServerCapabilities;
  /** The name and version that the server claims. Use them for display and logs only. */
  readonly info?: Implementation | undefined;
  /** Instructions for the model about how to use the server. */
  readonly instructions?: string | undefined;
}
