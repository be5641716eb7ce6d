/** Measures the size of programs that use the kit, bundled and minified as `wrangler deploy --minify` does it. */
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { ROOT } from "./tools.ts";

/** The measured programs, each with its size budget in KiB, minified and compressed with gzip. */
export const PROGRAMS = [
  { name: "stateless dual-era server, one tool", entry: "test/size/stateless.ts", gzipKibMax: 33.5 },
  { name: "the same with bearer()", entry: "test/size/auth.ts", gzipKibMax: 41.5 },
  { name: "the first with sessions, log, bridge, hub and keys", entry: "test/size/sessions.ts", gzipKibMax: 59.4 },
  { name: "the first with everything in durable()", entry: "test/size/durable.ts", gzipKibMax: 77.5 },
] as const;

export interface Size {
  readonly minified: number;
  readonly gzip: number;
  /** Modules of src/ that contribute bytes to the bundle. */
  readonly modules: readonly string[];
}

/** Bundles one entry. Its path is relative to the project's root. */
export async function sizeOf(entry: string): Promise<Size> {
  const result = await build({
    entryPoints: [`${ROOT}${entry}`],
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
  });
  const bytes = result.outputFiles[0]?.contents ?? new Uint8Array();
  const [output] = Object.values(result.metafile.outputs);
  const inputs = Object.entries(output?.inputs ?? {}).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const modules = inputs.map(([path]) => path).filter((path) => path.startsWith("src/"));
  return { minified: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, modules };
}
