/** Bundles src/page-app, the page of `mcp-edge dev`: one script, one style, and two documents with the headers that they need. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type BuildResult, build, type Plugin } from "esbuild";
import { minify } from "terser";
import type { ClientEvent } from "../src/client/basics/events.ts";
import { BASE } from "../src/look/style.ts";
import { ROOT } from "./tools.ts";

/** The policy of the page: it loads only from its own origin, and no other page may frame it. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data: blob:",
  "media-src data: blob:",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * The document in which views of MCP Apps run has no origin and no rights but scripts. What a view may load is in a second policy, which
 * the page writes into the document in front of the view.
 */
const VIEW_POLICY = [
  "sandbox allow-scripts allow-forms",
  "default-src data: blob: http: https: ws: wss: 'unsafe-inline' 'unsafe-eval'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join("; ");

const COMMON = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" };

/** The files with their headers. A server of the page serves these files and no others. */
export const PAGE_FILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "index.html": {
    ...COMMON,
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": PAGE_POLICY,
    "X-Frame-Options": "DENY",
  },
  "app.js": { ...COMMON, "Content-Type": "text/javascript; charset=utf-8" },
  "app.css": { ...COMMON, "Content-Type": "text/css; charset=utf-8" },
  "view.html": { ...COMMON, "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": VIEW_POLICY },
};

/** Writes the page into a folder. `headers.json` has the headers of each file. */
export async function buildPageApp(folder: string): Promise<void> {
  const files = await bundlePageApp();
  mkdirSync(folder, { recursive: true });
  files["headers.json"] = `${JSON.stringify(PAGE_FILES, null, 2)}\n`;
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

/** Returns the size of all files of the page after compression, in KiB. */
export async function pageAppKib(): Promise<number> {
  const files = await bundlePageApp();
  return Object.values(files).reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0) / 1024;
}

/** Returns the files of the page by their names. */
async function bundlePageApp(): Promise<Record<string, string>> {
  const source = join(ROOT, "src/page-app");
  const common = { absWorkingDir: ROOT, bundle: true, minify: true, legalComments: "none", write: false } as const;
  const script = await build({
    ...common,
    entryPoints: [join(source, "main.tsx")],
    format: "esm",
    target: "es2024",
    conditions: ["browser"],
    // Shorter than calls of the automatic runtime, which the compiler checks.
    jsxFactory: "h",
    jsxFragment: "Fragment",
    inject: [join(source, "jsx.ts")],
    plugins: [LEFT_OUT, NOT_ON_DEMAND],
  });
  const styles = ["tokens", "shell", "forms", "content", "timeline"].map((name) =>
    readFileSync(join(source, `style/${name}.css`), "utf8"),
  );
  const style = await build({ ...common, stdin: { contents: [BASE, ...styles].join("\n"), loader: "css" } });
  return {
    "app.js": await shorten(textOf(script)),
    "app.css": textOf(style),
    "index.html": readDocument(join(source, "index.html")),
    "view.html": readDocument(join(source, "view.html")),
  };
}

/** Reads a document without the spaces around its lines. */
function readDocument(path: string): string {
  return readFileSync(path, "utf8").replaceAll(/\n\s*/g, "\n");
}

function textOf({ outputFiles = [] }: BuildResult): string {
  return outputFiles[0]?.text ?? "";
}

/** Shortens what esbuild has written: 2.4 KiB less after compression. */
async function shorten(script: string): Promise<string> {
  const options = {
    module: true,
    ecma: 2020,
    compress: {
      passes: 3,
      inline: 1,
      unsafe: true,
      unsafe_arrows: true,
      keep_fargs: false,
      sequences: false,
      lhs_constants: false,
      pure_funcs: isUsed as unknown as string[], // Terser accepts a function, which its types do not declare.
    },
  } as const;
  return (await minify(script, options)).code ?? script;
}

/** The events of the client that only `onEvent` receives, which the page ignores. */
const IGNORED = [
  "warning",
  "handler-failed",
  "stream-reconnecting",
  "session-reopened",
  "reconnecting",
  "reconnected",
  "request-repeated",
  "connected",
  "closed",
] satisfies readonly ClientEvent["type"][];

/** Whether terser must keep a call. Reports of ignored events are dropped, which saves 0.3 KiB. */
function isUsed({ args }: { readonly args: readonly { print_to_string(): string }[] }): boolean {
  const event = args.length === 1 ? args[0]?.print_to_string() : undefined;
  return !IGNORED.some((type) => event?.startsWith(`{type:"${type}"`));
}

/**
 * Matches the modules of the client that the page does not need: the transports for other servers, the store for facts about servers, the
 * checks of structured results and of options, results of earlier processes, and the texts for wrong options.
 */
const UNUSED =
  /src\/(client\/(transports\/(http-sse|transport-link|pipe-opener)|connection\/(assumed-server|resume)|requests\/check-output|api\/check-options)|core\/protocol\/check-options)\.ts$/;

/** The client tries HTTP+SSE after a refused POST. If that cannot be opened either, it reports the error of the POST. */
const STUBS: Readonly<Record<string, string>> = {
  checkClientOptions: "() => undefined",
  checkRequestOptions: "() => undefined",
  linkOverHttpSse: "() => ({ start: () => Promise.reject(), close: () => Promise.resolve() })",
};

/** Replaces the modules in {@link UNUSED} with stubs, which saves 2.8 KiB. */
const LEFT_OUT: Plugin = {
  name: "left-out",
  setup: (bundler) => {
    bundler.onLoad({ filter: UNUSED }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const own = [...text.matchAll(/^export (?:async )?(?:function|class|const) (\w+)/gm)];
      const passedOn = text.match(/^export \{[^}]*\} from .*$/gm) ?? [];
      return {
        contents: [
          ...own.map(([, name = ""]) => `export const ${name} = ${STUBS[name] ?? "undefined"};`),
          ...passedOn,
        ].join("\n"),
        loader: "ts",
      };
    });
  },
};

/**
 * Converts dynamic imports of the client to static ones, because the page is a single file. Otherwise each module would be wrapped in a
 * function, which takes 1.4 KiB in all.
 */
const NOT_ON_DEMAND: Plugin = {
  name: "not-on-demand",
  setup: (bundler) => {
    bundler.onLoad({ filter: /src\/client\/.*\.ts$/ }, ({ path }) => {
      const found: string[] = [];
      const text = readFileSync(path, "utf8").replaceAll(/\bimport\((".*?")\)/g, (_, specifier: string) => {
        found.push(`import * as onDemand${found.length} from ${specifier};`);
        return `Promise.resolve(onDemand${found.length - 1})`;
      });
      return { contents: [...found, text].join("\n"), loader: "ts" };
    });
  },
};
