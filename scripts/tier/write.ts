/** Writes docs/tier.md from the results of the official suite. */
import type { Extra, Score } from "./assess.ts";
import { RUNTIMES } from "./assess.ts";

/** A condition of tier 1 besides the scenarios. */
export interface Condition {
  readonly text: string;
  readonly isMet: boolean;
  /** The evidence for the condition, or what is missing. */
  readonly shownBy: string;
}

/** The data of the report. */
export interface Report {
  readonly date: string;
  readonly scores: readonly Score[];
  readonly extras: readonly Extra[];
  readonly conditions: readonly Condition[];
  /** The versions and hashes of what was run, by name. */
  readonly versions: Readonly<Record<string, string>>;
}

const INTRODUCTION = `The project that maintains the protocol rates SDKs with one run of its conformance suite. According to SEP-3405, a draft, tier 1 requires
that all required scenarios of the three newest versions are passed by server and client, a stable release, and a security policy. Until the
draft is accepted, the rating is made by people according to SEP-1730, which also looks at how fast issues are answered.

\`npm run tier\` runs the suite and writes this page. A scenario is clean if it has at least one success and neither a failure nor a warning,
and if the client exits with 0; the suite itself also accepts scenarios without a check, and warnings. The required scenarios are those of
the suite's requirement files. It has no such file for 2025-06-18, so all scenarios that it lists for that version count as required.`;

const NODE = `On Node, the server runs without Durable Objects: \`serveHttp(edge(server, { use: [replay()] }))\`. Sessions require them, so scenarios
of the older versions in which the server sends something to the client by itself cannot pass there. The rating is that of workerd.`;

/** Returns the page as Markdown. */
export function writeReport({ date, scores, extras, conditions, versions }: Report): string {
  const missing = scores.flatMap(({ missing, leg, runtime, version }) =>
    missing.map((name) => `| ${name.replace(" (", " | ").replace(/\)$/, "")} | ${leg} | ${version} | ${runtime} |`),
  );
  const isTier1 = conditions.every(({ isMet }) => isMet);
  return `# Tier

${INTRODUCTION}

Written on ${date}: **${isTier1 ? "all conditions of tier 1 are met" : "not all conditions of tier 1 are met yet"}**.

| condition | met | shown by |
| --- | --- | --- |
${conditions.map(({ text, isMet, shownBy }) => `| ${text} | ${isMet ? "yes" : "no"} | ${shownBy} |`).join("\n")}

## Required scenarios

Clean scenarios of all required scenarios:

| version | leg | ${RUNTIMES.map((runtime) => `on ${runtime}`).join(" | ")} |
| --- | --- | ${RUNTIMES.map(() => "---").join(" | ")} |
${scoreRows(scores).join("\n")}

${NODE}

${missing.length === 0 ? "Every required scenario is clean." : `Required scenarios that are not clean, with their successes, failures and warnings:\n\n| scenario | checks | leg | version | runtime |\n| --- | --- | --- | --- | --- |\n${missing.join("\n")}`}

## Scenarios that are not required

Every other scenario of the suite, in each version for which the suite lists it, with its successes, failures and warnings. The scenarios of
extensions belong to no version. With 0/0/0, the suite has skipped all checks of the scenario.

| scenario | leg | version | why it is not required | on workerd | on Node |
| --- | --- | --- | --- | --- | --- |
${extras.map((extra) => `| ${extra.name} | ${extra.leg} | ${extra.version} | ${extra.reason} | ${extra.results.workerd} | ${extra.results.Node} |`).join("\n")}

## Versions

| | |
| --- | --- |
${Object.entries(versions)
  .map(([name, value]) => `| ${name} | ${value} |`)
  .join("\n")}
`;
}

function scoreRows(scores: readonly Score[]): string[] {
  const rows = new Map<string, string[]>();
  for (const { version, leg, required, missing } of scores) {
    const row = rows.get(`${version} | ${leg}`) ?? [];
    rows.set(`${version} | ${leg}`, [...row, `${required - missing.length} of ${required}`]);
  }
  return [...rows].map(([name, cells]) => `| ${name} | ${cells.join(" | ")} |`);
}
