/** Collects the versions of everything that ran, because results cannot be compared without them. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus } from "node:os";
import { join } from "node:path";

export function versions(): Record<string, string> {
  const { dependencies } = readJson(join(import.meta.dirname, "package.json")) as {
    dependencies: Record<string, string>;
  };
  const { version: workerd } = readJson(createRequire(import.meta.url).resolve("workerd/package.json")) as {
    version: string;
  };
  const [cpu] = cpus();
  return { node: process.version, workerd, cpu: `${cpus().length} x ${cpu?.model}`, ...dependencies };
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}
