/** Finds names of protocol versions in code outside the tables of versions, where the next version would make them wrong. */
import { SPOKEN_VERSIONS } from "../src/core/protocol/spoken-versions.ts";

/** Matches the name of a version, but not a time that begins with the same date. */
const NAME = new RegExp(String.raw`\b(?:${SPOKEN_VERSIONS.map(({ version }) => version).join("|")})\b(?!T\d)`);

/** The files that may name versions, each with the reason. */
export const NAMING: Readonly<Record<string, string>> = {
  "src/core/protocol/spoken-versions.ts": "the table of versions",
  "src/cli/host-profiles/profiles.ts": "facts about hosts, with their sources",
  "src/cli/commands/add/parts/session.test.ts": "copied into projects, whose tests name the versions that they use",
  "src/cli/commands/doctor/endpoint.ts": "the version of HTTP+SSE",
  "src/cli/commands/doctor/resource.ts": "the version that introduced protected resource metadata",
};

/** Returns a line for each name of a version in the code of a file. Comments may name versions. */
export function findVersionNames(file: string, text: string): string[] {
  if (Object.hasOwn(NAMING, file)) return [];
  return text.split("\n").flatMap((line, index) => {
    if (/^\s*(?:\/\/|\*|\/\*)/.test(line) || !NAME.test(line.replace(/\s\/\/ .*/, ""))) return [];
    return [`${file}:${index + 1}: read a property of the version's rules instead of its name: ${line.trim()}`];
  });
}

/** Returns a line for each listed file that names no version, so that the list does not become stale. */
export function findUnusedNaming(read: (file: string) => string): string[] {
  return Object.keys(NAMING).flatMap((file) =>
    NAME.test(read(file)) ? [] : [`scripts/version-names.ts: ${file} names no version`],
  );
}
