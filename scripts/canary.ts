/**
 * Installs the newest wrangler, workerd, vitest, SDKs and conformance suite into node_modules, without changing package.json, and prints
 * their versions. The workflow canary.yml runs the tests with them each night.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "../src/node/program.ts";
import { ROOT } from "./tools.ts";

/** The packages that are released independently of this repository, so that users may have newer versions than we do. */
const NEWEST = [
  "wrangler",
  "@cloudflare/workers-types",
  "vitest",
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/core",
  "@modelcontextprotocol/server",
  "@modelcontextprotocol/sdk",
  "zod",
  "hono",
];

function run(...args: readonly string[]): string {
  const { command, args: all, ...options } = findProgram("npm", args);
  return execFileSync(command, all, { ...options, cwd: ROOT, encoding: "utf8" }).trim();
}

// wrangler needs exactly its own miniflare, which brings workerd.
const miniflare = run("view", "wrangler@latest", "dependencies.miniflare");
const specs = [...NEWEST.map((name) => `${name}@latest`), `miniflare@${miniflare}`];
run("install", "--no-save", "--no-audit", "--no-fund", "--force", ...specs);
for (const name of [...NEWEST, "miniflare", "workerd"]) {
  const manifest = readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8");
  console.log(`${name} ${(JSON.parse(manifest) as { readonly version: string }).version}`);
}
