/** Bundles a build of the kit with a Worker that uses all of it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";

export const ROOT: string = join(import.meta.dirname, "../..");

/** A replacement of text in a source file, for a build that differs from today's. */
export interface Change {
  /** The path of the file in the project. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface BuildOptions {
  /** The folder of the kit: its sources, or the built package. @default "src" */
  readonly from?: "src" | "dist";
  /** Changes of the sources. */
  readonly changes?: readonly Change[];
  readonly minify?: boolean;
}

/** Returns the module of the Worker in this folder, with everything that it imports except for `cloudflare:workers`. */
export async function bundleWorker({ from = "src", changes = [], minify = false }: BuildOptions = {}): Promise<string> {
  const result = await build({
    entryPoints: [join(ROOT, "test/releases/worker.ts")],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    mainFields: ["browser", "module", "main"],
    external: ["cloudflare:*", "node:*"],
    logLevel: "silent",
    minify,
    plugins: [...(from === "dist" ? [BUILT] : []), changed(changes)],
  });
  return result.outputFiles[0]?.text ?? "";
}

/** Replaces the sources by the built package. */
const BUILT: Plugin = {
  name: "built",
  setup({ onResolve }) {
    onResolve({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const [, within = ""] = /\/src\/(.*)\.ts$/.exec(path) ?? [];
      return { path: join(ROOT, "dist", `${within}.js`), sideEffects: false };
    });
  },
};

function changed(changes: readonly Change[]): Plugin {
  return {
    name: "changed",
    setup({ onLoad }) {
      for (const { file, find, replace } of changes) {
        const path = join(ROOT, file);
        onLoad({ filter: new RegExp(`^${path.replaceAll(".", "\\.")}$`) }, () => {
          const source = readFileSync(path, "utf8");
          if (source.split(find).length !== 2) throw new Error(`${file} must contain "${find}" exactly once.`);
          return { contents: source.replace(find, () => replace), loader: "ts" };
        });
      }
    },
  };
}

/**
 * Returns the source of a Worker that consists of builds. Each object, and the Worker itself, uses the build that the
 * switch names: see switching-worker.ts.
 */
export async function bundleSwitching(builds: Readonly<Record<string, string>>): Promise<string> {
  const result = await build({
    entryPoints: [join(import.meta.dirname, "switching-worker.ts")],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:*"],
    logLevel: "silent",
    plugins: [onPlatform(builds)],
  });
  return result.outputFiles[0]?.text ?? "";
}

function onPlatform(builds: Readonly<Record<string, string>>): Plugin {
  const platform = join(ROOT, "test/harness/platform.ts");
  return {
    name: "on-platform",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^build:/ }, ({ path }) => ({ path: path.slice("build:".length), namespace: "build" }));
      onResolve({ filter: /^builds$/ }, () => ({ path: "all", namespace: "builds" }));
      onResolve({ filter: /^cloudflare:workers$/, namespace: "build" }, () => ({ path: platform }));
      onLoad({ filter: /.*/, namespace: "builds" }, () => ({ contents: list(Object.keys(builds)), loader: "js" }));
      onLoad({ filter: /.*/, namespace: "build" }, ({ path }) => ({
        contents: builds[path] ?? "",
        loader: "js",
        resolveDir: ROOT,
      }));
    },
  };
}

/** The module that exports all builds. */
function list(names: readonly string[]): string {
  const imports = names.map((name) => `import * as build_${name} from "build:${name}";`);
  return `${imports.join("\n")}\nexport const BUILDS = { ${names.map((name) => `${name}: build_${name}`).join(", ")} };`;
}
