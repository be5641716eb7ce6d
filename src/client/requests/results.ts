/**
 * What servers send: the items of lists and the results of requests. Members that a server leaves out, or that its version
 * lacks, are absent. Results keep members that are not listed here.
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

/** A type of `mcp-edge` as it is received: bytes are base64 text. */
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

/** Members that every listed item has. */
export interface Listed {
  /** The name, for programs. */
  readonly name: string;
  /** The name, for people. Sent since 2025-06-18. */
  readonly title?: string;
  /** What the item is, for people and models. */
  readonly description?: string;
  /** Icons that may be shown for the item. Sent since 2025-11-25. */
  readonly icons?: readonly Icon[];
  /** Metadata of the server. */
  readonly _meta?: JsonObject;
}

/** Hints about what a tool does. They are claims of the server: rely on them only if you trust it. */
export interface ToolHints {
  /** The name, for people. */
  readonly title?: string;
  /** Whether the tool changes nothing. */
  readonly readOnlyHint?: boolean;
  /** Whether the tool may delete or overwrite something. */
  readonly destructiveHint?: boolean;
  /** Whether a repeated call with the same arguments has no further effect. */
  readonly idempotentHint?: boolean;
  /** Whether the tool reaches beyond its server. */
  readonly openWorldHint?: boolean;
}

/** A tool of the server. @see MCP 2026-07-28, server/tools, "Tool" */
export interface Tool extends Listed {
  /** The JSON Schema of the arguments. */
  readonly inputSchema: JsonObject;
  /** The JSON Schema of the structured result. Sent since 2025-06-18. */
  readonly outputSchema?: JsonObject;
  /** Hints about what the tool does. Sent since 2025-03-26. */
  readonly annotations?: ToolHints;
  /** Whether the tool may run as a task. Sent in 2025-11-25. */
  readonly execution?: { readonly taskSupport?: "forbidden" | "optional" | "required" };
}

/** An argument of a prompt. */
export interface PromptParameter {
  /** The name of the argument. */
  readonly name: string;
  /** The name, for people. */
  readonly title?: string;
  /** What the argument is for. */
  readonly description?: string;
  /** Whether the prompt needs it. */
  readonly required?: boolean;
}

/** A prompt of the server. @see MCP 2026-07-28, server/prompts, "Prompt" */
export interface Prompt extends Listed {
  /** The arguments of the prompt. */
  readonly arguments?: readonly PromptParameter[];
}

/** A resource of the server. @see MCP 2026-07-28, server/resources, "Resource" */
export interface Resource extends Listed {
  /** The URI to read it by. */
  readonly uri: string;
  /** The media type, where it is known. */
  readonly mimeType?: string;
  /** The size in bytes, where it is known. */
  readonly size?: number;
  /** Hints about the resource. */
  readonly annotations?: Annotations;
}

/** A family of resources with parameters in their URI. @see MCP 2026-07-28, server/resources, "Resource Templates" */
export interface ResourceTemplate extends Listed {
  /** The URI template (RFC 6570). */
  readonly uriTemplate: string;
  /** The media type, if all resources of the template have the same. */
  readonly mimeType?: string;
  /** Hints about the resources. */
  readonly annotations?: Annotations;
}

/** Members that any result may have. */
export interface Result extends JsonObject {
  /** Metadata of the server. */
  readonly _meta?: JsonObject;
}

/** The members of a page of a list beside its items. */
export interface Page extends Result {
  /** The cursor of the next page; absent on the last one. */
  readonly nextCursor?: string;
}

/** A page of the tools. */
export interface ListToolsResult extends Page {
  /** The tools. Those with an invalid definition are left out, with a warning. */
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
  /** Whether the tool failed. The content then says why, for the model. */
  readonly isError?: boolean;
}

/** The result of a call with the option `output`. */
export type CheckedToolResult<Output> =
  | (CallToolResult & { readonly isError?: false; readonly structuredContent: Output })
  | (CallToolResult & { readonly isError: true });

/** The contents of a resource. */
export interface ReadResourceResult extends Result {
  /** The contents; several for a folder, for example. */
  readonly contents: readonly ResourceContents[];
}

/** A message of a prompt. */
export interface ReceivedPromptMessage {
  /** Who says it. */
  readonly role: "user" | "assistant";
  /** What is said. */
  readonly content: ReceivedContentBlock;
}

/** A prompt with its arguments filled in. */
export interface GetPromptResult extends Result {
  /** What the prompt is for. */
  readonly description?: string;
  /** The messages for the model. */
  readonly messages: readonly ReceivedPromptMessage[];
}

/** What is completed: an argument of a prompt, or a variable of a resource template. */
export type CompletionReference =
  | { readonly type: "ref/prompt"; readonly name: string }
  | { readonly type: "ref/resource"; readonly uri: string };

/** Suggestions for a value. @see MCP 2026-07-28, server/utilities/completion */
export interface Completion {
  /** At most 100 values, the best first. */
  readonly values: readonly string[];
  /** How many values there are, where it is known. */
  readonly total?: number;
  /** Whether there are more values. */
  readonly hasMore?: boolean;
}

/** Progress of a request. @see MCP 2026-07-28, basic/patterns/progress */
export interface Progress {
  /** How far the request is, in any unit. It grows. */
  readonly progress: number;
  /** The value of `progress` at the end, where it is known. */
  readonly total?: number;
  /** What is being done, for people. */
  readonly message?: string;
}

/** The capabilities of a server. Members that are not listed here are kept. */
export interface ServerCapabilities extends JsonObject {
  /** The server has tools. */
  readonly tools?: { readonly listChanged?: boolean };
  /** The server has prompts. */
  readonly prompts?: { readonly listChanged?: boolean };
  /** The server has resources. */
  readonly resources?: { readonly subscribe?: boolean; readonly listChanged?: boolean };
  /** The server completes arguments. */
  readonly completions?: JsonObject;
  /** The server sends log messages. */
  readonly logging?: JsonObject;
  /** Features that are not part of the protocol. */
  readonly experimental?: JsonObject;
  /** Extensions of the protocol, by name, each with its settings. */
  readonly extensions?: JsonObject;
}

/** The facts about a server that were learned when the client connected. Plain JSON, so it can be stored. */
export interface ServerFacts {
  /** The protocol version that is used, such as `2026-07-28`. */
  readonly protocolVersion: string;
  /** The transport: Streamable HTTP, HTTP+SSE (2024-11-05), or a pipe such as stdio. */
  readonly transport: "streamable-http" | "http-sse" | "pipe";
  /** What the server can do. */
  readonly capabilities: ServerCapabilities;
  /** Name and version, as the server states them. Not verified: use them for display and logs only. */
  readonly info?: Implementation | undefined;
  /** How to use the server, for the model. */
  readonly instructions?: string | undefined;
}
