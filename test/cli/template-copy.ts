/** A copy of a template inside the package, so that its modules can import the package by name. */
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { NODE } from "../oracle/node.ts";

export const ROOT: string = join(import.meta.dirname, "../..");

/** Copies a template without what its tools have generated. */
export function copyTemplateTo(project: string, name: string): void {
  cpSync(join(ROOT, "templates", name), project, {
    recursive: true,
    filter: (path) => !/worker-configuration|node_modules|\.wrangler/.test(path),
  });
}

/** Runs a tool of the root in a project. `output` has both output streams. */
export function runIn(project: string, tool: string, ...args: readonly string[]) {
  const env = {
    ...process.env,
    PATH: `${dirname(NODE)}:${process.env.PATH}`,
    WRANGLER_SEND_METRICS: "false",
    CI: "true",
  };
  const { status, stdout, stderr } = spawnSync(NODE, [join(ROOT, "node_modules/.bin", tool), ...args], {
    cwd: project,
    env,
    encoding: "utf8",
  });
  return { status, output: `${stdout}${stderr}` };
}

const TYPES = "worker-configuration.d.ts";
/**
 * The file that wrangler wrote last. wrangler reuses its runtime types if the version of workerd, the compatibility date and the flags
 * are the same.
 */
const LAST_TYPES = join(ROOT, "node_modules/.cache/mcp-edge", TYPES);

/** Runs `wrangler types` in a project. */
export function writeTypes(project: string): ReturnType<typeof runIn> {
  const file = join(project, TYPES);
  if (!existsSync(file) && existsSync(LAST_TYPES)) copyFileSync(LAST_TYPES, file);
  const ran = runIn(project, "wrangler", "types");
  if (ran.status !== 0) return ran;
  // It is renamed into place, because other test files may read it at the same time.
  const part = `${LAST_TYPES}.${process.pid}`;
  mkdirSync(dirname(part), { recursive: true });
  copyFileSync(file, part);
  renameSync(part, LAST_TYPES);
  return ran;
}
