/** Bundles a Worker into one module, as wrangler does, and adds the code of the test harness to it. */
import { builtinModules } from "node:module";
import { extname, join, resolve } from "node:path";
import type { BuildOptions, Plugin } from "esbuild";
import { CLOCK } from "./names.ts";
import { loadEsbuild } from "./tools.ts";

/** The path of a Worker's entry file, or its TypeScript source. */
export type WorkerEntry = string | { readonly source: string };

export interface BundleOptions {
  readonly entry: WorkerEntry;
  /** The folder against which relative paths are resolved, and in which packages are looked up. */
  readonly root: string;
  /** The names of the Durable Object classes. */
  readonly classNames: readonly string[];
  readonly define: Readonly<Record<string, string>>;
  readonly alias: Readonly<Record<string, string>>;
  readonly tsconfig: string | undefined;
  /** Whether the Worker can import Node's modules (`nodejs_compat`), including by their names without `node:`. */
  readonly hasNode: boolean;
}

const WORKER = "mcp-edge-testing:worker";
const WORKER_SIDE = besideThis("worker-side");
const CLOCK_MODULE = besideThis("clock");
const CONTROL_WORKER = besideThis("control-worker");
/** The esbuild options that wrangler uses for Workers. */
const FOR_WORKERS = {
  bundle: true,
  write: false,
  format: "esm",
  target: "es2024",
  conditions: ["workerd", "worker", "browser"],
  mainFields: ["browser", "module", "main"],
  external: ["cloudflare:*", "node:*"],
  keepNames: true,
  // The thrown errors contain all messages.
  logLevel: "silent",
} as const satisfies BuildOptions;

/** Bundles a Worker. Returns the source of the module. */
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

/** Bundles control-worker.ts. Returns the source of the module. */
export async function bundleControl(root: string): Promise<string> {
  const { build } = await loadEsbuild(root);
  const result = await build({ ...FOR_WORKERS, entryPoints: [CONTROL_WORKER], absWorkingDir: root });
  return result.outputFiles[0]?.text ?? "";
}

/** Returns the path of a module in this folder: TypeScript in the repository, JavaScript in the published package. */
function besideThis(name: string): string {
  return join(import.meta.dirname, `${name}${extname(import.meta.filename)}`);
}

/** Resolves names such as "buffer" to modules of the runtime, as wrangler does. */
const NODE_MODULES: Plugin = {
  name: "mcp-edge-testing-node",
  setup({ onResolve }) {
    onResolve({ filter: new RegExp(`^(${builtinModules.join("|")})$`) }, ({ path }) => ({
      path: `node:${path}`,
      external: true,
    }));
  },
};

/** Resolves the module of the Worker under test. */
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
