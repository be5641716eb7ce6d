/**
 * `mcp-edge skills --install`: copies the skill of this package, which explains mcp-edge to coding agents, into the folder in which a
 * coding agent looks for skills.
 *
 * @module
 */
import { join } from "node:path";
import { readSkills } from "../../../node/index.ts";
import type { ServedSkill } from "../../../skills/index.ts";
import { Exit, usageError } from "../../exit.ts";
import { readBytes, writeProjectFile } from "../../files/files.ts";
import { createTerminal, oneLine } from "../../terminal/terminal.ts";

/** The skills of this package. The path is the same from src/ and from dist/. */
const FOLDER = join(import.meta.dirname, "../../../../skills");
/** The folder of Claude Code in a project. */
const DEFAULT_TARGET = ".claude/skills";
/** Marks a skill that this command has written, so that it can be replaced by a newer version. */
const MARK = "  package: mcp-edge\n";

/** Copies the skills and returns the exit code. */
export function installSkills(target: string | true): number {
  const folder = target === true ? DEFAULT_TARGET : target;
  const skills = readSkills(FOLDER);
  for (const { path } of skills) checkOwn(join(folder, path, "SKILL.md"));
  for (const skill of skills) {
    const changed = copySkill(skill, folder);
    const place = join(folder, skill.path);
    const outcome = changed === 0 ? "unchanged" : `${changed} of ${skill.files.length} files written`;
    createTerminal().note(oneLine(`${place}: ${outcome}`, 1_000));
  }
  return Exit.ok;
}

/** @throws {CliError} if the file is another skill. */
function checkOwn(file: string): void {
  const before = readBytes(file)?.toString();
  if (before === undefined || before.includes(MARK)) return;
  throw usageError(`${file} exists and was not written by this command. Choose another folder, or remove it.`);
}

/** Writes the files that have changed, and returns their number. */
function copySkill({ path, files }: ServedSkill, folder: string): number {
  let changed = 0;
  for (const { path: name, text, base64 } of files) {
    const content = text === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(text);
    const file = join(folder, path, name);
    if (readBytes(file)?.equals(content)) continue;
    writeProjectFile(file, content, { makesFolders: true });
    changed += 1;
  }
  return changed;
}
