/**
 * Creates the folder of a project. It is built beside its place under another name and renamed at the end, so that it is
 * complete when it appears, and an interruption leaves nothing.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { usageError } from "../../exit.ts";
import { fillIn, type ProjectManifest } from "./fill-in.ts";
import type { Template } from "./templates.ts";

/**
 * Checks that a project can be created in a folder: it does not exist yet, or is empty.
 *
 * @throws {CliError} if it has content, or is a file.
 */
export function checkFree(folder: string): void {
  if (!existsSync(folder)) return;
  let content: readonly string[];
  try {
    content = readdirSync(folder);
  } catch {
    throw usageError(`${folder} exists and is not a folder. Choose another name.`);
  }
  if (content.length > 0)
    throw usageError(`${folder} exists and is not empty. Choose another name; nothing was changed.`);
}

/**
 * Creates a project.
 *
 * @param prepare Runs in the folder that is being built, before it gets its name.
 * @throws whatever `prepare` throws; nothing is left of the project then.
 */
export async function createFolder(
  folder: string,
  template: Template,
  manifest: ProjectManifest,
  prepare: (building: string) => Promise<void>,
): Promise<void> {
  checkFree(folder);
  // The folder of a temporary file would be readable by its owner only.
  const building = join(dirname(folder), `.${manifest.name}-${randomBytes(6).toString("hex")}`);
  mkdirSync(building, { recursive: true });
  try {
    writeProject(building, template, manifest);
    await prepare(building);
    checkFree(folder);
    // A folder can be renamed to an empty one on some systems only.
    if (existsSync(folder)) rmdirSync(folder);
    renameSync(building, folder);
  } catch (error) {
    rmSync(building, { recursive: true, force: true, maxRetries: 5 });
    throw error;
  }
}

function writeProject(target: string, template: Template, manifest: ProjectManifest): void {
  const entries = readdirSync(template.folder, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    const source = join(entry.parentPath, entry.name);
    const file = source.slice(template.folder.length + 1).replaceAll("\\", "/");
    const path = join(target, file.replace(/(^|\/)_gitignore$/, "$1.gitignore"));
    mkdirSync(dirname(path), { recursive: true });
    const bytes = readFileSync(source);
    const text = bytes.toString();
    // A file that is not text, such as an image, is copied as it is.
    const isText = Buffer.from(text).equals(bytes);
    writeFileSync(path, isText ? fillIn(file, text, template.name, manifest) : bytes);
  }
}
