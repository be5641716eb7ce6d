/**
 * The table of differences between protocol versions. Other code contains no version strings and reads a property of
 * {@link VersionRules}. A new version is a new row here, which extends a row in the short table that clients use as
 * well. See CONTRIBUTING.md, "A new version of the protocol".
 *
 * @module
 */

import type { ClientCapabilityName } from "./client-capabilities.ts";
import {
  type Era,
  SPOKEN_2024_11_05,
  SPOKEN_2025_03_26,
  SPOKEN_2025_06_18,
  SPOKEN_2025_11_25,
  SPOKEN_2026_07_28,
  type SpokenVersion,
} from "./spoken-versions.ts";

export type { Era };

/** The features of one protocol version. They determine the form of everything that a server sends. */
export interface VersionRules extends SpokenVersion {
  /** The position in the table. Session ids contain it, so rows are only ever added at the end. */
  readonly index: number;
  /** Whether there are JSON-RPC batches. They were added in 2025-03-26 and removed in the next version. */
  readonly batch: boolean;
  /** Properties of `Tool`. */
  readonly toolFields: readonly string[];
  /** Properties of `Prompt` and of `PromptArgument`. */
  readonly promptFields: readonly string[];
  readonly promptArgumentFields: readonly string[];
  /** Properties of `Resource` and of `ResourceTemplate`. */
  readonly resourceFields: readonly string[];
  readonly templateFields: readonly string[];
  /** The error code of "resource not found", if the version defines one. */
  readonly resourceNotFoundCode: number | undefined;
  /** Capabilities that the version does not define. A client may still declare them. */
  readonly unknownCapabilities: readonly ClientCapabilityName[];
  /** Whether elicitation has `mode`, URLs, lists of choices, titled choices and defaults of every type. */
  readonly elicitationModes: boolean;
  /**
   * How a server asks for URL elicitations before it serves a request: in a text, with an error, or with an
   * `input_required` result.
   */
  readonly urlsRequired: "text" | "error" | "result";
  /** The values of `type` that a content block may have. */
  readonly contentKinds: readonly string[];
  /** Properties of a resource link; empty if the version has no resource links. */
  readonly resourceLinkFields: readonly string[];
  /** Properties of `Annotations` on content. */
  readonly annotationFields: readonly string[];
  /** Whether content blocks and resource contents have `_meta`. */
  readonly contentMeta: boolean;
  /** The type that `structuredContent` and the root of `outputSchema` may have. */
  readonly structured: "none" | "object" | "any";
  /** Whether progress notifications have a `message`. */
  readonly progressMessage: boolean;
  /** Whether SSE streams begin with an event that has an id and no data. Older clients cannot parse the empty data. */
  readonly primingEvent: boolean;
  /** Whether results have `resultType`, `_meta` with server info, and cache hints. */
  readonly resultEnvelope: boolean;
}

const TOOL_2024 = ["name", "description", "inputSchema"] as const;
const PROMPT_2024 = ["name", "description", "arguments"] as const;
const ARGUMENT_2024 = ["name", "description", "required"] as const;
const RESOURCE_2024 = ["uri", "name", "description", "mimeType", "size", "annotations"] as const;
const RESOURCE_2025_06 = [...RESOURCE_2024, "title", "_meta"] as const;
const TEMPLATE_2024 = ["uriTemplate", "name", "description", "mimeType", "annotations"] as const;

const V2024_11_05: VersionRules = {
  ...SPOKEN_2024_11_05,
  index: 0,
  batch: false,
  toolFields: TOOL_2024,
  promptFields: PROMPT_2024,
  promptArgumentFields: ARGUMENT_2024,
  resourceFields: RESOURCE_2024,
  templateFields: TEMPLATE_2024,
  resourceNotFoundCode: -32002,
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
  ...SPOKEN_2025_03_26,
  index: 1,
  batch: true,
  toolFields: [...TOOL_2024, "annotations"],
  contentKinds: ["text", "image", "audio", "resource"],
  progressMessage: true,
};

const V2025_06_18: VersionRules = {
  ...V2025_03_26,
  ...SPOKEN_2025_06_18,
  index: 2,
  batch: false,
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
  ...SPOKEN_2025_11_25,
  index: 3,
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
  ...SPOKEN_2026_07_28,
  index: 4,
  resourceNotFoundCode: undefined,
  urlsRequired: "result",
  structured: "any",
  primingEvent: false,
  resultEnvelope: true,
};

/** Every version that the kit supports, oldest first; `index` is the position. */
export const VERSIONS: readonly VersionRules[] = [V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28];

/**
 * The version assumed for a Streamable HTTP request without a version header and without a session.
 *
 * @see MCP 2025-06-18, basic/transports, "Protocol Version Header"
 */
export const ASSUMED_HTTP_VERSION: VersionRules = V2025_03_26;

/**
 * The only version whose core protocol has tasks, as an experimental feature. In later versions they are an extension.
 */
export const LEGACY_TASKS_VERSION: VersionRules = V2025_11_25;

/** The version assumed for the HTTP+SSE transport until the client's handshake states one. */
export const HTTP_SSE_VERSION: VersionRules = V2024_11_05;

/** Returns the rules of a version by its name, or undefined for an unknown name. */
export function findVersion(version: string): VersionRules | undefined {
  return VERSIONS.find((rules) => rules.version === version);
}

/** The versions that a server serves, newest first within each era. */
export interface ServedVersions {
  readonly legacy: readonly VersionRules[];
  readonly modern: readonly VersionRules[];
  /** The rules of a served version, or undefined. */
  find(version: string): VersionRules | undefined;
}

/**
 * Selects the versions to serve by their names; all of them if `names` is undefined.
 *
 * @throws {RangeError} when the list is empty or names an unknown version. The message lists the valid names.
 */
export function serveVersions(names?: readonly string[]): ServedVersions {
  const chosen = names?.map(knownVersion) ?? VERSIONS;
  if (chosen.length === 0) throw invalidVersions("is empty");
  const newestFirst = [...new Set(chosen)].sort((a, b) => b.index - a.index);
  return {
    legacy: newestFirst.filter((rules) => rules.era === "legacy"),
    modern: newestFirst.filter((rules) => rules.era === "modern"),
    find: (version) => newestFirst.find((rules) => rules.version === version),
  };
}

function knownVersion(name: string): VersionRules {
  const rules = findVersion(name);
  if (!rules) throw invalidVersions(`names ${JSON.stringify(name)}`);
  return rules;
}

function invalidVersions(problem: string): RangeError {
  return new RangeError(`protocolVersions ${problem}. Valid versions: ${listNames(VERSIONS).join(", ")}.`);
}

/** Returns the names of versions, in their order. */
export function listNames(versions: readonly VersionRules[]): string[] {
  return versions.map((rules) => rules.version);
}
