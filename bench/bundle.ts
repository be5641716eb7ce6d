/** Bundles contestants as `wrangler deploy` does with `minify = true` and `keep_names = false`, which README recommends. */
import { mkdirSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import * as z from "zod";
import type { Contestant } from "./contestants.ts";

export interface Bundle {
  readonly path: string;
  readonly minifiedBytes: number;
  readonly gzipBytes: number;
}

export interface BundleSettings {
  /** Number of tools besides `emit`. @default 52 */
  readonly echoTools?: number;
  /** Counts requests to objects and rows they write: `calls` with counted.ts, `cost` with scripts/cost/counted-worker.ts. */
  readonly counter?: keyof typeof COUNTERS;
  /** Whether functions keep their names and lines, for a profile. @default false */
  readonly isReadable?: boolean;
}

const COUNTERS = { calls: "./counted.ts", cost: "../scripts/cost/counted-worker.ts" } as const;

/** In node_modules, so that linters and type checkers ignore it. */
const BUILD = join(import.meta.dirname, "node_modules/.bench");

export async function bundle(contestant: Contestant, settings: BundleSettings = {}): Promise<Bundle> {
  const { echoTools = 52, counter, isReadable = false } = settings;
  const entry = join(import.meta.dirname, "contestants", `${contestant.entry}.ts`);
  const result = await build({
    ...(counter
      ? {
          stdin: {
            contents: countedEntry(contestant, entry, COUNTERS[counter]),
            resolveDir: import.meta.dirname,
            loader: "ts",
          },
        }
      : { entryPoints: [entry] }),
    bundle: true,
    minify: !isReadable,
    keepNames: false,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    mainFields: ["browser", "module", "main"],
    external: ["cloudflare:*", "node:*"],
    define: { ECHO_TOOLS: String(echoTools), "process.env.NODE_ENV": '"production"' },
    plugins: [builtPackage, nodeModules, noEmail, cannedList(echoTools)],
    logLevel: "error",
  });
  const bytes = result.outputFiles[0]?.contents ?? new Uint8Array();
  mkdirSync(BUILD, { recursive: true });
  const path = join(BUILD, `${contestant.entry}-${echoTools}${counter ?? ""}${isReadable ? "readable" : ""}.js`);
  writeFileSync(path, bytes);
  return { path, minifiedBytes: bytes.length, gzipBytes: gzipSync(bytes, { level: 9 }).length };
}

function countedEntry({ objects = {} }: Contestant, entry: string, counter: string): string {
  const classes = Object.values(objects);
  return [
    `import * as worker from ${JSON.stringify(entry)};`,
    `import { countedObject, countedWorker } from ${JSON.stringify(counter)};`,
    `export default countedWorker(worker.default);`,
    ...classes.map((name) => `export const ${name} = countedObject(worker.${name});`),
  ].join("\n");
}

/** Bundles the modules of the package as users install them, which `npm run build` makes, instead of their sources. */
const builtPackage: Plugin = {
  name: "built-package",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.\/\.\.\/src\// }, ({ path }) => ({
      path: join(import.meta.dirname, path.replace("../../src/", "../dist/").replace(/\.ts$/, ".js")),
    }));
  },
};

/** Resolves names such as "path" to the runtime's module, as wrangler does. */
const nodeModules: Plugin = {
  name: "node-modules",
  setup({ onResolve }) {
    const filter = new RegExp(`^(${builtinModules.join("|")})$`);
    onResolve({ filter }, ({ path }) => ({ path: `node:${path}`, external: true }));
  },
};

/**
 * Replaces a module that miniflare and Cloudflare provide but workerd alone does not. `agents` imports it; nothing uses
 * it.
 */
const noEmail: Plugin = {
  name: "no-email",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^cloudflare:email$/ }, ({ path }) => ({ path, namespace: "no-email" }));
    onLoad({ filter: /.*/, namespace: "no-email" }, () => ({ contents: "export class EmailMessage {}" }));
  },
};

/** The list that the floors answer, as JSON text that is generated here because they have no schema library. */
function cannedList(echoTools: number): Plugin {
  return {
    name: "canned-list",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /canned-list\.txt$/ }, ({ path }) => ({ path, namespace: "canned" }));
      onLoad({ filter: /.*/, namespace: "canned" }, async () => {
        (globalThis as { ECHO_TOOLS?: number }).ECHO_TOOLS = echoTools;
        const {
          EMIT,
          echoTools: tools,
          emitInput,
        } = (await import(`./tools.ts?${echoTools}`)) as typeof import("./tools.ts");
        const listed = tools.map(({ name, description, input }) => ({
          name,
          description,
          inputSchema: z.toJSONSchema(input),
        }));
        const contents = JSON.stringify({ tools: [...listed, { ...EMIT, inputSchema: z.toJSONSchema(emitInput) }] });
        return { contents, loader: "text" };
      });
    },
  };
}
