/**
 * `mcp-edge doctor`: connects to a server as well-known hosts do, and prints the first step that breaks for each host.
 *
 * @module
 */
import { isLoopback } from "../../../http/origin.ts";
import { Exit, usageError } from "../../exit.ts";
import type { HostName } from "../../host-profiles/profile.ts";
import { PROFILES } from "../../host-profiles/profiles.ts";
import { checkCredentials, keepCredentials, openTarget, readHeaders } from "../../server/open-target.ts";
import type { ServerAddress } from "../../server/server-address.ts";
import { findName, readTarget } from "../../server/target.ts";
import { keepSecret, redactArguments } from "../../terminal/redact.ts";
import { printJson } from "../../terminal/show.ts";
import { listenForSignals } from "../../terminal/signals.ts";
import { createTerminal, type Terminal } from "../../terminal/terminal.ts";
import { CLOUD_HOSTS, isPublicUrl } from "./address.ts";
import { Diagnosis, STEPS } from "./diagnosis.ts";
import { checkHttp } from "./http.ts";
import type { DoctorOptions } from "./options.ts";
import { checkProcess } from "./process.ts";
import { checkProject } from "./project.ts";
import { breaksApart, listOutcomes, printReport, toJsonFinding } from "./report.ts";
import { Steps } from "./steps.ts";

/** The time limit of each request, in milliseconds, unless the user sets another limit. */
const TIMEOUT_MS = 15_000;

type HttpAddress = Extract<ServerAddress, { kind: "http" }>;

/** The time limit of the whole command, in milliseconds. */
const LIMIT_MS = 180_000;

/** Runs the command and returns its exit code. @param limitMs The time limit of all checks together, in milliseconds. */
export async function diagnoseServer(server: string, options: DoctorOptions, limitMs = LIMIT_MS): Promise<number> {
  const terminal = createTerminal();
  const target = await readTarget(server, options);
  checkCredentials(target, options.header);
  const diagnosis = new Diagnosis(options.host);
  const interruption = listenForSignals();
  const deadline = AbortSignal.timeout(limitMs);
  const signal = AbortSignal.any([interruption.signal, deadline]);
  try {
    if (target.kind === "http") await diagnoseUrl(target, options, diagnosis, terminal, signal);
    else {
      const limited = { ...options, timeout: options.timeout ?? TIMEOUT_MS };
      const opened = await openTarget(target, limited, terminal, { signal, mayAsk: false });
      await checkProcess(opened, options.call, diagnosis, signal);
    }
    // Only a recognized server is known to come from a project with mcp-edge.
    if (target.kind === "http" && diagnosis.isOurs) {
      const steps = new Steps(diagnosis, signal, () => undefined);
      await steps.run("project", () => checkProject(process.cwd(), diagnosis));
    }
  } catch (error) {
    if (interruption.signal.aborted || !deadline.aborted) throw error;
    addTimeOver(limitMs, diagnosis);
  } finally {
    terminal.status(undefined);
    interruption.stop();
  }
  const outcomes = listOutcomes(diagnosis, reachableBy(target));
  const { findings, toolsSize } = diagnosis;
  if (options.json) {
    const size = toolsSize === undefined ? {} : { toolsSize };
    const usesMcpEdge = diagnosis.isOurs;
    printJson(terminal, {
      server: target.kind === "http" ? findName(target) : redactArguments([target.command, ...target.args]).join(" "),
      usesMcpEdge,
      hosts: outcomes,
      findings: findings.map(toJsonFinding),
      ...size,
    });
  } else printReport(diagnosis, outcomes, terminal);
  const isBroken = outcomes.some(({ outcome }) => outcome === "breaks") || findings.some(breaksApart);
  return isBroken ? Exit.serverError : Exit.ok;
}

async function diagnoseUrl(
  { url, headers: configured }: HttpAddress,
  options: DoctorOptions,
  diagnosis: Diagnosis,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  const given = { ...configured, ...readHeaders(options.header) };
  const token = readToken(given) ?? (await findToken(url, given));
  const headers = token === undefined || readToken(given) ? given : { ...given, Authorization: `Bearer ${token}` };
  for (const value of Object.values(headers)) keepCredentials(value);
  if (token !== undefined) keepSecret(token);
  checkHeaders(headers);
  const line = { url, headers, signal, timeoutMs: options.timeout ?? TIMEOUT_MS };
  const onStep = (step: string) => terminal.status(`checking: ${step}`);
  await checkHttp(line, { token, origin: options.origin, call: options.call, onStep }, diagnosis);
}

/** @throws {CliError} if a value cannot be sent. The message does not contain it, because it may be a secret. */
function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers({ [name]: value });
    } catch {
      throw usageError(`The value of the header ${name} has characters that HTTP does not allow.`);
    }
  }
}

/** Returns the bearer token in headers. */
function readToken(headers: Readonly<Record<string, string>>): string | undefined {
  const [, value] = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization") ?? [];
  return /^(?:Bearer|DPoP)\s+(\S+)$/i.exec(value ?? "")?.[1];
}

/** Returns the token of an earlier sign-in of the user, unless the user gives other credentials. */
async function findToken(url: string, headers: Readonly<Record<string, string>>): Promise<string | undefined> {
  const { protocol, hostname } = new URL(url);
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  if (isGiven || (protocol !== "https:" && !isLoopback(hostname))) return undefined;
  const { findStoredToken } = await import("../../server/sign-in.ts");
  return findStoredToken(url);
}

/** Adds that the time of the command is over, and what was not checked. */
function addTimeOver(limitMs: number, diagnosis: Diagnosis): void {
  const { reached, severityOfGap } = diagnosis;
  const left = STEPS.slice(STEPS.indexOf(reached) + 1).join(", ");
  diagnosis.add({
    id: "time-over",
    step: reached,
    severity: severityOfGap,
    fault: "network",
    what: `The checks were stopped after ${limitMs / 1_000} s at the step ${reached}${left === "" ? "" : `. Not checked: ${left}`}.`,
    fix: "Find out why the server responds slowly, or set a shorter limit for each request with --timeout.",
  });
}

/** Returns a function that says which hosts can reach a server. */
function reachableBy(target: ServerAddress): (host: HostName) => boolean {
  if (target.kind === "http") {
    const isPublic = isPublicUrl(new URL(target.url));
    return (host) => isPublic || !CLOUD_HOSTS.includes(host);
  }
  return (host) => PROFILES.some(({ name, startsProcesses }) => name === host && startsProcesses);
}
