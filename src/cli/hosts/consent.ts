/**
 * Consent to servers of a project's files. Such a file may come from a stranger: its commands run on this machine, and
 * its addresses get the variables that it names.
 *
 * @module
 */
import { usageError } from "../exit.ts";
import type { ServerAddress } from "../server/server-address.ts";
import { redactArguments, redactUrl, SECRET_LENGTH_MIN } from "../terminal/redact.ts";
import { oneLine, type Terminal } from "../terminal/terminal.ts";
import type { HostServer } from "./configured.ts";

/** Describes how a server is reached, without secrets. Values of the environment and of headers are left out. */
export function describe(target: ServerAddress, max = 200): string {
  if (target.kind === "http") return oneLine(redactUrl(target.url), max);
  return oneLine([target.command, ...redactArguments(target.args)].join(" "), max);
}

/**
 * The maximum number of characters of a command that the user is asked about, since what is not shown would run unseen.
 */
const USE_CHARS_MAX = 4_000;

/**
 * Describes what using a server means: where it is, the variables of the user that it gets, and those that the file
 * sets for it. Some of them, such as NODE_OPTIONS, make a harmless command run something else.
 */
export function describeUse({ name, written, variables }: HostServer): string {
  const sets = written?.kind === "stdio" ? Object.keys(written.env ?? {}) : [];
  const facts = [
    ...(variables.length === 0 ? [] : [`gets the variables ${listed(variables)}`]),
    ...(sets.length === 0 ? [] : [`sets the variables ${listed(sets)}`]),
    ...(written?.kind === "stdio" && written.cwd !== undefined ? [`runs in ${oneLine(written.cwd, 200)}`] : []),
  ];
  const more = facts.length === 0 ? "" : ` (${facts.join("; ")})`;
  return `  ${oneLine(name)}: ${written ? describe(written, USE_CHARS_MAX) : "unknown"}${more}`;
}

function listed(names: readonly string[]): string {
  return oneLine(names.join(", "), 1_000);
}

/** Returns a text with the names of the variables in place of their values, which may be secrets. */
export function withoutValues(
  text: string,
  { variables }: HostServer,
  env: Readonly<Record<string, string | undefined>>,
): string {
  return variables.reduce((before, name) => {
    const value = env[name] ?? "";
    if (value.length < SECRET_LENGTH_MIN) return before;
    return before.replaceAll(value, `$\{${name}}`).replaceAll(encodeURIComponent(value), `$\{${name}}`);
  }, text);
}

/** Shows servers of a project's files, and asks whether to use them. */
export async function askConsent(
  servers: readonly HostServer[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<boolean> {
  for (const server of servers) terminal.note(describeUse(server));
  const { askYesNo } = await import("../terminal/ask.ts");
  const what = servers.length === 1 ? "This server comes from a file" : "These servers come from files";
  return askYesNo(`${what} of this project. Use ${servers.length === 1 ? "it" : "them"}?`, signal);
}

/** The error for a server that nobody can be asked about. */
export function consentMissing(server: HostServer): Error {
  return usageError(
    `The server ${JSON.stringify(server.name)} comes from a file of this project, and there is no terminal to ask in. Add --yes to use it:\n${describeUse(server)}`,
  );
}
