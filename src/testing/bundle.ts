/** Makes one module of a Worker, as wrangler does, and puts the harness's own method into it. */
import { builtinModules } from "node:module";
import { extname, join, resolve } from "node:path";
import type { BuildOptions, Plugin } from "esbuild";
import { CLOCK } from "./names.ts";
import { loadEsbuild } from "./tools.ts";

/** Entry file of a Worker, or its TypeScript source. */
export type WorkerEntry = string | { readonly source: string };

export interface BundleOptions {
  readonly entry: WorkerEntry;
  /** Where relative paths start, and where packages are looked for. */
  readonly root: string;
  /** Names of the Durable Object classes. */
  readonly classNames: readonly string[];
  readonly define: Readonly<Record<string, string>>;
  readonly alias: Readonly<Record<string, string>>;
  readonly tsconfig: string | undefined;
  /** The Worker has Node's modules (`nodejs_compat`), by their bare names too. */
  readonly hasNode: boolean;
}

const WORKER = "mcp-edge-testing:worker";
const WORKER_SIDE = besideThis("worker-side");
const CLOCK_MODULE = besideThis("clock");
const CONTROL_WORKER = besideThis("control-worker");
/** How wrangler sets esbuild up for Workers. */
const FOR_WORKERS = {
  bundle: true,
  write: false,
  format: "esm",
  target: "es2024",
  conditions: ["workerd", "worker", "browser"],
  mainFields: ["browser", "module", "main"],
  external: ["cloudflare:*", "node:*"],
  keepNames: true,
  // What it finds is in what it throws.
  logLevel: "silent",
} as const satisfies BuildOptions;

/** Bundles one Worker; returns the text of its module. */
export async function bundle({
  entry,
  root,
  classNames,
  define,
  alias,
  tsconfig,
  hasNode,
}: BundleOptions): Promise<string> {
  const { build } = await loadEsbuild(root);
  const result = await build({
    ...FOR_WORKERS,
    stdin: {
      contents: [
        `import * as worker from "${WORKER}";`,
        `import { control } from ${JSON.stringify(WORKER_SIDE)};`,
        `control(worker, ${JSON.stringify(classNames)});`,
        `export * from "${WORKER}";`,
        `export { default } from "${WORKER}";`,
        `export { ${CLOCK} } from ${JSON.stringify(CLOCK_MODULE)};`,
      ].join("\n"),
      resolveDir: root,
    },
    plugins: hasNode ? [workerModule(entry, root), NODE_MODULES] : [workerModule(entry, root)],
    absWorkingDir: root,
    loader: { ".txt": "text", ".html": "text", ".sql": "text" },
    define: { ...define },
    alias: { ...alias },
    ...(tsconfig === undefined ? {} : { tsconfig }),
  });
  return result.outputFiles[0]?.text ?? "";
}

/** Bundles control-worker.ts. */
export async function bundleControl(root: string): Promise<string> {
  const { build } = await loadEsbuild(root);
  const result = await build({ ...FOR_WORKERS, entryPoints: [CONTROL_WORKER] });
  return result.outputFiles[0]?.text ?? "";
}

/** A module of this folder: TypeScript here, JavaScript in the published package. */
function besideThis(name: string): string {
  return join(import.meta.dirname, `${name}${extname(import.meta.filename)}`);
}

/** Names such as "buffer" mean the runtime's module, as wrangler has it. */
const NODE_MODULES: Plugin = {
  name: "mcp-edge-testing-node",
  setup({ onResolve }) {
    onResolve({ filter: new RegExp(`^(${builtinModules.join("|")})$`) }, ({ path }) => ({
      path: `node:${path}`,
      external: true,
    }));
  },
};

/** Answers for the tested Worker's own module. */
function workerModule(entry: WorkerEntry, root: string): Plugin {
  return {
    name: "mcp-edge-testing",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^mcp-edge-testing:worker$/ }, ({ path }) =>
        typeof entry === "string" ? { path: resolve(root, entry) } : { path, namespace: "mcp-edge-testing" },
      );
      if (typeof entry === "string") return;
      onLoad({ filter: /.*/, namespace: "mcp-edge-testing" }, () => ({
        contents: entry.source,
        loader: "ts",
        resolveDir: root,
      }));
    },
  };
}
