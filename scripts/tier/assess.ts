/** Compares results of the official suite with its requirements. */
import { LEGS, type Leg, type ListedScenario, type RequirementSet } from "./requirements.ts";

export const RUNTIMES = ["workerd", "Node"] as const;
export type Runtime = (typeof RUNTIMES)[number];

/** The result of a scenario on one runtime. */
export interface Outcome {
  readonly leg: Leg;
  readonly runtime: Runtime;
  /** The version, or `extension`. */
  readonly version: string;
  readonly name: string;
  /** Whether it had a success, and neither a failure nor a warning; for a client, whether it also exited with 0. */
  readonly isClean: boolean;
  /** The numbers of successes, failures and warnings, such as `4/0/0`. */
  readonly checks: string;
}

/** The result for the required scenarios of a version, a leg (server or client), and a runtime. */
export interface Score {
  readonly version: string;
  readonly leg: Leg;
  readonly runtime: Runtime;
  readonly required: number;
  /** The scenarios that are not clean, with their checks, or "not run". */
  readonly missing: readonly string[];
}

/** A scenario that is not required, with its result on each runtime. */
export interface Extra {
  readonly version: string;
  readonly leg: Leg;
  readonly name: string;
  readonly reason: string;
  readonly results: Readonly<Record<Runtime, string>>;
}

/** Returns how many required scenarios are clean. A scenario that has not been run is missing. */
export function scoresOf(sets: readonly RequirementSet[], outcomes: readonly Outcome[]): Score[] {
  return sets.flatMap((set) =>
    LEGS.flatMap((leg) =>
      RUNTIMES.map((runtime) => {
        const results = set[leg].map((name) => {
          const found = outcomes.find((each) => isOf(each, leg, set.version, name) && each.runtime === runtime);
          return found?.isClean === true ? undefined : `${name} (${found?.checks ?? "not run"})`;
        });
        const missing = results.filter((result) => result !== undefined);
        return { version: set.version, leg, runtime, required: set[leg].length, missing };
      }),
    ),
  );
}

/** Returns every scenario of the suite that is not required in a version, with its results. */
export function extrasOf(
  sets: readonly RequirementSet[],
  listed: readonly ListedScenario[],
  outcomes: readonly Outcome[],
): Extra[] {
  const required = (leg: Leg, version: string, name: string) =>
    sets.some((set) => set.version === version && set[leg].includes(name));
  const places = new Map<string, { leg: Leg; version: string; name: string }>();
  for (const { leg, name, versions } of listed) {
    for (const version of versions) places.set(`${leg} ${version} ${name}`, { leg, version, name });
  }
  return [...places.values()]
    .filter(({ leg, version, name }) => !required(leg, version, name))
    .map(({ leg, version, name }) => {
      const resultOn = (runtime: Runtime) => {
        // A scenario of an extension is run with any version.
        const found = outcomes.find(
          (each) =>
            each.runtime === runtime &&
            (isOf(each, leg, version, name) || (version === "extension" && each.leg === leg && each.name === name)),
        );
        return found === undefined ? "not run" : `${found.isClean ? "clean" : "not clean"} ${found.checks}`;
      };
      const results = { workerd: resultOn("workerd"), Node: resultOn("Node") };
      return { leg, version, name, reason: reasonOf(sets, leg, version, name), results };
    });
}

function isOf(outcome: Outcome, leg: Leg, version: string, name: string): boolean {
  return outcome.leg === leg && outcome.version === version && outcome.name === name;
}

function reasonOf(sets: readonly RequirementSet[], leg: Leg, version: string, name: string): string {
  const scored = sets.filter((set) => version === "extension" || set.version === version);
  const entry = scored.flatMap(({ notScored }) => notScored).find((each) => each.scenario === name && each.leg === leg);
  if (entry !== undefined) return entry.reason;
  if (version === "extension") return "extension, in no requirement file";
  return scored.length === 0 ? "an older version" : "in no requirement file";
}
