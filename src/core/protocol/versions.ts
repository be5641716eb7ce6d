/**
 * The one table of what differs between protocol versions. Nothing else in the tree compares a version string:
 * shared code asks a property of {@link VersionRules}. When the next revision comes, it is one more row.
 *
 * @module
 */

import type { ClientCapabilityName } from "./client-facts.ts";

/** legacy: opened by an `initialize` handshake. modern: each request carries its own `_meta`. */
export type Era = "legacy" | "modern";

/** The features of one protocol version. Everything a server sends is shaped by this. */
export interface VersionRules {
  readonly version: string;
  readonly era: Era;
  /** Place in the table. Sealed into session ids, so rows are only ever added at the end. */
  readonly index: number;
  /** JSON-RPC batches: only 2025-03-26 has them (added in that revision, removed in the next). */
  readonly batch: boolean;
  /** Properties of `Implementation` (server info). */
  readonly implementationFields: readonly string[];
  /** Properties of `Tool`. */
  readonly toolFields: readonly string[];
  /** Properties of `Prompt` and of `PromptArgument`. */
  readonly promptFields: readonly string[];
  readonly promptArgumentFields: readonly string[];
  /** Properties of `Resource` and of `ResourceTemplate`. */
  readonly resourceFields: readonly string[];
  readonly templateFields: readonly string[];
  /** The code of "resource not found" where the version has one of its own. */
  readonly resourceNotFoundCode: number | undefined;
  /** The `completions` capability; 2024-11-05 completes without saying so. */
  readonly completionsCapability: boolean;
  /** Capabilities the version has no requests for, whatever a client declares. */
  readonly unknownCapabilities: readonly ClientCapabilityName[];
  /** Elicitation with `mode`, URLs, lists of choices, titled choices and defaults of every type. */
  readonly elicitationModes: boolean;
  /** How a request says that it needs URL elicitations first: not at all, by an error, by an `input_required` result. */
  readonly urlsRequired: "text" | "error" | "result";
  /** Values of `type` a content block may have. */
  readonly contentKinds: readonly string[];
  /** Properties of a resource link; empty where there are none. */
  readonly resourceLinkFields: readonly string[];
  /** Properties of `Annotations` on content. */
  readonly annotationFields: readonly string[];
  /** `_meta` on content blocks and resource contents. */
  readonly contentMeta: boolean;
  /** The type that `structuredContent` and the root of `outputSchema` may have. */
  readonly structured: "none" | "object" | "any";
  /** `message` in progress notifications. */
  readonly progressMessage: boolean;
  /** SSE streams begin with an event that has an id and no data; older clients parse the empty data and fail. */
  readonly primingEvent: boolean;
  /** `resultType`, `_meta` with server info, and cache hints in results. */
  readonly resultEnvelope: boolean;
}

const TOOL_2024 = ["name", "description", "inputSchema"] as const;
const PROMPT_2024 = ["name", "description", "arguments"] as const;
const ARGUMENT_2024 = ["name", "description", "required"] as const;
const RESOURCE_2024 = ["uri", "name", "description", "mimeType", "size", "annotations"] as const;
const RESOURCE_2025_06 = [...RESOURCE_2024, "title", "_meta"] as const;
const TEMPLATE_2024 = ["uriTemplate", "name", "description", "mimeType", "annotations"] as const;

const V2024_11_05: VersionRules = {
  version: "2024-11-05",
  era: "legacy",
  index: 0,
  batch: false,
  implementationFields: ["name", "version"],
  toolFields: TOOL_2024,
  promptFields: PROMPT_2024,
  promptArgumentFields: ARGUMENT_2024,
  resourceFields: RESOURCE_2024,
  templateFields: TEMPLATE_2024,
  resourceNotFoundCode: -32002,
  completionsCapability: false,
  unknownCapabilities: ["elicitation", "elicitation.form", "elicitation.url", "sampling.tools"],
  elicitationModes: false,
  urlsRequired: "text",
  contentKinds: ["text", "image", "resource"],
  resourceLinkFields: [],
  annotationFields: ["audience", "priority"],
  contentMeta: false,
  structured: "none",
  progressMessage: false,
  primingEvent: false,
  resultEnvelope: false,
};

const V2025_03_26: VersionRules = {
  ...V2024_11_05,
  version: "2025-03-26",
  index: 1,
  batch: true,
  toolFields: [...TOOL_2024, "annotations"],
  completionsCapability: true,
  contentKinds: ["text", "image", "audio", "resource"],
  progressMessage: true,
};

const V2025_06_18: VersionRules = {
  ...V2025_03_26,
  version: "2025-06-18",
  index: 2,
  batch: false,
  implementationFields: ["name", "title", "version"],
  unknownCapabilities: ["elicitation.url", "sampling.tools"],
  toolFields: [...TOOL_2024, "title", "annotations", "outputSchema", "_meta"],
  promptFields: [...PROMPT_2024, "title", "_meta"],
  promptArgumentFields: [...ARGUMENT_2024, "title"],
  resourceFields: RESOURCE_2025_06,
  templateFields: [...TEMPLATE_2024, "title", "_meta"],
  contentKinds: ["text", "image", "audio", "resource", "resource_link"],
  resourceLinkFields: ["type", ...RESOURCE_2025_06],
  annotationFields: ["audience", "priority", "lastModified"],
  contentMeta: true,
  structured: "object",
};

const V2025_11_25: VersionRules = {
  ...V2025_06_18,
  version: "2025-11-25",
  index: 3,
  implementationFields: [...V2025_06_18.implementationFields, "description", "websiteUrl", "icons"],
  unknownCapabilities: [],
  elicitationModes: true,
  primingEvent: true,
  urlsRequired: "error",
  toolFields: [...V2025_06_18.toolFields, "icons"],
  promptFields: [...V2025_06_18.promptFields, "icons"],
  resourceFields: [...V2025_06_18.resourceFields, "icons"],
  templateFields: [...V2025_06_18.templateFields, "icons"],
  resourceLinkFields: [...V2025_06_18.resourceLinkFields, "icons"],
};

const V2026_07_28: VersionRules = {
  ...V2025_11_25,
  version: "2026-07-28",
  era: "modern",
  index: 4,
  resourceNotFoundCode: undefined,
  urlsRequired: "result",
  structured: "any",
  primingEvent: false,
  resultEnvelope: true,
};

/** Every version the kit knows, oldest first; `index` is the position. */
export const VERSIONS: readonly VersionRules[] = [V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28];

/**
 * The version assumed for a Streamable HTTP request without a version header and without a session.
 *
 * @see MCP 2025-06-18, basic/transports, "Protocol Version Header"
 */
export const ASSUMED_HTTP_VERSION: VersionRules = V2025_03_26;

/** The only version with tasks in its own protocol: experimental, and an extension since. */
export const OWN_TASKS_VERSION: VersionRules = V2025_11_25;

/** The version of the HTTP+SSE transport, until its client's handshake says otherwise. */
export const HTTP_SSE_VERSION: VersionRules = V2024_11_05;

const byName = new Map(VERSIONS.map((rules) => [rules.version, rules]));

/** The rules of a version by name, or undefined for a name the kit does not know. */
export function findVersion(version: string): VersionRules | undefined {
  return byName.get(version);
}

/** The versions one server serves, newest first within each era. */
export interface ServedVersions {
  readonly legacy: readonly VersionRules[];
  readonly modern: readonly VersionRules[];
  /** The rules of a served version, or undefined. */
  find(version: string): VersionRules | undefined;
}

/**
 * Narrows what is served to the given names; all versions when the argument is undefined.
 *
 * @throws {RangeError} when the list is empty or names an unknown version. The text lists the valid names.
 */
export function serveVersions(names?: readonly string[]): ServedVersions {
  const chosen = names === undefined ? VERSIONS : names.map(knownVersion);
  if (chosen.length === 0) throw new RangeError(`protocolVersions is empty. Valid versions: ${validNames()}.`);
  const newestFirst = [...new Set(chosen)].sort((a, b) => b.index - a.index);
  return {
    legacy: newestFirst.filter((rules) => rules.era === "legacy"),
    modern: newestFirst.filter((rules) => rules.era === "modern"),
    find: (version) => newestFirst.find((rules) => rules.version === version),
  };
}

function knownVersion(name: string): VersionRules {
  const rules = byName.get(name);
  if (!rules) throw new RangeError(`protocolVersions names ${JSON.stringify(name)}. Valid versions: ${validNames()}.`);
  return rules;
}

function validNames(): string {
  return VERSIONS.map((rules) => rules.version).join(", ");
}
