/** A copy of a template inside the package, so that its modules can import the package by name. */
import { spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
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
