/**
 * Tools: their definition by authors, and the compiled form that the registry keeps.
 *
 * @module
 * @see MCP 2026-07-28, server/tools
 */

import { checkOptions, type OptionTable, TIMER, TIMER_OR_ZERO } from "../protocol/check-options.ts";
import type { ClientCapabilityName } from "../protocol/client-capabilities.ts";
import { type ContentBlock, type Icon, pick } from "../protocol/content.ts";
import { KitError } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { listParamHeaders, type ParamHeader } from "../protocol/param-headers.ts";
import {
  type AnySchema,
  type CompiledSchema,
  compileSchema,
  type InferInput,
  type InferOutput,
} from "../protocol/schema.ts";
import type { VersionRules } from "../protocol/versions.ts";
import type { CatalogItem } from "./catalog.ts";
import type { HandlerContext } from "./handler-context.ts";
import type { InputRequired } from "./input-required.ts";

/**
 * Hints for clients about what a tool does. A hint that is left out is not listed, and the kit then assumes its
 * default: not read-only, destructive, not idempotent, open world.
 */
export interface ToolAnnotations {
  /** The human-readable name. `title` of the tool itself takes precedence. */
  readonly title?: string;
  /** Whether the tool has no side effects. @default false */
  readonly readOnlyHint?: boolean;
  /** Whether the tool may delete or overwrite data. @default true */
  readonly destructiveHint?: boolean;
  /** Whether a repeated call with the same arguments has no additional effect. @default false */
  readonly idempotentHint?: boolean;
  /** Whether the tool reaches beyond its server, as a web search does. @default true */
  readonly openWorldHint?: boolean;
}

/** A full tool result, for handlers that set every member themselves. */
export interface ToolResult {
  /**
   * The content for the model. If it is empty, clients that cannot receive the structured content get it as JSON text.
   *
   * @default the structured content as JSON text
   */
  readonly content?: readonly ContentBlock[];
  /** The result as data. It must fit the output schema, if the tool has one. */
  readonly structuredContent?: unknown;
  /** Whether the tool failed. If true, the output schema is not enforced. @default false */
  readonly isError?: boolean;
  /** Metadata for the client, sent unchanged. */
  readonly _meta?: JsonObject;
}

/**
 * The values that a tool without `output` may return. A list of content blocks is the content of the result, and may contain
 * texts, which become text blocks. A plain object, or a list without any content block, becomes JSON text; undefined becomes
 * empty content.
 */
export type ToolReturn =
  | string
  | ContentBlock
  | readonly (ContentBlock | string)[]
  | ToolResult
  | object
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement has the type void.
  | void;

/** A schema, or undefined. */
export type AnySchemaOrNone = AnySchema | undefined;

/** The arguments that a handler receives: the output of the input schema, or an empty object. */
export type ToolArguments<In extends AnySchemaOrNone> = In extends AnySchema ? InferOutput<In> : Record<string, never>;

/** The values that a handler may return, given its output schema. */
export type ToolReturnFor<Out extends AnySchemaOrNone> =
  // Outside the condition, so that literals such as `type: "text"` keep their type while Out is still being inferred.
  ToolResult | InputRequired | (Out extends AnySchema ? InferInput<Out> : ToolReturn);

/** Runs a tool. Throw {@link import("../protocol/errors.ts").ToolError} for a failure that the model should read. */
export type ToolHandler<In extends AnySchemaOrNone, Out extends AnySchemaOrNone, Env> = (
  args: ToolArguments<In>,
  ctx: HandlerContext<Env>,
) => ToolReturnFor<Out> | Promise<ToolReturnFor<Out>>;

/** The description of a tool, and the settings of its calls. */
export interface ToolOptions<In extends AnySchemaOrNone = undefined, Out extends AnySchemaOrNone = undefined> {
  /** The human-readable name. Sent since 2025-06-18. */
  readonly title?: string;
  /** The description of the tool for the model. */
  readonly description?: string;
  /** The schema of the arguments, with an object as its root. Without it the tool takes no arguments. */
  readonly input?: In;
  /** The schema of the structured result. Results that do not fit are not sent. */
  readonly output?: Out;
  /** Hints for the client about what the tool does. */
  readonly annotations?: ToolAnnotations;
  /** Icons that a client may show. Sent since 2025-11-25. */
  readonly icons?: readonly Icon[];
  /** Metadata for the client, sent unchanged. */
  readonly _meta?: JsonObject;
  /**
   * How long the handler may run, in milliseconds, at most 2^31 - 1. Then `ctx.signal` aborts, and the client gets an
   * error result. 0 and Infinity mean no limit.
   *
   * @default limits.toolTimeoutMs
   */
  readonly timeoutMs?: number;
  /**
   * Whether a repeated call joins the first run or gets its outcome, instead of running again. At the edge this needs
   * `once()` of `mcp-edge/worker/once`.
   *
   * @default false
   */
  readonly once?: boolean;
  /**
   * Whether a call runs as a task in the background, if `edge()` has `tasks()` and the client supports tasks
   * (in the modern era) or requests one (2025-11-25). `forbidden`: never. `optional`: whenever possible; otherwise the call
   * runs directly. `required`: always; a call that cannot be a task is refused.
   *
   * @default "forbidden"
   */
  readonly task?: "forbidden" | "optional" | "required";
  /**
   * Where a task begins. `call`: before the handler starts. `handler`: at `await ctx.task()`; until then the handler
   * runs on the request and may ask there, and if it returns earlier, there is no task. For clients of 2025-11-25 a
   * task always begins before the handler starts.
   *
   * @default "call"
   */
  readonly taskStartsAt?: "call" | "handler";
  /**
   * Lifetime of a task of this tool from its creation to its deletion, in milliseconds, from 1 to 2^31 - 1.
   *
   * @default ttlMs of `tasks()`
   */
  readonly taskTtlMs?: number;
  /**
   * Client capabilities that the tool needs. A modern client that lacks a capability gets -32021 before the handler
   * starts.
   */
  readonly requires?: readonly ClientCapabilityName[];
}

/** A tool as a value, created by {@link defineTool}. It can be added to several servers. */
export interface ToolDefinition<Env = unknown> {
  /** The kind of definition. */
  readonly kind: "tool";
  /** The name, as clients send it. */
  readonly name: string;
  /** The listed properties of the tool, and the settings of its calls. */
  readonly options: ToolOptions<AnySchemaOrNone, AnySchemaOrNone>;
  // Method syntax allows a definition without bindings on a server with bindings.
  /** Runs the tool. */
  handler(args: never, ctx: HandlerContext<Env>): unknown;
}

/**
 * Defines a tool as a value, for `server.add()` or the constructor's `tools`.
 *
 * To use bindings, annotate the context: `async (args, ctx: HandlerContext<Env>) => ...`.
 *
 * @throws {KitError} `definition-invalid` or `schema-unsupported`, naming the tool and the member; `options-invalid`
 *   for an unknown option or a number out of range.
 */
export function defineTool<
  const In extends AnySchemaOrNone = undefined,
  const Out extends AnySchemaOrNone = undefined,
  Env = unknown,
>(name: string, options: ToolOptions<In, Out>, handler: ToolHandler<In, Out, Env>): ToolDefinition<Env> {
  const definition: ToolDefinition<Env> = { kind: "tool", name, options, handler };
  compileTool(definition);
  return definition;
}

/** A compiled tool. */
export interface CompiledTool extends CatalogItem {
  readonly definition: ToolDefinition;
  readonly name: string;
  readonly options: ToolOptions<AnySchemaOrNone, AnySchemaOrNone>;
  readonly input: CompiledSchema | undefined;
  readonly output: CompiledSchema | undefined;
  /** The JSON Schema that clients see. Its root is an object, even for a tool without arguments. */
  readonly inputJson: JsonObject;
  /** The arguments that modern HTTP clients repeat in headers. */
  readonly paramHeaders: readonly ParamHeader[];
  readonly handler: (args: unknown, ctx: HandlerContext) => unknown;
}

/**
 * 1 to 128 characters: those that the specification allows (server/tools, "Tool Names"), and "/", which many servers
 * use.
 */
const NAME = /^[\w./-]{1,128}$/;

const OPTIONS: OptionTable<CompiledTool["options"]> = {
  title: null,
  description: null,
  input: null,
  output: null,
  annotations: null,
  icons: null,
  _meta: null,
  timeoutMs: TIMER_OR_ZERO,
  once: null,
  task: null,
  taskStartsAt: null,
  taskTtlMs: TIMER,
  requires: null,
};

/** Checks a definition and compiles its schemas. */
export function compileTool<Env>(definition: ToolDefinition<Env>): CompiledTool {
  const { name, options } = definition;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new KitError(
      "definition-invalid",
      `Tool name ${JSON.stringify(name)} is not allowed; use 1 to 128 letters, digits, "_", "-", "." or "/".`,
    );
  }
  if (typeof definition.handler !== "function") {
    throw new KitError("definition-invalid", `Tool "${name}" has no handler function.`);
  }
  // Infinity means no limit, like 0, but the check accepts whole numbers only.
  const bounded = options?.timeoutMs === Infinity ? { ...options, timeoutMs: 0 } : options;
  checkOptions(`Tool "${name}": `, bounded, OPTIONS);
  const compiled = options.input && compileSchema(`input of tool "${name}"`, options.input, "input");
  // Arguments are always an object, so a root without a type describes an object.
  const input = compiled && { ...compiled, json: { type: "object", ...compiled.json } };
  const output = options.output && compileSchema(`output of tool "${name}"`, options.output, "output");
  if (input && input.json.type !== "object") {
    throw new KitError(
      "definition-invalid",
      `The input of tool "${name}" has the root type ${JSON.stringify(input.json.type)}; it must be "object".`,
    );
  }
  // Validation returns the output of the schema, which is the type that the handler declares.
  const handler = definition.handler as CompiledTool["handler"];
  const inputJson = input?.json ?? { type: "object", properties: {} };
  const entry = (rules: VersionRules) => toListEntry(definition, inputJson, output?.json, rules);
  const paramHeaders = listParamHeaders(name, inputJson);
  // From here on, the type of the bindings is erased; see `compile`.
  return {
    key: name,
    definition: definition as ToolDefinition,
    name,
    options,
    input,
    output,
    inputJson,
    paramHeaders,
    handler,
    entry,
  };
}

/** Returns an entry of `tools/list`, with only the members that the version defines. */
function toListEntry(
  { name, options }: ToolDefinition<never>,
  inputSchema: JsonObject,
  output: JsonObject | undefined,
  rules: VersionRules,
): JsonObject {
  const { title, description, annotations, icons, _meta } = options;
  // Older versions allow object roots only.
  const outputSchema = output && (rules.structured === "any" || hasObjectRoot(output)) ? output : undefined;
  return pick({ name, title, description, inputSchema, outputSchema, annotations, icons, _meta }, rules.toolFields);
}

/** Whether a tool declares that a repeated call with the same arguments has no additional effect. */
export function isRepeatable({ options: { annotations } }: CompiledTool): boolean {
  const { readOnlyHint = false, idempotentHint = false } = annotations ?? {};
  return readOnlyHint || idempotentHint;
}

/** Whether the root of a JSON Schema is an object. */
export function hasObjectRoot(json: JsonObject): boolean {
  return isObject(json) && json.type === "object";
}
