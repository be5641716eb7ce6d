/** Measures the size of programs that use the kit, bundled and minified as `wrangler deploy --minify` does it. */
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { ROOT } from "./tools.ts";

/** The measured programs, each with its size budget in KiB, minified and compressed with gzip. */
export const PROGRAMS = [
  { name: "stateless dual-era server, one tool", entry: "test/size/stateless.ts", gzipKibMax: 34.6 },
  { name: "the same with bearer()", entry: "test/size/auth.ts", gzipKibMax: 42.8 },
  { name: "the first with sessions, log, bridge, hub and keys", entry: "test/size/sessions.ts", gzipKibMax: 61.2 },
  { name: "the first with everything in durable()", entry: "test/size/durable.ts", gzipKibMax: 80.7 },
  { name: "the first with page()", entry: "test/size/page.ts", gzipKibMax: 40.9 },
  {
    name: "the first with authorizationServer(), oidc() and keys",
    entry: "test/size/authorization-server.ts",
    gzipKibMax: 87.3,
  },
  { name: "the first with files() and keys", entry: "test/size/files.ts", gzipKibMax: 58.6 },
  { name: "a client in a browser, as it is loaded at first", entry: "test/size/client.ts", gzipKibMax: 16.4 },
  { name: "the same with validation()", entry: "test/size/client-validation.ts", gzipKibMax: 24.8 },
  { name: "the same with sign-in", entry: "test/size/client-oauth.ts", gzipKibMax: 29.5 },
] as const;

export interface Size {
  readonly minified: number;
  readonly gzip: number;
  /** Modules of src/ that contribute bytes to the bundle. */
  readonly modules: readonly string[];
}

/** Bundles one entry. Its path is relative to the project's root. */
export async function sizeOf(entry: string): Promise<Size> {
  if (entry.startsWith("test/size/client")) return firstLoadOf(entry);
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

/** Bundles a program for browsers, and adds up the files that are loaded before anything is imported on demand. */
async function firstLoadOf(entry: string): Promise<Size> {
  const { outputFiles, metafile } = await build({
    entryPoints: [`${ROOT}${entry}`],
    absWorkingDir: ROOT,
    outdir: ROOT,
    bundle: true,
    minify: true,
    splitting: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2024",
    conditions: ["browser"],
  });
  const loaded = new Set<string>();
  const load = (path: string): void => {
    if (loaded.has(path)) return;
    loaded.add(path);
    for (const { kind, path: next } of metafile.outputs[path]?.imports ?? [])
      if (kind === "import-statement") load(next);
  };
  load(Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === entry)?.[0] ?? "");
  const files = outputFiles.filter(({ path }) => loaded.has(path.slice(ROOT.length))).map(({ contents }) => contents);
  const modules = [...loaded].flatMap((path) => Object.keys(metafile.outputs[path]?.inputs ?? {}));
  return {
    minified: files.reduce((sum, file) => sum + file.length, 0),
    gzip: files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0),
    modules: modules.filter((path) => path.startsWith("src/")),
  };
}
