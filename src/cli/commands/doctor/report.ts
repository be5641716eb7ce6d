/**
 * Prints the findings of the doctor.
 *
 * @module
 */
import type { HostName } from "../../host-profiles/profile.ts";
import { PROFILES, titleOf } from "../../host-profiles/profiles.ts";
import { redactText, withoutGiven } from "../../terminal/redact.ts";
import { clean, counted, oneLine, type Paint, type Terminal } from "../../terminal/terminal.ts";
import type { Diagnosis, Finding, Severity } from "./diagnosis.ts";

/** The result for one host. */
export interface HostOutcome {
  readonly host: HostName;
  readonly title: string;
  /** `unreachable`: the address is not public, so the host was not checked. */
  readonly outcome: "works" | "signs-in" | "breaks" | "unreachable";
  /** The first step that breaks, and the finding that says why. */
  readonly step?: string;
  readonly finding?: string;
  /** The number of findings that degrade the host. */
  readonly degraded: number;
}

/** Returns the outcome for each chosen host. @param isReachable Whether a host can reach the server. */
export function listOutcomes(diagnosis: Diagnosis, isReachable: (host: HostName) => boolean): HostOutcome[] {
  const { findings } = diagnosis;
  return diagnosis.hosts.map((host) => {
    const own = findings.filter(({ hosts }) => hosts.includes(host));
    const first = own.find(({ severity }) => severity === "breaks");
    const degraded = own.filter(({ severity }) => severity === "degrades").length;
    const facts = { host, title: titleOf(host), degraded };
    if (!isReachable(host)) return { ...facts, outcome: "unreachable" };
    if (first) return { ...facts, outcome: "breaks", step: first.step, finding: first.id };
    return { ...facts, outcome: diagnosis.needsSignIn ? "signs-in" : "works" };
  });
}

/** Whether a finding breaks something other than a host: a web page, a call, or the configuration of the project. */
export function breaksApart({ severity, hosts }: Finding): boolean {
  return severity === "breaks" && hosts.length === 0;
}

/** The titles of findings that are not about hosts. */
const APART_TITLES = { origin: "Web page", call: "Call", project: "Project" } as const;

const PAINTS: Readonly<Record<Severity, (paint: Paint, text: string) => string>> = {
  breaks: (paint, text) => paint.red(text),
  degrades: (paint, text) => paint.yellow(text),
  note: (paint, text) => paint.dim(text),
};

/** Prints a line for each host, and then the findings. */
export function printReport(diagnosis: Diagnosis, outcomes: readonly HostOutcome[], terminal: Terminal): void {
  const { out } = terminal;
  const width = Math.max(...outcomes.map(({ title }) => title.length));
  for (const each of outcomes) terminal.print(`${each.title.padEnd(width)}  ${describe(each, out)}`);
  for (const [step, title] of Object.entries(APART_TITLES)) {
    const broken = diagnosis.findings.find((each) => each.step === step && breaksApart(each));
    if (broken) terminal.print(`${title.padEnd(width)}  ${out.red("✗")} ${broken.id}`);
  }
  if (diagnosis.toolsSize !== undefined) terminal.print(out.dim(`tools/list: ${diagnosis.toolsSize}`));
  const { findings } = diagnosis;
  for (const finding of findings) printFinding(finding, outcomes.length, terminal);
  if (findings.length > 0) return;
  const isUnchecked = outcomes.every(({ outcome }) => outcome === "unreachable");
  terminal.print(isUnchecked ? "No faults found, but none of these hosts was checked." : out.green("No faults found."));
}

function describe({ outcome, step, finding, degraded }: HostOutcome, out: Paint): string {
  const more = degraded > 0 ? out.yellow(`, with ${counted(degraded, "restriction")}`) : "";
  if (outcome === "breaks") return `${out.red("✗")} breaks at ${step}: ${finding}`;
  if (outcome === "unreachable") return out.dim("- needs a public https: address, so it was not checked");
  const text = outcome === "works" ? "works" : "reaches the sign-in; give a token with --header to check more";
  return `${out.green("✓")} ${text}${more}`;
}

function printFinding(finding: Finding, hostCount: number, { print, out }: Terminal): void {
  const { id, step, severity, fault, hosts, notKnown, what, fix, source } = finding;
  print("");
  print(`${PAINTS[severity](out, severity)} ${out.bold(id)} ${out.dim(`(${step}; fault of the ${fault})`)}`);
  print(`  ${shown(what)}`);
  for (const [index, text] of fix.split("\n").entries()) print(`  ${index === 0 ? "→ " : "    "}${shown(text)}`);
  const isAll = [0, hostCount, PROFILES.length].includes(hosts.length);
  if (!isAll) print(out.dim(`  Hosts: ${hosts.map(titleOf).join(", ")}`));
  if (notKnown) print(out.dim(`  Not known, and assumed from the specification: ${notKnown.map(titleOf).join(", ")}`));
  if (source) print(out.dim(`  Source: ${source.url} (${source.date})`));
}

/** The maximum number of characters of a text in which secrets are searched. What is printed is shorter. */
const SEARCHED_CHARS_MAX = 4_000;

/**
 * Texts contain parts of responses, so they are cleaned, cut and redacted. Registered secrets are redacted before text is cut, because a
 * part of one would not be recognised.
 */
function shown(text: string): string {
  const start = withoutGiven(clean(text)).slice(0, SEARCHED_CHARS_MAX);
  return oneLine(redactText(start), 1_000);
}

/** Returns what `--json` prints of a finding. */
export function toJsonFinding(finding: Finding): Finding {
  return { ...finding, what: shown(finding.what), fix: finding.fix.split("\n").map(shown).join("\n") };
}
