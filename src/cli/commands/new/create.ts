/**
 * Creates the folder of a project. It is built in a temporary folder beside the final one and renamed at the end, so that it is
 * complete when it appears, and an interruption leaves nothing behind.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { renameWhenFreeSync } from "../../../node/plain-file.ts";
import { usageError } from "../../exit.ts";
import { fillIn, type ProjectManifest } from "./fill-in.ts";
import type { Template } from "./templates.ts";

/**
 * Checks that a project can be created in a folder: that it does not exist or is empty.
 *
 * @throws {CliError} if it is not empty, or is a file.
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
 * @param prepare Called with the temporary folder before it is renamed.
 * @throws any error of `prepare`, after removing the temporary folder.
 */
export async function createFolder(
  folder: string,
  template: Template,
  manifest: ProjectManifest,
  prepare: (building: string) => Promise<void>,
): Promise<void> {
  checkFree(folder);
  // mkdtemp would create a folder that only its owner can read.
  const building = join(dirname(folder), `.${manifest.name}-${randomBytes(6).toString("hex")}`);
  mkdirSync(building, { recursive: true });
  try {
    writeProject(building, template, manifest);
    await prepare(building);
    checkFree(folder);
    // Not every operating system can rename a folder to the name of an empty folder.
    if (existsSync(folder)) rmdirSync(folder);
    renameWhenFreeSync(building, folder);
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
    // A file that is not text, such as an image, is copied unchanged.
    const isText = Buffer.from(text).equals(bytes);
    writeFileSync(path, isText ? fillIn(file, text, template.name, manifest) : bytes);
  }
}
