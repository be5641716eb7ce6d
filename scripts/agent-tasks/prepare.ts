/** Creates the folder in which an agent works: the statement, the documents, and the package. */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { writeTexts } from "../../site/stage.ts";
import { ROOT } from "../tools.ts";
import type { AgentTask } from "./tasks.ts";

/** What to prepare. */
export interface Preparation {
  readonly tasks: readonly AgentTask[];
  /** A folder for each task. It must not exist, or must be empty. */
  readonly folders: readonly string[];
  /** `empty`, `installed`, or the name of a template. */
  readonly start: string;
  /** The packed package. If undefined, the package is packed first. */
  readonly tarball?: string | undefined;
}

/** The packages that docs/for-agents.md tells agents to install. */
const DEPENDENCIES = ["zod"];
const DEV_DEPENDENCIES = ["wrangler@^4.155.0", "typescript", "@types/node", "vitest", "node@24"];

/** Creates the folders, and prints the task of each. Packages are installed once, and copied. */
export function prepare({ tasks, folders, start, tarball }: Preparation): void {
  const used = folders.find((folder) => existsSync(folder) && readdirSync(folder).length > 0);
  if (used !== undefined) throw new Error(`${used} is not empty.`);
  const temporary = mkdtempSync(join(tmpdir(), "mcp-edge-agent-"));
  try {
    const packed = tarball ?? pack(temporary);
    const project = join(temporary, "agent-server");
    createProject(project, start, packed);
    writeTexts(join(project, "documents"));
    for (const [at, task] of tasks.entries()) {
      const folder = folders[at] ?? "";
      mkdirSync(folder, { recursive: true });
      execFileSync("cp", ["-R", `${project}/.`, folder]);
      writeFileSync(join(folder, "TASK.md"), statementOf(task, start, basename(packed)));
      console.log(`${folder}: ${task.name}, ${start}. The agent begins with TASK.md.`);
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

function createProject(folder: string, start: string, tarball: string): void {
  if (start !== "empty" && start !== "installed") {
    createFromTemplate(folder, start, tarball);
    return;
  }
  mkdirSync(folder);
  copyFileSync(tarball, join(folder, basename(tarball)));
  if (start === "installed") install(folder, basename(tarball));
}

/** Packs the package, as it was built last, into a folder, and returns the file. */
function pack(folder: string): string {
  if (!existsSync(join(ROOT, "dist/templates"))) throw new Error("The package is not built. Run: npm run build");
  const args = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
  execFileSync("npm", args, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  return join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "");
}

/** Installs what the documents tell agents to install. */
function install(folder: string, tarball: string): void {
  const npm = (...args: readonly string[]) =>
    execFileSync("npm", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  const quietly = ["--no-audit", "--no-fund", "--prefer-offline"];
  npm("init", "-y");
  npm(
    "pkg",
    "set",
    "type=module",
    "scripts.start=mcp-edge dev",
    "scripts.test=vitest run --testTimeout 60000 --hookTimeout 60000",
  );
  npm("install", ...quietly, `./${tarball}`, ...DEPENDENCIES);
  npm("install", ...quietly, "--save-dev", ...DEV_DEPENDENCIES);
}

function createFromTemplate(folder: string, template: string, tarball: string): void {
  const args = [join(ROOT, "bin/mcp-edge.js"), "new", folder, "--template", template, "--package", tarball, "--no-git"];
  execFileSync(process.execPath, args, { stdio: "pipe" });
  // The project refers to the packed file, which may be deleted, so it gets a copy.
  copyFileSync(tarball, join(folder, basename(tarball)));
  for (const name of ["package.json", "package-lock.json"]) {
    const file = join(folder, name);
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(/"file:[^"]+\.tgz"/g, `"file:${basename(tarball)}"`));
  }
}

/** The statement, followed by the rules, which are the same for all tasks. */
function statementOf({ folder }: AgentTask, start: string, tarball: string): string {
  const installed = {
    empty: `The package mcp-edge is not on a registry: install it from the file \`${tarball}\`. Other packages are on npm's registry.`,
    installed: "Everything that you need is installed; there is no code yet.",
  }[start];
  return `${readFileSync(join(folder, "task.md"), "utf8")}
## Rules

- Use the kit mcp-edge. ${installed ?? "The project is an example of another server, with which you can do what you like."}
- Begin with \`documents/llms.txt\`, and read whatever you need in \`documents\`; a link such as \`/guides/client.md\` is the file
  \`documents/guides/client.md\`. Do not read the code of mcp-edge in \`node_modules\`, and do not search the web.
- The server is a Cloudflare Worker in this folder with \`wrangler.toml\`, and serves MCP at the path \`/mcp\`. A file that is only for
  development and starts the server there is \`src/dev.ts\`.
- You do not have an account at Cloudflare. Do not deploy anything.
- You are finished when your own tests pass. Then hidden tests decide, which use the server by a client, in each of the protocol versions
  2025-11-25 and 2026-07-28, on workerd.
- At the end, report what you have missed in the documents, and what was wrong or misleading there.
`;
}
