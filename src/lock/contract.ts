/**
 * The contract of a server: what callers rely on, without what changes at each deployment.
 *
 * @module
 */
import type { Prompt, Resource, ResourceTemplate, Tool } from "../client/index.ts";
import { quote } from "../core/basics/quote.ts";
import { KitError } from "../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import { escapeHidden } from "./hidden.ts";
import { byCodeUnit, DepthError, sorted, toSortedText } from "./json.ts";

/** The number of the format of lock files. */
export const LOCK_FORMAT = 1;

/** The hints of a tool. Hints that the server does not send have the defaults of the specification. */
export interface LockedHints {
  /** Whether the tool has no side effects. */
  readonly readOnlyHint: boolean;
  /** Whether the tool may delete or overwrite data. */
  readonly destructiveHint: boolean;
  /** Whether a repeated call with the same arguments has no additional effect. */
  readonly idempotentHint: boolean;
  /** Whether the tool interacts with systems outside its server. */
  readonly openWorldHint: boolean;
}

/** A tool in a contract. */
export interface LockedTool {
  /** The name of the tool. */
  readonly name: string;
  /** The human-readable name. */
  readonly title?: string;
  /** The description, as a model reads it. */
  readonly description?: string;
  /** The JSON Schema of the arguments. */
  readonly inputSchema: JsonObject;
  /** The JSON Schema of the structured result. */
  readonly outputSchema?: JsonObject;
  /** The hints. */
  readonly annotations: LockedHints;
  /** The members of `_meta` that name a view of MCP Apps. */
  readonly _meta?: JsonObject;
}

/** An argument of a prompt in a contract. */
export interface LockedArgument {
  /** The name of the argument. */
  readonly name: string;
  /** The human-readable name. */
  readonly title?: string;
  /** A description of the argument. */
  readonly description?: string;
  /** Whether the argument is required. */
  readonly required: boolean;
}

/** A prompt in a contract. */
export interface LockedPrompt {
  /** The name of the prompt. */
  readonly name: string;
  /** The human-readable name. */
  readonly title?: string;
  /** The description. */
  readonly description?: string;
  /** The arguments. */
  readonly arguments: readonly LockedArgument[];
}

/** A resource in a contract. */
export interface LockedResource {
  /** The URI. */
  readonly uri: string;
  /** The name. */
  readonly name?: string;
  /** The human-readable name. */
  readonly title?: string;
  /** The description. */
  readonly description?: string;
  /** The media type. */
  readonly mimeType?: string;
}

/** A template for the URIs of resources in a contract. */
export interface LockedTemplate extends Omit<LockedResource, "uri"> {
  /** The URI template. */
  readonly uriTemplate: string;
}

/** The contract of a server, and the content of a lock file. */
export interface Contract {
  /** The number of the format. */
  readonly lock: 1;
  /** The server, without its version, which changes with each release. */
  readonly server: {
    /** The name that the server reports. */
    readonly name?: string;
    /** The instructions for models. */
    readonly instructions?: string;
  };
  /** The scopes in the metadata of the protected resource; undefined if there is none. */
  readonly scopes?: readonly string[];
  /** The tools, by name. */
  readonly tools: readonly LockedTool[];
  /** The prompts, by name. */
  readonly prompts: readonly LockedPrompt[];
  /** The resources, by URI. */
  readonly resources: readonly LockedResource[];
  /** The templates for the URIs of resources, by URI template. */
  readonly resourceTemplates: readonly LockedTemplate[];
}

/** The input of {@link createContract}: the complete lists of a server. A list that the server does not have may be missing. */
export interface ServerLists {
  /** The name that the server reports. */
  readonly name?: string | undefined;
  /** The instructions for models. */
  readonly instructions?: string | undefined;
  /** The scopes in the metadata of the protected resource. */
  readonly scopes?: readonly string[] | undefined;
  /** The tools. */
  readonly tools?: readonly Tool[];
  /** The prompts. */
  readonly prompts?: readonly Prompt[];
  /** The resources. */
  readonly resources?: readonly Resource[];
  /** The templates for the URIs of resources. */
  readonly resourceTemplates?: readonly ResourceTemplate[];
}

/** The defaults of the hints. @see MCP 2026-07-28, schema, "ToolAnnotations" */
const HINTS: LockedHints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};
/** The members of `_meta` that name a view. The second name is the older spelling. */
const VIEW_MEMBERS: readonly string[] = ["ui", "ui/resourceUri"];

/**
 * Returns the contract of a server, from its complete lists. Contracts with the same content have the same JSON, because everything in them is sorted.
 *
 * @throws {KitError} `definition-invalid` naming a definition that is nested too deeply.
 */
export function createContract(lists: ServerLists): Contract {
  try {
    return lockLists(lists);
  } catch (cause) {
    if (!(cause instanceof DepthError)) throw cause;
    throw new KitError("definition-invalid", `A prompt or resource cannot be locked: ${cause.message}.`, { cause });
  }
}

function lockLists(lists: ServerLists): Contract {
  const { name, instructions, scopes, tools = [], prompts = [], resources = [], resourceTemplates = [] } = lists;
  return {
    lock: LOCK_FORMAT,
    server: { ...text("name", name), ...text("instructions", instructions) },
    ...(scopes ? { scopes: [...new Set(scopes)].sort(byCodeUnit) } : {}),
    tools: ordered(objectsOf(tools).map(lockTool), ({ name }) => name),
    prompts: ordered(objectsOf(prompts).map(lockPrompt), ({ name }) => name),
    resources: ordered(
      objectsOf(resources).map(({ uri, ...rest }) => ({ uri: String(uri), ...lockResource(rest) })),
      ({ uri }) => uri,
    ),
    resourceTemplates: ordered(
      objectsOf(resourceTemplates).map(({ uriTemplate, ...rest }) => ({
        uriTemplate: String(uriTemplate),
        ...lockResource(rest),
      })),
      ({ uriTemplate }) => uriTemplate,
    ),
  };
}

/**
 * Returns the text of a lock file: JSON that is equal for equal contracts, and whose differences are readable in git. Characters
 * that are invisible, or that change how the text around them is displayed, are escaped.
 */
export function formatContract(contract: Contract): string {
  return `${escapeHidden(JSON.stringify(contract, undefined, 2))}\n`;
}

/**
 * Returns a tool as it is in a contract.
 *
 * @throws {KitError} `definition-invalid` if it is nested too deeply.
 */
export function lockTool({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
  _meta,
}: Tool): LockedTool {
  const hints = isObject(annotations) ? annotations : {};
  const views = isObject(_meta) ? Object.entries(_meta).filter(([member]) => VIEW_MEMBERS.includes(member)) : [];
  try {
    return {
      name: String(name),
      ...text("title", title ?? hints.title),
      ...text("description", description),
      inputSchema: toSchema(inputSchema),
      ...(outputSchema === undefined ? {} : { outputSchema: toSchema(outputSchema) }),
      annotations: Object.fromEntries(
        Object.entries(HINTS).map(([hint, value]) => [hint, typeof hints[hint] === "boolean" ? hints[hint] : value]),
        // The entries have the names of HINTS, and values that are boolean.
      ) as unknown as LockedHints,
      ...(views.length > 0 ? { _meta: sorted(Object.fromEntries(views)) as JsonObject } : {}),
    };
  } catch (cause) {
    if (!(cause instanceof DepthError)) throw cause;
    throw new KitError("definition-invalid", `The tool ${quote(String(name))} cannot be locked: ${cause.message}.`, {
      cause,
    });
  }
}

function lockPrompt({ name, title, description, arguments: parameters }: Prompt): LockedPrompt {
  const locked = (Array.isArray(parameters) ? parameters : []).filter(isObject).map((each) => ({
    name: String(each.name),
    ...text("title", each.title),
    ...text("description", each.description),
    required: each.required === true,
  }));
  return {
    name: String(name),
    ...text("title", title),
    ...text("description", description),
    arguments: ordered(locked, (each) => each.name),
  };
}

function lockResource({ name, title, description, mimeType }: Omit<Resource, "uri">): Omit<LockedResource, "uri"> {
  return {
    ...text("name", name),
    ...text("title", title),
    ...text("description", description),
    ...text("mimeType", mimeType),
  };
}

/** Returns an object with a text, or an empty one. A server may send another type than a string, which becomes JSON. */
function text<N extends string>(name: N, value: unknown): { readonly [M in N]?: string } {
  if (value === undefined || value === null) return {};
  // The only member has the name N.
  return { [name]: typeof value === "string" ? value : toSortedText(value) } as { readonly [M in N]?: string };
}

/** Leaves out what is not an object, which a server may send in its lists. */
function objectsOf<T extends object>(items: readonly T[]): readonly T[] {
  return items.filter(isObject);
}

/** Returns a sorted schema. What is not an object allows everything. */
function toSchema(schema: unknown): JsonObject {
  return isObject(schema) ? (sorted(schema) as JsonObject) : {};
}

/** Sorts definitions by their name. Those that have the same name, which no server should send, are sorted by their content. */
function ordered<T>(items: readonly T[], nameOf: (item: T) => string): T[] {
  return items
    .map((item) => ({ item, name: nameOf(item), content: JSON.stringify(item) }))
    .sort((one, other) => byCodeUnit(one.name, other.name) || byCodeUnit(one.content, other.content))
    .map(({ item }) => item);
}
