/** The package managers with which the packed files are installed. Each comes from npm, and runs on the Node that is tried. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "../../src/node/program.ts";
import { ROOT } from "../tools.ts";

const CACHE = join(ROOT, "node_modules/.cache/mcp-edge");

export const MANAGERS = ["npm", "pnpm", "yarn", "bun"] as const;
export type Manager = (typeof MANAGERS)[number];

/** How to run a package manager. */
export interface Ready {
  readonly version: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** The package that contains a package manager, and its program. Bun is a program of its own for each system. */
const PACKAGES: Readonly<Record<Manager, { readonly spec: string; readonly name: string; readonly bin: string }>> = {
  npm: { spec: "npm@^11", name: "npm", bin: "bin/npm-cli.js" },
  pnpm: { spec: "pnpm@^10", name: "pnpm", bin: "bin/pnpm.cjs" },
  yarn: { spec: "@yarnpkg/cli-dist@^4", name: "@yarnpkg/cli-dist", bin: "bin/yarn.js" },
  bun: {
    spec: `@oven/bun-${process.platform}-${process.arch}@^1`,
    name: `@oven/bun-${process.platform}-${process.arch}`,
    bin: "bin/bun",
  },
};

/** Installs a package manager for later runs too, and returns how to run it on a Node. */
export function managerFor(manager: Manager, node: string): Ready {
  const { spec, name, bin } = PACKAGES[manager];
  const folder = join(CACHE, `manager-${manager}`);
  const program = join(folder, "node_modules", name, bin);
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "private": true }');
    const { command, args, ...options } = findProgram("npm", [
      "install",
      "--no-save",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      spec,
    ]);
    execFileSync(command, args, { ...options, cwd: folder, stdio: "ignore" });
  }
  const [command, args] = manager === "bun" ? [program, []] : [node, [program]];
  const version = execFileSync(command, [...args, "--version"], { encoding: "utf8", cwd: folder }).trim();
  return { version, command, args };
}
