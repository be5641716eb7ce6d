/**
 * Consent to servers of a project's files. Such a file may come from a stranger: its commands run on this machine, and its
 * addresses get the variables that it names.
 *
 * @module
 */
import { usageError } from "../exit.ts";
import type { Target } from "../server/server-address.ts";
import { redactArguments, redactUrl, SECRET_LENGTH_MIN } from "../terminal/redact.ts";
import { oneLine, type Terminal } from "../terminal/terminal.ts";
import type { Configured } from "./configured.ts";

/** Describes how a server is reached, without secrets. Values of the environment and of headers are left out. */
export function describe(target: Target): string {
  if (target.kind === "http") return oneLine(redactUrl(target.url), 200);
  return oneLine([target.command, ...redactArguments(target.args)].join(" "), 200);
}

/** Describes what using a server means: where it is, and the variables that it gets. */
export function describeUse({ name, written, variables }: Configured): string {
  const gets = variables.length === 0 ? "" : ` (gets the variables ${oneLine(variables.join(", "), 200)})`;
  return `  ${oneLine(name)}: ${written ? describe(written) : "unknown"}${gets}`;
}

/** Returns a text with the names of the variables in place of their values, which may be secrets. */
export function withoutValues(
  text: string,
  { variables }: Configured,
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
  servers: readonly Configured[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<boolean> {
  for (const server of servers) terminal.note(describeUse(server));
  const { askYesNo } = await import("../terminal/ask.ts");
  const what = servers.length === 1 ? "This server comes from a file" : "These servers come from files";
  return askYesNo(`${what} of this project. Use ${servers.length === 1 ? "it" : "them"}?`, signal);
}

/** The error for a server that nobody can be asked about. */
export function consentMissing(server: Configured): Error {
  return usageError(
    `The server ${JSON.stringify(server.name)} comes from a file of this project, and there is no terminal to ask in. Add --yes to use it:\n${describeUse(server)}`,
  );
}
