/**
 * `mcp-edge lock`: writes the contract of a server to a file, and lists how a server has changed before it replaces one.
 *
 * @module
 */
import { compareContracts } from "../../../lock/compare.ts";
import { type Contract, formatContract } from "../../../lock/contract.ts";
import { parseContract } from "../../../lock/parse-contract.ts";
import { FILE_BYTES_MAX } from "../../../node/plain-file.ts";
import { CliError, Exit } from "../../exit.ts";
import { noHandlers, withClient } from "../../server/connection.ts";
import { containsGiven } from "../../terminal/redact.ts";
import { counted, oneLine, type Terminal } from "../../terminal/terminal.ts";
import { printChanges } from "./changes.ts";
import { explainLost, readLockFile, writeLockFile } from "./lock-file.ts";
import type { LockCommandOptions } from "./options.ts";
import { readServerContract } from "./server-contract.ts";

/** Runs the command and returns its exit code. */
export async function lockServer(server: string, options: LockCommandOptions): Promise<number> {
  const { out, update = false } = options;
  const before = readLockFile(out);
  return withClient(server, options, noHandlers, async (session) => {
    const { terminal } = session;
    const after = await readServerContract(session, options);
    const changes = before ? compareContracts(before.contract, after) : [];
    if (changes.length > 0) printChanges(changes, terminal);
    if (changes.length > 0 && !update) {
      const text = `${out} differs from the server and was not changed. To accept this, run the same command again with --update.`;
      throw new CliError(Exit.usage, text);
    }
    const text = formatContract(after);
    checkText(text, out);
    warnOfTwins(after, terminal);
    const isNew = before?.text !== text;
    if (isNew) writeLockFile(out, text, before);
    const contents = `${counted(after.tools.length, "tool")}, ${counted(after.prompts.length, "prompt")}, ${counted(after.resources.length, "resource")}, ${counted(after.resourceTemplates.length, "template")}`;
    terminal.note(`${out}: ${contents}${isNew ? "" : " (unchanged)"}`);
    return Exit.ok;
  }).catch((error: unknown) => {
    throw explainLost(error, `${out} was not written.`);
  });
}

/** The minimum length of a secret that the file must not contain, in characters. Shorter ones are found in ordinary words. */
const SECRET_LENGTH_MIN = 8;

/** Refuses a text that `check --lock` would not read, or that contains a secret from the command line. */
function checkText(text: string, out: string): void {
  const refuse = (reason: string) => new CliError(Exit.serverError, `${out} was not written: ${reason}`);
  if (containsGiven(text, SECRET_LENGTH_MIN))
    throw refuse("the server repeats a secret of this command in its definitions, and the file is meant to be shared.");
  if (Buffer.byteLength(text) > FILE_BYTES_MAX)
    throw refuse(`it would have more than ${FILE_BYTES_MAX} bytes, and check --lock does not read larger files.`);
  const { problem } = parseContract(JSON.parse(text));
  if (problem !== undefined) throw refuse(problem);
}

/** Warns of names that the server lists more than once. */
function warnOfTwins({ tools, prompts, resources, resourceTemplates }: Contract, terminal: Terminal): void {
  const names = [
    ...tools.map(({ name }) => `tool ${name}`),
    ...prompts.map(({ name }) => `prompt ${name}`),
    ...resources.map(({ uri }) => `resource ${uri}`),
    ...resourceTemplates.map(({ uriTemplate }) => `template ${uriTemplate}`),
  ];
  const seen = new Set<string>();
  const twins = new Set(names.filter((name) => seen.has(name) || !seen.add(name)));
  for (const name of [...twins].slice(0, TWINS_SHOWN_MAX)) {
    terminal.note(terminal.err.yellow(`Warning: the server lists ${oneLine(name)} more than once.`));
  }
}

/** The maximum number of warnings about names that are listed more than once. */
const TWINS_SHOWN_MAX = 20;
