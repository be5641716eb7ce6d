/**
 * `mcp-edge lock`: writes the contract of a server to a file, and lists how a server has changed before it replaces one.
 *
 * @module
 */
import { compareContracts } from "../../../lock/compare.ts";
import { formatContract } from "../../../lock/contract.ts";
import { CliError, Exit } from "../../exit.ts";
import { readText, writeProjectFile } from "../../files/files.ts";
import { noHandlers, withClient } from "../../server/connection.ts";
import { asWritten } from "../../server/target.ts";
import { counted, oneLine } from "../../terminal/terminal.ts";
import { printChanges } from "./changes.ts";
import { readLockFile } from "./lock-file.ts";
import type { LockCommandOptions } from "./options.ts";
import { readServerContract } from "./server-contract.ts";

/** Runs the command and returns its exit code. */
export async function lockServer(server: string, options: LockCommandOptions): Promise<number> {
  const { out, update = false } = options;
  const before = readLockFile(out);
  return withClient(server, options, noHandlers, async (session) => {
    const { terminal } = session;
    const after = await readServerContract(session, options);
    const changes = before ? compareContracts(before, after) : [];
    if (changes.length > 0) printChanges(changes, terminal);
    if (changes.length > 0 && !update) {
      const command = `mcp-edge lock ${oneLine(asWritten(server))} --update`;
      throw new CliError(Exit.usage, `${out} differs from the server and was not changed. To accept this: ${command}`);
    }
    const text = formatContract(after);
    const isNew = readText(out) !== text;
    if (isNew) writeProjectFile(out, text);
    const contents = `${counted(after.tools.length, "tool")}, ${counted(after.prompts.length, "prompt")}, ${counted(after.resources.length, "resource")}, ${counted(after.resourceTemplates.length, "template")}`;
    terminal.note(`${out}: ${contents}${isNew ? "" : " (unchanged)"}`);
    return Exit.ok;
  });
}
