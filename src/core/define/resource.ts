/**
 * Resources: fixed ones, resource templates, and a provider for resources that are stored elsewhere.
 *
 * @module
 * @see MCP 2026-07-28, server/resources
 */

import { quote } from "../basics/quote.ts";
import { CACHE, checkOptions, type OptionTable } from "../protocol/check-options.ts";
import {
  type Annotations,
  type Base64OrBytes,
  checkMediaType,
  encodeContents,
  type Icon,
  pick,
} from "../protocol/content.ts";
import * as ErrorCode from "../protocol/error-codes.ts";
import { KitError, McpError } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { VersionRules } from "../protocol/versions.ts";
import type { CacheHint } from "./cache-hint.ts";
import type { CatalogItem } from "./catalog.ts";
import type { Completers } from "./completion.ts";
import type { HandlerContext } from "./handler-context.ts";
import type { InputRequired } from "./input-required.ts";
import { UriTemplate, type UriTemplateVariables } from "./uri-template.ts";

/** One part of the contents of a resource. */
export interface ResourceContent {
  /** The URI of this part. @default the URI that was read */
  readonly uri?: string;
  /** The media type. @default the media type of the definition */
  readonly mimeType?: string;
  /** The contents as text. Give either `text` or `blob`. */
  readonly text?: string;
  /** The contents as bytes. Give either `text` or `blob`. */
  readonly blob?: Base64OrBytes;
  /** Metadata for the client, sent unchanged. */
  readonly _meta?: JsonObject;
}

/** The contents of a resource with a cache hint, which replaces the hint of the definition. */
export interface ReadResult extends CacheHint {
  /** The contents. A folder may have several. */
  readonly contents: readonly ResourceContent[];
}

/**
 * The values that a reader may return: text, bytes, one or more contents, or contents with a cache hint. `undefined` or
 * null means that the resource does not exist.
 */
export type ReadReturn =
  | string
  | Uint8Array
  | ResourceContent
  | readonly ResourceContent[]
  | ReadResult
  | InputRequired
  | undefined
  | null;

/** Reads one resource. */
export type ResourceReader<Env> = (uri: string, ctx: HandlerContext<Env>) => ReadReturn | Promise<ReadReturn>;

/** Reads a resource whose URI matches a resource template. The `variables` are decoded. */
export type ResourceTemplateReader<Env> = (
  uri: string,
  variables: UriTemplateVariables,
  ctx: HandlerContext<Env>,
) => ReadReturn | Promise<ReadReturn>;

/** Options that resources and resource templates have in common. */
export interface CommonResourceOptions {
  /** The name for programs. @default the URI, or the URI template */
  readonly name?: string;
  /** The human-readable name. Sent since 2025-06-18. */
  readonly title?: string;
  /** A description for users and models. */
  readonly description?: string;
  /** A media type, such as `text/plain; charset=utf-8` (RFC 6838). */
  readonly mimeType?: string;
  /** Hints for the client about how to use the contents. */
  readonly annotations?: Annotations;
  /** Icons that a client may show. Sent since 2025-11-25. */
  readonly icons?: readonly Icon[];
  /** Metadata for the client, sent unchanged. */
  readonly _meta?: JsonObject;
  /**
   * How long clients may cache the contents, and who may share them.
   *
   * @default the server's hint for `resources/read`
   */
  readonly cache?: CacheHint;
}

/** The description of a resource. @see MCP 2026-07-28, server/resources, "Resource" */
export interface ResourceOptions extends CommonResourceOptions {
  /** The size of the contents in bytes, if it is known. */
  readonly size?: number;
}

/** The description of a resource template. @see MCP 2026-07-28, server/resources, "Resource Templates" */
export interface ResourceTemplateOptions<Env = unknown> extends CommonResourceOptions {
  /** Completers of the variables, by name of the variable. */
  readonly complete?: Completers<Env>;
}

/** A resource as a value; see `defineResource`. */
export interface ResourceDefinition<Env = unknown> {
  /** The kind of definition. */
  readonly kind: "resource";
  /** The URI, of any scheme. */
  readonly uri: string;
  /** The listed properties of the resource. */
  readonly options: ResourceOptions;
  /** Reads the resource. */
  read(uri: string, ctx: HandlerContext<Env>): ReadReturn | Promise<ReadReturn>;
}

/** A resource template as a value; see `defineResourceTemplate`. */
export interface ResourceTemplateDefinition<Env = unknown> {
  /** The kind of definition. */
  readonly kind: "resourceTemplate";
  /** The URI template (RFC 6570). */
  readonly uriTemplate: string;
  /** The listed properties of the template. */
  readonly options: ResourceTemplateOptions<Env>;
  /** Reads a resource whose URI matches the template. */
  read(uri: string, variables: UriTemplateVariables, ctx: HandlerContext<Env>): ReadReturn | Promise<ReadReturn>;
}

/** Provides resources that are stored elsewhere. Called for URIs that no definition matches. */
export interface ResourceProvider<Env = unknown> {
  /** The resources that are listed after the definitions. */
  list?(ctx: HandlerContext<Env>): readonly ListedResource[] | Promise<readonly ListedResource[]>;
  /** Reads a URI. Returns `undefined` if the resource does not exist. */
  read(uri: string, ctx: HandlerContext<Env>): ReadReturn | Promise<ReadReturn>;
}

/** A resource as a provider lists it. */
export interface ListedResource extends Omit<ResourceOptions, "cache"> {
  /** The URI, of any scheme. */
  readonly uri: string;
}

/** Defines a resource as a value, for example in its own module. Any URI scheme is allowed. */
export function defineResource<Env = unknown>(
  uri: string,
  options: ResourceOptions,
  read: ResourceReader<Env>,
): ResourceDefinition<Env> {
  const definition: ResourceDefinition<Env> = { kind: "resource", uri, options, read };
  compileResource(definition);
  return definition;
}

/** Defines a resource template as a value, for example in its own module. @throws {KitError} `definition-invalid`. */
export function defineResourceTemplate<Env = unknown>(
  uriTemplate: string,
  options: ResourceTemplateOptions<Env>,
  read: ResourceTemplateReader<Env>,
): ResourceTemplateDefinition<Env> {
  const definition: ResourceTemplateDefinition<Env> = { kind: "resourceTemplate", uriTemplate, options, read };
  compileResourceTemplate(definition);
  return definition;
}

export interface CompiledResource extends CatalogItem {
  readonly definition: ResourceDefinition;
}

export interface CompiledResourceTemplate extends CatalogItem {
  readonly definition: ResourceTemplateDefinition;
  readonly template: UriTemplate;
}

const COMMON: OptionTable<CommonResourceOptions> = {
  name: null,
  title: null,
  description: null,
  mimeType: null,
  annotations: null,
  icons: null,
  _meta: null,
  cache: null,
};
const RESOURCE: OptionTable<ResourceOptions> = { ...COMMON, size: [0, Number.MAX_SAFE_INTEGER] };
const TEMPLATE: OptionTable<ResourceTemplateOptions> = { ...COMMON, complete: null };

/**
 * Compiles a resource.
 *
 * @throws {KitError} `definition-invalid` if the URI is not valid, the `mimeType` is not a media type, or there is no
 *   reader; `options-invalid` for an unknown option or a number out of range.
 */
export function compileResource<Env>(definition: ResourceDefinition<Env>): CompiledResource {
  const { uri, options } = definition;
  if (typeof uri !== "string" || !/^[a-z][a-z\d+.-]*:[\w.~:/?#[\]@!$&'()*+,;=%-]*$/i.test(uri)) {
    throw new KitError(
      "definition-invalid",
      `Resource ${JSON.stringify(uri)} is not a URI; write it with a scheme, such as "file:///a.txt", and percent-encoded (RFC 3986).`,
    );
  }
  checkCommon(`Resource "${uri}"`, definition, RESOURCE);
  checkMediaType(`resource "${uri}"`, options.mimeType, "definition-invalid");
  // From here on, the type of the bindings is erased; see `compile`.
  return {
    key: uri,
    definition: definition as ResourceDefinition,
    entry: (rules) => listedResource({ ...options, uri }, rules),
  };
}

/**
 * Compiles a resource template.
 *
 * @throws {KitError} `definition-invalid` if the template is not valid, the `mimeType` is not a media type, a completer
 *   has no variable, or there is no reader; `options-invalid` like {@link compileResource}.
 */
export function compileResourceTemplate<Env>(definition: ResourceTemplateDefinition<Env>): CompiledResourceTemplate {
  const { uriTemplate, options } = definition;
  const template = new UriTemplate(uriTemplate);
  checkCommon(`Resource template "${uriTemplate}"`, definition, TEMPLATE);
  checkMediaType(`resource template "${uriTemplate}"`, options.mimeType, "definition-invalid");
  for (const name of Object.keys(options.complete ?? {})) {
    if (template.names.includes(name)) continue;
    throw new KitError(
      "definition-invalid",
      `Resource template "${uriTemplate}" has a completer for "${name}", which is not one of its variables.`,
    );
  }
  const entry = (rules: VersionRules) => {
    const { annotations, ...rest } = options;
    return pick(
      { ...rest, ...shapeAnnotations(annotations, rules), name: options.name ?? uriTemplate, uriTemplate },
      rules.templateFields,
    );
  };
  return { key: uriTemplate, definition: definition as ResourceTemplateDefinition, template, entry };
}

/** Returns an entry of `resources/list`, with only the members that the version defines. */
export function listedResource(resource: ListedResource, rules: VersionRules): JsonObject {
  const { annotations, ...rest } = resource;
  return pick(
    { ...rest, ...shapeAnnotations(annotations, rules), name: resource.name ?? resource.uri },
    rules.resourceFields,
  );
}

function shapeAnnotations(annotations: Annotations | undefined, rules: VersionRules): JsonObject {
  return annotations ? { annotations: pick(annotations, rules.annotationFields) } : {};
}

/** Checks the reader and the options of a resource or resource template. */
function checkCommon(
  what: string,
  { read, options }: ResourceDefinition<never> | ResourceTemplateDefinition<never>,
  table: typeof RESOURCE | typeof TEMPLATE,
): void {
  if (typeof read !== "function") throw new KitError("definition-invalid", `${what} has no reader function.`);
  checkOptions(`${what}: `, options, table);
  checkOptions(`${what}: cache.`, options.cache ?? {}, CACHE);
}

/**
 * Returns the `contents` of a resource.
 *
 * @throws {McpError} if the resource does not exist.
 * @throws {KitError} `result-invalid` like {@link encodeContents}.
 */
export function toContents(
  returned: ReadReturn,
  uri: string,
  mimeType: string | undefined,
  rules: VersionRules,
): JsonObject[] {
  if (returned === undefined || returned === null) throw resourceNotFound(uri, rules);
  const own = mimeType === undefined ? { uri } : { uri, mimeType };
  const whole =
    typeof returned === "string" ? { text: returned } : returned instanceof Uint8Array ? { blob: returned } : returned;
  const { contents = whole } = whole as Partial<ReadResult>;
  return [contents].flat().map((content: unknown) => {
    if (isObject(content)) return encodeContents({ ...own, ...content }, rules);
    const text = `The reader of ${quote(uri)} returned contents of type ${typeof content}; return objects with "text" or "blob".`;
    throw new KitError("result-invalid", text);
  });
}

/**
 * Returns the error for a missing resource.
 *
 * @param spelling The spelling of the URI that a template of the server matches.
 * @see MCP 2026-07-28, server/resources, "Error Handling"
 */
export function resourceNotFound(uri: string, rules: VersionRules, spelling?: string): McpError {
  const code = rules.resourceNotFoundCode ?? ErrorCode.InvalidParams;
  const hint = spelling === undefined ? "" : `. Write it as ${quote(spelling)}`;
  return new McpError(code, `Resource not found${hint}`, { uri });
}
