/**
 * Generates mutants of a room with Stryker, and runs the tests that reach the room in this process. Code that runs in workerd
 * cannot be switched from mutant to mutant, so its mutants are the ones of test/mutants, which are made by hand.
 */
import { globSync, readFileSync } from "node:fs";
import { Stryker } from "@stryker-mutator/core";
import { testsNear } from "../near.ts";
import { ROOT } from "../tools.ts";
import { ROOMS, type Room } from "./rooms.ts";

/** Modules that start a process or bundle the room, so that a mutant in this process would not be noticed. */
const OTHER_PROCESSES = ["test/cli/run.ts", "test/cli/pty.ts", "test/node/child.ts", "src/node/check-config.ts"];
/** The module that starts workerd. Tests of the client use it only for servers, and run the client in this process. */
const WORKERD = "test/harness/workerd.ts";

/** The maximum number of test files for a room, nearest first. More distant ones test programs of which the room is a small part. */
const TESTS_MAX = 40;

/** A mutant that no test has noticed. */
export interface Survivor {
  /** The file and the first line of the mutant. */
  readonly place: string;
  readonly mutator: string;
  readonly original: string;
  readonly replacement: string;
}

/** The mutants of a room, and how many of them the tests have noticed. */
export interface RoomScore {
  readonly tests: number;
  readonly mutants: number;
  readonly noticed: number;
  readonly survivors: readonly Survivor[];
}

/** Runs the tests of a room for each of its mutants. */
export async function mutateRoom(room: Room, atOnce: number): Promise<RoomScore> {
  const tests = testsOf(room);
  process.env.MUTATE_TESTS = tests.join(",");
  const stryker = new Stryker({
    testRunner: "vitest",
    mutate: [ROOMS[room]],
    // Texts that people read are no logic, and tests look for their key words only.
    mutator: { excludedMutations: ["StringLiteral"] },
    coverageAnalysis: "perTest",
    ignoreStatic: true,
    concurrency: atOnce,
    timeoutMS: 20_000,
    // Stryker reads this file with an interface that TypeScript 7 no longer has, so it gets none.
    tsconfigFile: "none.json",
    tempDirName: ".wrangler/stryker",
    ignorePatterns: ["/dist", "/templates", "/bench", ".wrangler"],
    reporters: ["progress-append-only"],
    vitest: { configFile: "scripts/mutate/vitest.config.ts", related: false },
  });
  const results = (await stryker.runMutationTest()).filter(({ status }) =>
    /Killed|Timeout|Survived|NoCoverage/.test(status),
  );
  const survivors = results.filter(({ status }) => status === "Survived" || status === "NoCoverage");
  return {
    tests: tests.length,
    mutants: results.length,
    noticed: results.length - survivors.length,
    survivors: survivors.map(({ fileName, location, mutatorName, replacement }) => ({
      place: `${fileName.replace(ROOT, "")}:${location.start.line}`,
      mutator: mutatorName,
      original: textAt(fileName, location),
      replacement: shortened(replacement ?? ""),
    })),
  };
}

/** Returns the tests that reach the room, without those that start it where mutants cannot be switched on. */
function testsOf(room: Room): readonly string[] {
  const isClient = ROOMS[room].startsWith("src/client/");
  const elsewhere = new Set(testsNear(ROOT, isClient ? OTHER_PROCESSES : [...OTHER_PROCESSES, WORKERD]).near);
  return testsNear(ROOT, globSync(ROOMS[room], { cwd: ROOT }))
    .near.filter((test) => !elsewhere.has(test))
    .slice(0, TESTS_MAX);
}

interface Location {
  readonly start: { readonly line: number; readonly column: number };
  readonly end: { readonly line: number; readonly column: number };
}

function textAt(file: string, { start, end }: Location): string {
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .slice(start.line - 1, end.line);
  const last = lines.length - 1;
  lines[last] = (lines[last] ?? "").slice(0, end.column - 1);
  lines[0] = (lines[0] ?? "").slice(start.column - 1);
  return shortened(lines.join("\n"));
}

/** Returns the text in one line of at most 90 characters. */
function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > 90 ? `${line.slice(0, 89)}…` : line;
}
