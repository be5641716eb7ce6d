/**
 * Computes the tier of this SDK from the official conformance suite, for server and client, on workerd and on Node, and writes
 * docs/tier.md. Takes about five minutes. Exits with 1 if a required scenario is not clean on workerd.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { extrasOf, type Outcome, RUNTIMES, type Score, scoresOf } from "./tier/assess.ts";
import { listScenarios, type RequirementSet, readRequirementSets } from "./tier/requirements.ts";
import { runClient, runServer } from "./tier/run.ts";
import { type Condition, writeReport } from "./tier/write.ts";
import { ROOT } from "./tools.ts";

const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const readJson = <Value>(file: string) => JSON.parse(read(file)) as Value;

const listed = listScenarios();
const sets = readRequirementSets(listed);
// The sources may change while the suite runs.
const versions = versionsOf(sets);
const outcomes: Outcome[] = [];
for (const runtime of RUNTIMES) {
  console.log(`the server on ${runtime}`);
  outcomes.push(...(await runServer(runtime, listed)));
  console.log(`the client on ${runtime}`);
  outcomes.push(...(await runClient(runtime)));
}
const scores = scoresOf(sets, outcomes);
const conditions = conditionsOf(scores);
writeFileSync(
  join(ROOT, "docs/tier.md"),
  writeReport({
    date: new Date().toISOString().slice(0, 10),
    scores,
    extras: extrasOf(sets, listed, outcomes),
    conditions,
    versions,
  }),
);
for (const { version, leg, runtime, required, missing } of scores) {
  console.log(`${version} ${leg} on ${runtime}: ${required - missing.length} of ${required} ${missing.join(", ")}`);
}
console.log("docs/tier.md was written.");
// An aborted request may still be open.
process.exit(scores.some(({ runtime, missing }) => runtime === "workerd" && missing.length > 0) ? 1 : 0);

function conditionsOf(scores: readonly Score[]): Condition[] {
  const scored = (["server", "client"] as const).map((leg) => {
    const ours = scores.filter((score) => score.leg === leg && score.runtime === "workerd");
    const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
    const required = sum(ours.map((score) => score.required));
    const clean = required - sum(ours.map(({ missing }) => missing.length));
    const text = `${leg}: all required scenarios of the three newest versions`;
    return { text, isMet: clean === required, shownBy: `${clean} of ${required} on workerd` };
  });
  const { version } = readJson<{ readonly version: string }>("package.json");
  const isStable = /^[1-9]\d*\.\d+\.\d+$/.test(version);
  const hasPolicy = existsSync(join(ROOT, "SECURITY.md"));
  return [
    ...scored,
    {
      text: "a stable release",
      isMet: isStable,
      shownBy: isStable ? `version ${version}, once it is published` : `not yet: the version is ${version}`,
    },
    {
      text: "a security policy",
      isMet: hasPolicy,
      shownBy: hasPolicy ? "[SECURITY.md](../SECURITY.md)" : "there is no SECURITY.md",
    },
  ];
}

/** The versions and hashes that someone needs to repeat the run. */
function versionsOf(sets: readonly RequirementSet[]): Record<string, string> {
  interface Lock {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity?: string }>>;
  }
  const { packages } = readJson<Lock>("package-lock.json");
  const suite = packages["node_modules/@modelcontextprotocol/conformance"];
  const files = sets.filter(({ sha256 }) => sha256 !== undefined);
  return {
    "mcp-edge": `${readJson<{ version: string }>("package.json").version}, tree of \`src\`: \`${treeOf("src")}\``,
    "@modelcontextprotocol/conformance": `${suite?.version}, \`${suite?.integrity}\``,
    ...Object.fromEntries(
      files.map(({ version, sha256 }) => [`requirements/${version}.yaml`, `SHA-256 \`${sha256}\``]),
    ),
    workerd: `${packages["node_modules/workerd"]?.version}`,
    Node: process.version,
  };
}

/** The hash that git gives a folder. A folder with changes that are not committed has none. */
function treeOf(folder: string): string {
  const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
  if (git("status", "--porcelain", folder) !== "") return "changed";
  return git("rev-parse", `HEAD:${folder}`);
}
