/**
 * The versions that a client may use: the part of the table of versions that clients need. The whole table would be a
 * twentieth of a client in a browser. A test compares the two.
 *
 * @module
 */
import { KitError } from "./errors.ts";
import type { VersionRules } from "./versions.ts";

/** What a client needs to know about a version. */
export type SpokenVersion = Pick<VersionRules, "version" | "era" | "implementationFields" | "completionsCapability">;

const FIELDS = ["name", "version"];
const WITH_TITLE = [...FIELDS, "title"];
const WITH_ICONS = [...WITH_TITLE, "description", "websiteUrl", "icons"];

/** Every version that the kit knows, newest first. */
export const SPOKEN_VERSIONS: readonly SpokenVersion[] = [
  spoken("2026-07-28", WITH_ICONS, "modern"),
  spoken("2025-11-25", WITH_ICONS),
  spoken("2025-06-18", WITH_TITLE),
  spoken("2025-03-26", FIELDS),
  spoken("2024-11-05", FIELDS, "legacy", false),
];

function spoken(
  version: string,
  implementationFields: readonly string[],
  era: VersionRules["era"] = "legacy",
  completionsCapability = true,
): SpokenVersion {
  return { version, era, implementationFields, completionsCapability };
}

/** The versions of one client, newest first within each era. */
export interface SpokenVersions {
  readonly legacy: readonly SpokenVersion[];
  readonly modern: readonly SpokenVersion[];
}

/**
 * Selects versions by their names; all of them if `names` is undefined.
 *
 * @throws {KitError} `options-invalid` when the list is empty or names an unknown version. The text lists the valid names.
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
