/** The blocks of code in documents and doc comments, each as a module that can be compiled. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { repositoryFiles } from "../../scripts/references.ts";

const ROOT = join(import.meta.dirname, "../..");
const AMBIENT = join(import.meta.dirname, "fixtures/ambient.ts");

export interface Block {
  /** File and line, such as `README.md:30`. */
  readonly title: string;
  readonly language: string;
  /** The code as printed. */
  readonly text: string;
}

/** Matches documents for users. Decisions are records and contain only fragments. */
const DOCUMENT =
  /^(README|CONTRIBUTING)\.md$|^docs\/(?!decisions\/)[^/]*\.md$|^docs\/(guides|concepts|migration)\/|^site\/index\.md$|^templates\/[^/]+\/README\.md$/;

/** The blocks of every document for users. */
export function documentBlocks(): Block[] {
  const files = repositoryFiles().filter((file) => DOCUMENT.test(file) && file.endsWith(".md"));
  return files.flatMap((file) => blocksOf(file, readFileSync(join(ROOT, file), "utf8")));
}

/** The blocks in doc comments of src, including those of `@example`. */
export function commentBlocks(): Block[] {
  const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".ts"))
    .sort()
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, "src", file), "utf8").replaceAll(/^ *\* ?/gm, "");
      return blocksOf(`src/${file}`, text);
    });
}

function blocksOf(file: string, text: string): Block[] {
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(({ index, 1: language = "", 2: block = "" }) => ({
    title: `${file}:${text.slice(0, index).split("\n").length}`,
    language,
    text: block,
  }));
}

/**
 * Whether snippets.test.ts runs a block exactly as printed: the servers and tools of the guides, and the servers in doc comments of the
 * Worker. A block that creates its own server is a whole program, which blocks.test.ts runs.
 */
export function isSnippet({ title, language, text }: Block): boolean {
  if (language !== "ts") return false;
  if (title.startsWith("src/worker/")) return text.includes("edge(server");
  if (!title.startsWith("docs/guides/") || text.includes("new McpServer")) return false;
  return /^server\.tool\(/m.test(text) || (text.includes("edge(server") && !/adminServer|serveHttp/.test(text));
}

/** The names that every block may use, with the module that exports them. */
function knownNames(exportsOf: ReadonlyMap<string, readonly string[]>): Map<string, string> {
  const known = new Map<string, string>();
  for (const [module, names] of exportsOf) for (const name of names) if (!known.has(name)) known.set(name, module);
  const ambient = readFileSync(AMBIENT, "utf8").matchAll(/^export const (\w+)/gm);
  for (const [, name = ""] of ambient) known.set(name, AMBIENT);
  return known;
}

/**
 * Converts a block to a module: imports the known names that it uses without declaring them.
 *
 * @param exportsOf The names that each entry of the package exports.
 * @param folder The folder that the module is written to.
 */
export function moduleOf(
  { text }: Block,
  exportsOf: ReadonlyMap<string, readonly string[]>,
  folder: string,
): { readonly source: string; readonly isFragment: boolean } {
  const code = text.replaceAll(/\/\/[^\n]*|"[^"\n]*"/g, "");
  const declared = declaredIn(code);
  const lines: string[] = /\bz\.\w/.test(code) && !declared.has("z") ? ['import * as z from "zod";'] : [];
  for (const [name, module] of knownNames(exportsOf)) {
    if (declared.has(name) || !new RegExp(`(?<![.\\w"'])${name}(?=[.(<,;)\\s}])(?!\\s*:)`).test(code)) continue;
    const from = module === AMBIENT ? `./${relative(folder, AMBIENT).replaceAll("\\", "/")}` : module;
    lines.push(`import { ${name} } from "${from}";`);
  }
  // In some documents the reader's server, or the module with the reader's skills, is in a separate file.
  const own = text.replaceAll(
    /from "\.\/(server|skills)\.ts"|(?<=\{ server, store \} )from "\.\.\/src\/server\.ts"/g,
    `from "./${relative(folder, AMBIENT)}"`,
  );
  return { source: `${lines.join("\n")}\n${own}\nexport {};\n`, isFragment: lines.length > 0 };
}

/** Returns the names that a block imports or declares at its top level. */
function declaredIn(code: string): Set<string> {
  const imported = [...code.matchAll(/^import (?:type )?(?:\* as (\w+)|\{([^}]*)\})/gm)].flatMap(
    ([, all, some = ""]) => [all ?? "", ...some.split(",").map((name) => name.trim().replace(/^type /, ""))],
  );
  const declared = [...code.matchAll(/^(?:export )?(?:const|let|class|function|async function) (\w+)/gm)];
  return new Set([...imported, ...declared.map(([, name = ""]) => name)]);
}
