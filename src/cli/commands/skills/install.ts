/**
 * `mcp-edge skills --install`: copies the skill of this package, which explains mcp-edge to coding agents, into the folder in which a
 * coding agent looks for skills.
 *
 * @module
 */
import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { readSkills } from "../../../node/index.ts";
import type { ServedSkill } from "../../../skills/index.ts";
import { type CliError, Exit, usageError } from "../../exit.ts";
import { readBytes, writeProjectFile } from "../../files/files.ts";
import { createTerminal, oneLine } from "../../terminal/terminal.ts";

/** The skills of this package. The path is the same from src/ and from dist/. */
const FOLDER = join(import.meta.dirname, "../../../../skills");
/** The folder of Claude Code in a project. */
const DEFAULT_TARGET = ".claude/skills";
/** Marks a skill that this command has written, so that it can be replaced by a newer version. */
const MARK = /^ {2}package: mcp-edge\r?$/m;

/** Copies the skills and returns the exit code. */
export function installSkills(target: string | true): number {
  const folder = target === true ? DEFAULT_TARGET : target;
  const skills = readSkills(FOLDER);
  for (const skill of skills) checkOwn(skill, folder);
  for (const skill of skills) {
    const changed = copySkill(skill, folder);
    const place = join(folder, skill.path);
    const outcome = changed === 0 ? "unchanged" : `${changed} of ${skill.files.length} files written`;
    createTerminal().note(oneLine(`${place}: ${outcome}`, 1_000));
  }
  return Exit.ok;
}

/** @throws {CliError} if a file of the user would be replaced. Then no file has been written. */
function checkOwn({ path, files }: ServedSkill, folder: string): void {
  const manifest = join(folder, path, "SKILL.md");
  const before = readBytes(manifest)?.toString();
  if (before !== undefined && !MARK.test(before)) throw notOwn(manifest);
  for (const file of files) {
    checkLinks(join(folder, path), file.path);
    const place = join(folder, path, file.path);
    const content = before === undefined ? readBytes(place) : undefined;
    if (content?.equals(contentOf(file)) === false) throw notOwn(place);
  }
}

function notOwn(file: string): CliError {
  return usageError(`${file} exists and was not written by this command. Choose another folder, or remove it.`);
}

/**
 * A link in a skill could lead to any file of the project. The folder of the skill itself may be a link, because several agents can share it.
 *
 * @throws {CliError} if the file, or a folder between it and the folder of the skill, is a link.
 */
function checkLinks(skill: string, file: string): void {
  for (let path = file; path !== "."; path = dirname(path)) {
    if (!lstatSync(join(skill, path), { throwIfNoEntry: false })?.isSymbolicLink()) continue;
    throw usageError(`${join(skill, path)} is a link. Nothing was changed. Remove it first.`);
  }
}

function contentOf({ text, base64 = "" }: ServedSkill["files"][number]): Buffer {
  return text === undefined ? Buffer.from(base64, "base64") : Buffer.from(text);
}

/** Writes the files that have changed, and returns their number. */
function copySkill({ path, files }: ServedSkill, folder: string): number {
  let changed = 0;
  for (const file of files) {
    const content = contentOf(file);
    const place = join(folder, path, file.path);
    if (readBytes(place)?.equals(content)) continue;
    writeProjectFile(place, content, { makesFolders: true });
    changed += 1;
  }
  return changed;
}
