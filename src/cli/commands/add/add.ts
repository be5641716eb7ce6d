/**
 * `mcp-edge add`: shows the changes that add a part, asks for confirmation, and makes them.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { CliError, Exit, usageError } from "../../exit.ts";
import { checkProjectFile, readBytes, writeProjectFile } from "../../files/files.ts";
import { listenForSignals } from "../../terminal/signals.ts";
import { createTerminal } from "../../terminal/terminal.ts";
import { diffLines } from "./diff.ts";
import type { AddOptions, PARTS } from "./options.ts";
import { ADDITIONS } from "./parts.ts";
import { type Change, readProject } from "./project.ts";

/** Runs the command and returns its exit code. */
export async function addPart(part: (typeof PARTS)[number], options: AddOptions): Promise<number> {
  const { changes, next } = ADDITIONS[part](readProject(process.cwd()), options);
  return await applyChanges(changes, options, next);
}

/**
 * Shows changes, asks for confirmation unless the options say otherwise, and makes them. Returns the exit code.
 *
 * @param done The message after the changes were made.
 */
export async function applyChanges(
  changes: readonly Change[],
  options: Pick<AddOptions, "print" | "yes">,
  next: readonly string[],
  done = "Added.",
): Promise<number> {
  const terminal = createTerminal();
  const real = changes.filter(({ before, after }) => before !== after).filter(isNeeded);
  for (const change of real) {
    const lines = change.isBrief === true ? ` (${change.after.split("\n").length - 1} lines)` : "";
    terminal.note(terminal.err.bold(`${change.before === "" ? "new " : ""}${change.path}${lines}`));
    if (change.isBrief !== true) terminal.note(diffLines(change.before, change.after, terminal.err));
  }
  if (options.print) return Exit.ok;
  if (real.length === 0) {
    terminal.note("Nothing has changed.");
    return Exit.ok;
  }
  for (const { path } of real) checkProjectFile(path);
  if (!options.yes) await agree(terminal.canAsk);
  checkUnchanged(real);
  for (const { path, after } of real) {
    const hasCrLf = readBytes(path)?.includes("\r\n") === true;
    writeProjectFile(path, hasCrLf ? after.replaceAll("\n", "\r\n") : after, { makesFolders: true });
  }
  terminal.note(`\n${done} Next:\n${next.map((line) => `  ${line}`).join("\n")}`);
  return Exit.ok;
}

/**
 * Whether a change has to be made. A configuration file that already exists is left unchanged.
 *
 * @throws {CliError} if a file to create already exists.
 */
function isNeeded({ path, before, after }: Change): boolean {
  if (before !== "" || !existsSync(path)) return true;
  if (path.endsWith(".config.ts")) return false;
  const isSame = readBytes(path)?.toString() === after;
  throw usageError(`${path} already exists${isSame ? ": the part was added before" : ""}. Nothing was changed.`);
}

/** @throws {CliError} if a file was changed since it was read, for example in an editor while the user was asked. */
function checkUnchanged(changes: readonly Change[]): void {
  const now = (path: string) => (readBytes(path)?.toString() ?? "").replaceAll("\r\n", "\n");
  const changed = changes.find(({ path, before }) => now(path) !== before);
  if (changed === undefined) return;
  throw usageError(`${changed.path} was changed in the meantime. Nothing was written. Run the command again.`);
}

async function agree(canAsk: boolean): Promise<void> {
  if (!canAsk)
    throw usageError("There is no terminal to ask in. Add --yes to make the changes, or --print to only show them.");
  const interruption = listenForSignals();
  try {
    const { askYesNo } = await import("../../terminal/ask.ts");
    const isAgreed = await askYesNo("Make these changes?", interruption.signal, true);
    interruption.signal.throwIfAborted();
    if (!isAgreed) throw new CliError(Exit.cancelled, "Nothing was changed.");
  } finally {
    interruption.stop();
  }
}
