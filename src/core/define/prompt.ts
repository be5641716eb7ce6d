/**
 * Prompts: templates of messages that a user picks.
 *
 * @module
 * @see MCP 2026-07-28, server/prompts
 */

import { quote } from "../basics/quote.ts";
import { checkOptions, type OptionTable } from "../protocol/check-options.ts";
import { type ContentBlock, encodeBlock, type Icon, pick } from "../protocol/content.ts";
import { invalidParams, KitError } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import {
  type AnySchema,
  type CompiledSchema,
  compileSchema,
  describeIssues,
  type InferOutput,
} from "../protocol/schema.ts";
import type { VersionRules } from "../protocol/versions.ts";
import type { CatalogItem } from "./catalog.ts";
import type { Completers } from "./completion.ts";
import type { HandlerContext } from "./handler-context.ts";
import type { InputRequired } from "./input-required.ts";

/** One argument in a plain list. Its value is always a string. */
export interface PromptArgument {
  /** The name, as clients send it. */
  readonly name: string;
  /** The human-readable name. Sent since 2025-06-18. */
  readonly title?: string;
  /** The purpose of the argument. */
  readonly description?: string;
  /** Whether a call without it is refused with -32602. @default false */
  readonly required?: boolean;
}

/** Arguments as a schema of an object of strings, or as a plain list. */
export type PromptArguments = AnySchema | readonly PromptArgument[] | undefined;

/** The description of a prompt. @see MCP 2026-07-28, server/prompts, "Prompt" */
export interface PromptOptions<Args extends PromptArguments = undefined, Env = unknown> {
  /** The human-readable name. Sent since 2025-06-18. */
  readonly title?: string;
  /** The purpose of the prompt. */
  readonly description?: string;
  /** The arguments, as a schema or as a list. @default none */
  readonly arguments?: Args;
  /** Completers of the arguments, by name of the argument. */
  readonly complete?: Completers<Env>;
  /** Icons that a client may show. Sent since 2025-11-25. */
  readonly icons?: readonly Icon[];
  /** Metadata for the client, sent unchanged. */
  readonly _meta?: JsonObject;
}

/** One message of a prompt. */
export interface PromptMessage {
  /** The speaker of the message. */
  readonly role: "user" | "assistant";
  /** The content. A string is sent as one text block. */
  readonly content: ContentBlock | string;
}

/** The values that a prompt handler may return. A string becomes one message of the user. */
export type PromptReturn =
  | string
  | PromptMessage
  | readonly PromptMessage[]
  | { readonly description?: string; readonly messages: readonly PromptMessage[]; readonly _meta?: JsonObject }
  | InputRequired;

/** The arguments that a handler receives. */
export type PromptValues<Args extends PromptArguments> = Args extends AnySchema
  ? InferOutput<Args>
  : { readonly [name: string]: string | undefined };

/** Returns the messages of a prompt. Throw `McpError` to refuse the request. */
export type PromptHandler<Args extends PromptArguments, Env> = (
  args: PromptValues<Args>,
  ctx: HandlerContext<Env>,
) => PromptReturn | Promise<PromptReturn>;

/** A prompt as a value; see {@link definePrompt}. */
export interface PromptDefinition<Env = unknown> {
  /** The kind of definition. */
  readonly kind: "prompt";
  /** The name, as clients send it. */
  readonly name: string;
  /** The listed properties of the prompt. */
  readonly options: PromptOptions<PromptArguments, Env>;
  /** Returns the messages of the prompt. */
  handler(args: never, ctx: HandlerContext<Env>): PromptReturn | Promise<PromptReturn>;
}

/** Defines a prompt as a value, for example in its own module. */
export function definePrompt<const Args extends PromptArguments = undefined, Env = unknown>(
  name: string,
  options: PromptOptions<Args, Env>,
  handler: PromptHandler<Args, Env>,
): PromptDefinition<Env> {
  const definition: PromptDefinition<Env> = { kind: "prompt", name, options, handler };
  compilePrompt(definition);
  return definition;
}

export interface CompiledPrompt extends CatalogItem {
  readonly definition: PromptDefinition;
  readonly options: PromptOptions<PromptArguments>;
  readonly arguments: readonly PromptArgument[];
  readonly schema: CompiledSchema | undefined;
  readonly handler: (args: unknown, ctx: HandlerContext) => unknown;
}

const OPTIONS: OptionTable<PromptDefinition["options"]> = {
  title: null,
  description: null,
  arguments: null,
  complete: null,
  icons: null,
  _meta: null,
};

/**
 * Compiles a prompt.
 *
 * @throws {KitError} `definition-invalid` or `schema-unsupported`, naming the prompt; `options-invalid` for an unknown
 *   option.
 */
export function compilePrompt<Env>(definition: PromptDefinition<Env>): CompiledPrompt {
  const { name, options } = definition;
  if (typeof name !== "string" || name.length === 0 || name.length > 128) {
    throw new KitError(
      "definition-invalid",
      `Prompt name ${JSON.stringify(name)} is not allowed; use 1 to 128 characters.`,
    );
  }
  if (typeof definition.handler !== "function")
    throw new KitError("definition-invalid", `Prompt "${name}" has no handler function.`);
  checkOptions(`Prompt "${name}": `, options, OPTIONS);
  const { arguments: declared } = options;
  const isList = Array.isArray(declared);
  const schema =
    declared && !isList ? compileSchema(`arguments of prompt "${name}"`, declared as AnySchema, "input") : undefined;
  const list: readonly PromptArgument[] = isList
    ? (declared as readonly PromptArgument[])
    : listArguments(schema?.json);
  for (const completed of Object.keys(options.complete ?? {})) {
    if (list.some((argument) => argument.name === completed)) continue;
    throw new KitError(
      "definition-invalid",
      `Prompt "${name}" has a completer for "${completed}", which is not one of its arguments.`,
    );
  }
  const handler = definition.handler as CompiledPrompt["handler"];
  const entry = (rules: VersionRules) => {
    const { title, description, icons, _meta } = options;
    const shown = list.map((argument) => pick(argument, rules.promptArgumentFields));
    return pick(
      { name, title, description, icons, _meta, arguments: shown.length > 0 ? shown : undefined },
      rules.promptFields,
    );
  };
  // From here on, the type of the bindings is erased; see `compile`.
  return {
    key: name,
    definition: definition as PromptDefinition,
    options: options as PromptOptions<PromptArguments>,
    arguments: list,
    schema,
    handler,
    entry,
  };
}

/** Returns the properties of a JSON Schema as arguments. */
function listArguments(json: JsonObject | undefined): PromptArgument[] {
  const properties = isObject(json?.properties) ? json.properties : {};
  const required: readonly unknown[] = Array.isArray(json?.required) ? json.required : [];
  return Object.entries(properties).map(([name, property]) => {
    const shown = isObject(property) ? pick(property, ["title", "description"]) : {};
    return { name, ...shown, required: required.includes(name) };
  });
}

/**
 * Checks the arguments of a request and fills in defaults.
 *
 * @throws {McpError} -32602 naming the argument.
 */
export async function readPromptArguments(prompt: CompiledPrompt, given: unknown): Promise<unknown> {
  const args = given ?? {};
  if (!isObject(args)) throw invalidParams("prompts/get: params.arguments is not an object.", { field: "arguments" });
  for (const { name, required } of prompt.arguments) {
    if (required && !Object.hasOwn(args, name)) {
      throw invalidParams(`prompts/get: prompt "${prompt.key}" needs the argument "${name}".`, {
        field: `arguments.${name}`,
      });
    }
  }
  for (const [name, value] of Object.entries(args)) {
    if (typeof value !== "string")
      throw invalidParams(`prompts/get: argument ${quote(name)} is not a string.`, { field: "arguments" });
  }
  const checked = prompt.schema ? await prompt.schema.validate(args) : { value: args };
  if (checked.issues)
    throw invalidParams(`prompts/get: ${describeIssues(checked.issues, "arguments")}`, { field: "arguments" });
  return checked.value;
}

/** Returns the result of `prompts/get`. @throws {KitError} `result-invalid` if a message is not valid. */
export function toPromptResult(prompt: CompiledPrompt, returned: unknown, rules: VersionRules): JsonObject {
  const result = isObject(returned) && Array.isArray(returned.messages) ? returned : { messages: toList(returned) };
  const description = result.description ?? prompt.options.description;
  const messages = (result.messages as readonly unknown[]).map((message) => encodeMessage(prompt.key, message, rules));
  return {
    ...(description === undefined ? {} : { description }),
    messages,
    ...(result._meta ? { _meta: result._meta } : {}),
  };
}

function toList(returned: unknown): readonly unknown[] {
  if (typeof returned === "string") return [{ role: "user", content: returned }];
  return Array.isArray(returned) ? returned : [returned];
}

function encodeMessage(name: string, message: unknown, rules: VersionRules): JsonObject {
  if (!isObject(message) || (message.role !== "user" && message.role !== "assistant")) {
    throw new KitError(
      "result-invalid",
      `Prompt "${name}" returned a message whose role is neither "user" nor "assistant".`,
    );
  }
  const { role, content } = message;
  return { role, content: encodeBlock(typeof content === "string" ? { type: "text", text: content } : content, rules) };
}
