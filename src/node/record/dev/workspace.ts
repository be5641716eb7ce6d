/**
 * The files that `mcp-edge dev` passes to wrangler in a temporary folder: the tail Worker, and what runs before wrangler.
 *
 * @module
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Collector } from "../collector.ts";
import { TAIL_NAME } from "./config-copy.ts";
import type { OutputOptions } from "./wrangler-output.ts";

/** Old enough for every supported version of workerd. */
const COMPATIBILITY_DATE = "2025-01-01";

/** A temporary folder. */
export interface Workspace {
  /** The configuration of the tail Worker. */
  readonly tailConfig: string;
  /** The module that wrangler's process imports first. */
  readonly preload: string;
  remove(): void;
}

/** Writes the files. @param environment The environment that wrangler looks for in every configuration. */
export function createWorkspace(
  collector: Collector,
  environment: string | undefined,
  output: OutputOptions,
): Workspace {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-dev-"));
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const tail = JSON.stringify(moduleBeside("../../../recorder/tail/tail"));
  const { url, secret } = collector;
  // The secret is in the module and not in a variable, because wrangler prints variables.
  const main = `import { createTail, sendTo } from ${tail};\nexport default createTail(sendTo(${JSON.stringify(url)}, ${JSON.stringify(secret)}));\n`;
  write("tail.mjs", main);
  const config = {
    name: TAIL_NAME,
    main: "tail.mjs",
    compatibility_date: COMPATIBILITY_DATE,
    send_metrics: false,
    ...(environment === undefined ? {} : { env: { [environment]: { name: TAIL_NAME } } }),
  };
  const module = JSON.stringify(pathToFileURL(moduleBeside("wrangler-output")).href);
  const preload = `import { correctOutput } from ${module};\ncorrectOutput(${JSON.stringify(output)});\n`;
  return {
    tailConfig: write("tail.json", JSON.stringify(config)),
    preload: write("preload.mjs", preload),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Returns the path of a module from this folder: TypeScript in the repository, JavaScript in the published package. */
export function moduleBeside(name: string): string {
  return join(import.meta.dirname, `${name}${extname(import.meta.filename)}`);
}
