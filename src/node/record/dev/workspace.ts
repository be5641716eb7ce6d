/**
 * The temporary files that `mcp-edge dev` passes to wrangler: the tail Worker, and a module that wrangler's process preloads.
 *
 * @module
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Collector } from "../collector.ts";
import { TAIL_NAME } from "./config-copy.ts";
import { moduleBeside } from "./module-beside.ts";
import type { OutputOptions } from "./wrangler-output.ts";

/** The compatibility date of the tail Worker. Every supported version of workerd accepts it. */
const COMPATIBILITY_DATE = "2025-01-01";

/** A temporary folder. */
export interface Workspace {
  /** The configuration of the tail Worker. */
  readonly tailConfig: string;
  /** The path of the module that wrangler's process preloads. */
  readonly preload: string;
  remove(): void;
}

/** The options of the preloaded module. */
export interface PreloadOptions {
  readonly output: OutputOptions;
  /** The path of wrangler's program. */
  readonly program: string;
  /** The port at which wrangler listens. */
  readonly inside: number;
}

/** Writes the files. @param environment The environment, which wrangler requires in every configuration. */
export function createWorkspace(
  collector: Collector,
  environment: string | undefined,
  { output, program, inside }: PreloadOptions,
): Workspace {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-dev-"));
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const tail = JSON.stringify(moduleBeside("../../../recorder/tail/tail"));
  const { url, secret } = collector;
  // The secret is in the module because wrangler would print a variable.
  const main = `import { createTail, sendTo } from ${tail};\nexport default createTail(sendTo(${JSON.stringify(url)}, ${JSON.stringify(secret)}));\n`;
  write("tail.mjs", main);
  const config = {
    name: TAIL_NAME,
    main: "tail.mjs",
    compatibility_date: COMPATIBILITY_DATE,
    send_metrics: false,
    ...(environment === undefined ? {} : { env: { [environment]: { name: TAIL_NAME } } }),
  };
  const module = (name: string) => JSON.stringify(pathToFileURL(moduleBeside(name)).href);
  const preload = [
    `import { controlRuntime } from ${module("runtime-control")};`,
    `import { correctOutput } from ${module("wrangler-output")};`,
    `controlRuntime(${JSON.stringify(program)}, ${inside});`,
    `correctOutput(${JSON.stringify(output)});\n`,
  ].join("\n");
  return {
    tailConfig: write("tail.json", JSON.stringify(config)),
    preload: write("preload.mjs", preload),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
