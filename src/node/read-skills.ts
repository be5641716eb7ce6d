/**
 * Reads a folder of skills.
 *
 * @module
 * @see io.modelcontextprotocol/skills, "Skill Format"; https://agentskills.io/specification
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { describeProblem } from "../client/skills/entries.ts";
import { splitManifest } from "../client/skills/frontmatter.ts";
import { parseYaml } from "../client/skills/yaml.ts";
import { KitError } from "../core/protocol/errors.ts";
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import { type ServedSkill, type ServedSkillFile, toEntry } from "../skills/skill.ts";

/** The limits that every host must support. A host may refuse larger skills. @see io.modelcontextprotocol/skills, "Limits" */
const FILES_MAX = 512;
const BYTES_MAX = 16 * 1024 * 1024;

const MANIFEST = "SKILL.md";
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".md": "text/markdown",
  ".txt": "text/plain",
  ".csv": "text/csv",
  ".html": "text/html",
  ".css": "text/css",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".ts": "text/x-typescript",
  ".py": "text/x-python",
  ".sh": "application/x-sh",
  ".json": "application/json",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
  ".toml": "application/toml",
  ".xml": "application/xml",
  ".pdf": "application/pdf",
  ".zip": "application/zip",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

/**
 * Reads all skills in a folder, for `addSkills` in `mcp-edge/skills`. Each folder with a `SKILL.md` is a skill and includes all files
 * and folders in it; skills may be nested. Names that begin with a dot are ignored. A Worker cannot read files; there, use the
 * module that `mcp-edge skills` writes instead of this function.
 *
 * ```ts
 * import { readSkills, serveStdio } from "mcp-edge/node";
 * import { addSkills } from "mcp-edge/skills";
 *
 * addSkills(server, readSkills("skills"));
 * await serveStdio(server);
 * ```
 *
 * @param folder The folder that contains the folders of the skills.
 * @throws {KitError} `definition-invalid` naming the file and what is wrong: no skill in the folder, a `SKILL.md` without valid
 *   frontmatter, a name that differs from the folder's name, a symbolic link, or more than 512 files or 16 MiB in a skill.
 */
export function readSkills(folder: string): ServedSkill[] {
  const manifests = filesBelow(folder, "").filter((path) => path.endsWith(`/${MANIFEST}`));
  if (manifests.length === 0) throw invalid(folder, `no folder in it has a ${MANIFEST}`);
  return manifests.map((path) => readSkill(folder, path.slice(0, -MANIFEST.length - 1)));
}

function readSkill(folder: string, path: string): ServedSkill {
  const paths = filesBelow(join(folder, path), "");
  if (paths.length > FILES_MAX) throw invalid(join(folder, path), `it has more than ${FILES_MAX} files`);
  const files = paths.map((file) => readSkillFile(join(folder, path, file), file));
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes > BYTES_MAX) throw invalid(join(folder, path), `its files have more than ${BYTES_MAX / 1024 / 1024} MiB`);
  const manifest = join(folder, path, MANIFEST);
  // The next lines verify the frontmatter, which justifies the cast.
  const skill = { path, frontmatter: readFrontmatter(manifest) as ServedSkill["frontmatter"], files };
  const problem = describeProblem(toEntry(skill));
  if (problem !== undefined) throw invalid(manifest, problem);
  return skill;
}

function readFrontmatter(file: string): JsonObject {
  const manifest = splitManifest(readFileSync(file, "utf8"));
  if (!manifest) throw invalid(file, "it does not begin with frontmatter between two lines ---");
  try {
    return parseYaml(manifest.yaml);
  } catch (cause) {
    throw invalid(file, `its frontmatter cannot be read: ${cause instanceof Error ? cause.message : cause}`, cause);
  }
}

function readSkillFile(file: string, path: string): ServedSkillFile {
  const bytes = readFileSync(file);
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  const text = bytes.toString("utf8");
  // The digest is of the bytes, so a file is sent as text only if its text encodes to the same bytes.
  const isText = !text.includes("\0") && bytes.equals(Buffer.from(text));
  const fallback = isText ? "text/plain" : "application/octet-stream";
  const mimeType = MEDIA_TYPES[extname(path).toLowerCase()] ?? fallback;
  const content = isText ? { text } : { base64: bytes.toString("base64") };
  return { path, mimeType, digest, size: bytes.length, ...content };
}

/** Returns the paths of all files in a folder and its subfolders, in a fixed order. */
function filesBelow(folder: string, prefix: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((one, other) => (one.name < other.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const { name } = entry;
    if (name.startsWith(".")) return [];
    if (entry.isDirectory()) return filesBelow(join(folder, name), `${prefix}${name}/`);
    if (entry.isFile()) return [`${prefix}${name}`];
    throw invalid(join(folder, name), "it is a symbolic link or a device; only files are served");
  });
}

function invalid(file: string, problem: string, cause?: unknown): KitError {
  return new KitError("definition-invalid", `${file}: ${problem}.`, { cause });
}
