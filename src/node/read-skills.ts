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

/** What every host must accept; it may refuse a larger skill. @see io.modelcontextprotocol/skills, "Limits" */
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
 * Reads all skills below a folder, for `addSkills` of `mcp-edge/skills`. Each folder with a `SKILL.md` is a skill, with everything
 * below it; skills may be nested. Names that begin with a dot are left out. A Worker has no files, so there the module that
 * `mcp-edge skills` writes takes this function's place.
 *
 * ```ts
 * import { readSkills, serveStdio } from "mcp-edge/node";
 * import { addSkills } from "mcp-edge/skills";
 *
 * addSkills(server, readSkills("skills"));
 * await serveStdio(server);
 * ```
 *
 * @param folder The folder that holds the folders of the skills.
 * @throws {KitError} `definition-invalid` naming the file and what is wrong: no skill in the folder, a `SKILL.md` without valid
 *   frontmatter, a name that differs from that of its folder, a symbolic link, or more than 512 files or 16 MiB in a skill.
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
  // The next lines check what the cast claims.
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
  // Text is sent as text only if the client gets the same bytes, which the digest is of.
  const isText = !text.includes("\0") && bytes.equals(Buffer.from(text));
  const fallback = isText ? "text/plain" : "application/octet-stream";
  const mimeType = MEDIA_TYPES[extname(path).toLowerCase()] ?? fallback;
  const content = isText ? { text } : { base64: bytes.toString("base64") };
  return { path, mimeType, digest, size: bytes.length, ...content };
}

/** Returns the paths of all files below a folder, in a fixed order. */
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
