/**
 * The differences between protocol versions that clients and servers need. versions.ts adds the differences that only
 * servers need, which would be a twentieth of a client in a browser.
 *
 * @module
 */

import type { RequestName } from "./methods.ts";

/**
 * The kind of a protocol version. `legacy`: clients begin with an `initialize` handshake. `modern`: each request
 * describes its client in `_meta`.
 */
export type Era = "legacy" | "modern";

/** The features of a protocol version that clients need. */
export interface SpokenVersion {
  readonly version: string;
  readonly era: Era;
  /** Properties of `Implementation` (server info). */
  readonly implementationFields: readonly string[];
  /** Whether there is a `completions` capability. Servers of 2024-11-05 serve completions without declaring it. */
  readonly completionsCapability: boolean;
  /** The requests in the table of methods that the version does not have. */
  readonly lacks: readonly string[];
}

/** The requests that no legacy version has. */
const MODERN_METHODS = [
  "server/discover",
  "subscriptions/listen",
  "tasks/update",
] as const satisfies readonly RequestName[];

/** The requests that no modern version has. */
const LEGACY_METHODS = [
  "initialize",
  "ping",
  "resources/subscribe",
  "resources/unsubscribe",
  "logging/setLevel",
  "tasks/result",
  "tasks/list",
] as const satisfies readonly RequestName[];

/** The name of a request that at least one version does not have. */
export type MissingMethod = (typeof MODERN_METHODS | typeof LEGACY_METHODS)[number];

export const SPOKEN_2024_11_05: SpokenVersion = {
  version: "2024-11-05",
  era: "legacy",
  implementationFields: ["name", "version"],
  completionsCapability: false,
  lacks: MODERN_METHODS,
};

export const SPOKEN_2025_03_26: SpokenVersion = {
  ...SPOKEN_2024_11_05,
  version: "2025-03-26",
  completionsCapability: true,
};

export const SPOKEN_2025_06_18: SpokenVersion = {
  ...SPOKEN_2025_03_26,
  version: "2025-06-18",
  implementationFields: ["name", "title", "version"],
};

export const SPOKEN_2025_11_25: SpokenVersion = {
  ...SPOKEN_2025_06_18,
  version: "2025-11-25",
  implementationFields: [...SPOKEN_2025_06_18.implementationFields, "description", "websiteUrl", "icons"],
};

export const SPOKEN_2026_07_28: SpokenVersion = {
  ...SPOKEN_2025_11_25,
  version: "2026-07-28",
  era: "modern",
  lacks: LEGACY_METHODS,
};

/** Every version that the kit knows, newest first. */
export const SPOKEN_VERSIONS: readonly SpokenVersion[] = [
  SPOKEN_2026_07_28,
  SPOKEN_2025_11_25,
  SPOKEN_2025_06_18,
  SPOKEN_2025_03_26,
  SPOKEN_2024_11_05,
];

/** The versions of one client, newest first within each era. */
export interface SpokenVersions {
  readonly legacy: readonly SpokenVersion[];
  readonly modern: readonly SpokenVersion[];
}

/** Selects versions by their names; all of them if `names` is undefined. Unknown names are ignored. */
export function speakVersions(names?: readonly string[]): SpokenVersions {
  const chosen = SPOKEN_VERSIONS.filter(({ version }) => names?.includes(version) ?? true);
  return {
    legacy: chosen.filter(({ era }) => era === "legacy"),
    modern: chosen.filter(({ era }) => era === "modern"),
  };
}

/** Returns a version by its name; undefined if the table does not have it. */
export function findSpoken(name: unknown): SpokenVersion | undefined {
  return SPOKEN_VERSIONS.find(({ version }) => version === name);
}

/** Returns the name of the newest version of an era. */
export function newestOf(era: Era): string {
  return (SPOKEN_VERSIONS.find((each) => each.era === era) as SpokenVersion).version;
}
