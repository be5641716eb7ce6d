/**
 * The user's consent to servers from a project's files. Such a file is untrusted: its commands would run on this machine, and its
 * URLs would receive the environment variables that it names.
 *
 * @module
 */
import { usageError } from "../exit.ts";
import type { ServerAddress } from "../server/server-address.ts";
import { redactArguments, redactUrl, SECRET_LENGTH_MIN } from "../terminal/redact.ts";
import { oneLine, type Terminal } from "../terminal/terminal.ts";
import type { HostServer } from "./configured.ts";

/** Describes how to reach a server, with secrets redacted. Values of environment variables and headers are left out. */
export function describe(target: ServerAddress, max = 200): string {
  if (target.kind === "http") return oneLine(redactUrl(target.url), max);
  return oneLine([target.command, ...redactArguments(target.args)].join(" "), max);
}

/**
 * The maximum number of characters of a command shown to the user for consent. It is large, because the rest would run unseen.
 */
const USE_CHARS_MAX = 4_000;

/**
 * Describes the consequences of using a server: how it is reached, which of the user's environment variables it receives, and which
 * variables the file sets for it. Some of the latter, such as NODE_OPTIONS, can make a harmless command run other code.
 */
export function describeUse({ name, written, variables }: HostServer): string {
  const sets = written?.kind === "stdio" ? Object.keys(written.env ?? {}) : [];
  const facts = [
    ...(variables.length === 0 ? [] : [`receives the variables ${listed(variables)}`]),
    ...(sets.length === 0 ? [] : [`sets the variables ${listed(sets)}`]),
    ...(written?.kind === "stdio" && written.cwd !== undefined ? [`runs in ${oneLine(written.cwd, 200)}`] : []),
  ];
  const more = facts.length === 0 ? "" : ` (${facts.join("; ")})`;
  return `  ${oneLine(name)}: ${written ? describe(written, USE_CHARS_MAX) : "unknown"}${more}`;
}

function listed(names: readonly string[]): string {
  return oneLine(names.join(", "), 1_000);
}

/** Replaces the values of variables, which may be secrets, with their names. */
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

/** Shows servers from a project's files, and asks the user whether to use them. */
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

/** Returns the error for a server that needs consent when there is no terminal to ask in. */
export function consentMissing(server: HostServer): Error {
  return usageError(
    `The server ${JSON.stringify(server.name)} comes from a file of this project, and there is no terminal to ask in. Add --yes to use it:\n${describeUse(server)}`,
  );
}
