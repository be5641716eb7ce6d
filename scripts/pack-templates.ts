/**
 * Copies the templates to dist/templates, from which `mcp-edge new` creates projects, and the files of `mcp-edge add` to
 * dist/parts. Only files that git knows are copied,
 * so that no build output and no secret of the working folder gets into the package. npm packs no file named `.gitignore`;
 * it is copied as `_gitignore`. Each template also gets an AGENTS.md for coding agents, whose text is the same for all.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { ROOT } from "./tools.ts";

/** Matches paths that must never be copied into a project, even if they were added to git. */
const NEVER = /(^|\/)(node_modules|\.wrangler|\.dev\.vars(?!\.example)[^/]*)(\/|$)/;

/** The folders that are copied, and where to. */
const FOLDERS: Readonly<Record<string, string>> = {
  templates: "dist/templates",
  "src/cli/commands/add/parts": "dist/parts",
};

/** The instructions for coding agents, with places for the name and the description of the template. */
const INSTRUCTIONS = join(ROOT, "src/cli/commands/new/shared/AGENTS.md");

/** Copies the folders. In a folder without git, such as an unpacked archive, it copies nothing. */
export function packTemplates(root: string = ROOT): void {
  if (!existsSync(join(root, ".git"))) return;
  for (const [from, to] of Object.entries(FOLDERS)) {
    const listed = execFileSync("git", ["ls-files", "-z", from], { cwd: root, encoding: "utf8" });
    for (const file of listed.split("\0")) {
      if (file === "" || NEVER.test(file) || !existsSync(join(root, file))) continue;
      const name = basename(file) === ".gitignore" ? "_gitignore" : basename(file);
      const target = join(root, to, dirname(relative(from, file)), name);
      mkdirSync(dirname(target), { recursive: true });
      cpSync(join(root, file), target);
    }
  }
  addInstructions(join(root, "dist/templates"));
}

/** Writes AGENTS.md into each template, with its name and its description. */
function addInstructions(templates: string): void {
  const text = readFileSync(INSTRUCTIONS, "utf8");
  for (const folder of existsSync(templates) ? readdirSync(templates) : []) {
    const manifest = join(templates, folder, "package.json");
    if (!existsSync(manifest)) continue;
    const { name = folder, description = "An example" } = JSON.parse(readFileSync(manifest, "utf8")) as Manifest;
    const filled = text.replace("{name}", () => name).replace("{description}", () => description);
    writeFileSync(join(templates, folder, "AGENTS.md"), filled);
  }
}

interface Manifest {
  readonly name?: string;
  readonly description?: string;
}
