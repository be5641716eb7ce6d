/**
 * The differences between protocol versions that clients and servers need. versions.ts adds the differences that only
 * servers need, which would be a twentieth of a client in a browser.
 *
 * @module
 */
import { KitError } from "./errors.ts";

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
}

export const SPOKEN_2024_11_05: SpokenVersion = {
  version: "2024-11-05",
  era: "legacy",
  implementationFields: ["name", "version"],
  completionsCapability: false,
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

export const SPOKEN_2026_07_28: SpokenVersion = { ...SPOKEN_2025_11_25, version: "2026-07-28", era: "modern" };

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

/**
 * Selects versions by their names; all of them if `names` is undefined.
 *
 * @throws {KitError} `options-invalid` when the list is empty or names an unknown version. The message lists the valid
 *   names.
 */
export function speakVersions(names?: readonly string[]): SpokenVersions {
  const known = SPOKEN_VERSIONS.map(({ version }) => version);
  const unknown = names?.find((name) => !known.includes(name));
  if (unknown !== undefined || names?.length === 0) {
    const problem = unknown === undefined ? "is empty" : `has the unknown version ${JSON.stringify(unknown)}`;
    throw new KitError("options-invalid", `connect(): protocolVersions ${problem}. Use ${known.join(", ")}.`);
  }
  const chosen = SPOKEN_VERSIONS.filter(({ version }) => names?.includes(version) ?? true);
  return {
    legacy: chosen.filter(({ era }) => era === "legacy"),
    modern: chosen.filter(({ era }) => era === "modern"),
  };
}
