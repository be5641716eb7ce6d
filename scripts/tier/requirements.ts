/** What the official conformance suite requires: its frozen requirement files, and its list of scenarios. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { ROOT } from "../tools.ts";

/** The two sides of the protocol that the suite tests. */
export const LEGS = ["server", "client"] as const;
export type Leg = (typeof LEGS)[number];

/** A scenario that is run without being required. */
export interface NotScored {
  readonly scenario: string;
  readonly leg: Leg;
  readonly reason: string;
}

/** The scenarios that a version of the protocol requires. */
export interface RequirementSet {
  readonly version: string;
  readonly server: readonly string[];
  readonly client: readonly string[];
  readonly notScored: readonly NotScored[];
  /** The SHA-256 hash of the file. Undefined for a version without a file. */
  readonly sha256?: string;
}

/** A scenario, with the versions that the suite lists it for; `extension` if it belongs to no version. */
export interface ListedScenario {
  readonly leg: Leg;
  readonly name: string;
  readonly versions: readonly string[];
}

/** The versions that determine the tier: the newest three. */
export const VERSIONS = ["2026-07-28", "2025-11-25", "2025-06-18"] as const;
/** Versions for which the suite has no requirement file: all scenarios that it lists for them count as required. */
const WITHOUT_FILE: ReadonlySet<string> = new Set(["2025-06-18"]);
const SUITE = join(ROOT, "node_modules/@modelcontextprotocol/conformance");

/** Reads the requirement set of each version. */
export function readRequirementSets(listed: readonly ListedScenario[]): RequirementSet[] {
  return VERSIONS.map((version) => {
    if (WITHOUT_FILE.has(version)) return fromList(version, listed);
    return parseRequirements(version, readFileSync(join(SUITE, "requirements", `${version}.yaml`), "utf8"));
  });
}

/** Parses a requirement file. Throws if it has another form than expected, because a scenario could then be missed. */
export function parseRequirements(version: string, text: string): RequirementSet {
  const { server, client, not_scored: notScored } = parse(text) as Record<string, unknown>;
  if (!isNames(server) || !isNames(client) || !Array.isArray(notScored)) {
    throw new Error(`The requirement file of ${version} has another form than expected.`);
  }
  const sha256 = createHash("sha256").update(text).digest("hex");
  return { version, server, client, notScored: notScored as NotScored[], sha256 };
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === "string");
}

function fromList(version: string, listed: readonly ListedScenario[]): RequirementSet {
  const namesOf = (leg: Leg) => listed.filter((each) => each.leg === leg && each.versions.includes(version));
  const [server = [], client = []] = LEGS.map((leg) => namesOf(leg).map(({ name }) => name));
  return { version, server, client, notScored: [] };
}

/** Asks the suite for its scenarios for servers and clients. */
export function listScenarios(): ListedScenario[] {
  const program = `${ROOT}node_modules/.bin/conformance`;
  return parseList(execFileSync(process.execPath, [program, "list"], { encoding: "utf8" }));
}

/** Parses the output of `conformance list`. Scenarios for authorization servers are left out: no tier requires them. */
export function parseList(output: string): ListedScenario[] {
  const found: ListedScenario[] = [];
  let leg: Leg | undefined;
  for (const line of output.split("\n")) {
    const heading = /^(\S.*) scenarios \(/.exec(line)?.[1]?.toLowerCase();
    if (heading !== undefined) leg = LEGS.find((each) => each === heading);
    const [, name, versions] = /^ {2}- (\S+) \[(.*)\]$/.exec(line) ?? [];
    if (leg !== undefined && name !== undefined) found.push({ leg, name, versions: (versions ?? "").split(",") });
  }
  if (LEGS.some((each) => !found.some((scenario) => scenario.leg === each))) {
    throw new Error(`The suite lists no scenarios:\n${output}`);
  }
  return found;
}
