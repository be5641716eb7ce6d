/**
 * Copies the templates to dist/templates, from which `mcp-edge new` creates projects, and the files of `mcp-edge add` to
 * dist/parts. Only files that git knows are copied,
 * so that no build output and no secret of the working folder gets into the package. npm packs no file named `.gitignore`;
 * it is copied as `_gitignore`.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { ROOT } from "./tools.ts";

/** What never belongs into a project, even if someone has added it to git. */
const NEVER = /(^|\/)(node_modules|\.wrangler|\.dev\.vars(?!\.example)[^/]*)(\/|$)/;

/** The folders that are copied, and where to. */
const FOLDERS: Readonly<Record<string, string>> = {
  templates: "dist/templates",
  "src/cli/commands/add/parts": "dist/parts",
};

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
}
