/**
 * Finds references to documents and files that are not in the repository: links, paths in prose and comments, numbers of
 * decisions, and names of documents.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { ROOT } from "./tools.ts";

/** The files that are checked. */
const TEXT = /\.(ts|js|mjs|md|toml)$/;
/** Matches a path relative to the repository's root. */
const PATH = /(?<![\w./@-])(?:src|test|scripts|docs|templates|bench|bin)\/[\w./-]*\w\.(?:ts|js|md|toml|json)\b/g;
/** Matches documents that name files of the reader's project in the text too. */
const OF_READER = /^docs\/(tutorial|recipes)\//;
const LINK = /(?<=\]\()(?!\w+:|#)[^)\s#]+/g;
const DECISION = /\bdecisions? (\d{3})\b/gi;
/** Matches the name of a document in capitals, with its extension or a section number. */
const NAMED = /(?<![\w/])([A-Z]{4,}(?:-[A-Z]+)*)(?:\.md\b| sections? \d| \d{1,2}\.\d{1,2}(?!\d|\.\d))/g;

/** Names of documents that other specifications define, and that readers have. */
const FOREIGN: readonly string[] = ["SKILL", "TASK", "FFFD", "HTTP", "JSON-RPC", "SELECT", "YAML"];

/** Returns one line for each invalid reference. */
export function findBrokenReferences(files: readonly string[], read: (file: string) => string): string[] {
  const tree = treeOf(files);
  return files.flatMap((file) =>
    proseOf(file, read(file))
      .split("\n")
      .flatMap((line, index) => {
        return brokenIn(line, file, tree).map((text) => `${file}:${index + 1}: "${text}" leads nowhere`);
      }),
  );
}

interface Tree {
  /** Whether a file or folder with this path exists. */
  has(path: string): boolean;
  /** The names of documents without extensions. */
  readonly documents: ReadonlySet<string>;
  /** The numbers of the decisions. */
  readonly decisions: ReadonlySet<string>;
}

function treeOf(files: readonly string[]): Tree {
  const paths = new Set(files);
  const folders = [...new Set(files.map((file) => `${posix.dirname(file)}/`))];
  return {
    has: (path) => paths.has(path) || folders.some((folder) => folder.startsWith(`${path}/`)),
    documents: new Set(files.filter((file) => file.endsWith(".md")).map((file) => posix.basename(file, ".md"))),
    decisions: new Set(files.flatMap((file) => /^docs\/decisions\/(\d{3})-/.exec(file)?.[1] ?? [])),
  };
}

function brokenIn(line: string, file: string, tree: Tree): string[] {
  const isDocument = file.endsWith(".md");
  const broken = [...line.matchAll(NAMED)].filter(
    ([, name = ""]) => !tree.documents.has(name) && !FOREIGN.includes(name),
  );
  if ((isDocument && !OF_READER.test(file)) || /^\s*(\/\*\*?|\*|\/\/|#)/.test(line)) {
    const paths = line.replaceAll(LINK, "").matchAll(PATH);
    broken.push(...[...paths].filter(([path]) => !tree.has(path) && !tree.has(at(file, path))));
    broken.push(...[...line.matchAll(DECISION)].filter(([, number = ""]) => !tree.decisions.has(number)));
  }
  if (isDocument) broken.push(...[...line.matchAll(LINK)].filter(([to]) => !tree.has(at(file, to))));
  return broken.map(([text]) => text);
}

/** Removes the code blocks of a document, whose paths refer to a reader's project. Line numbers do not change. */
function proseOf(file: string, text: string): string {
  if (!file.endsWith(".md")) return text;
  return text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, (block) => block.replaceAll(/[^\n]/g, ""));
}

/** Resolves a path relative to the folder of a file. */
function at(file: string, path: string): string {
  return posix.join(posix.dirname(file), path).replace(/\/$/, "");
}

/** The files of the repository, including uncommitted ones. */
export function repositoryFiles(): string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard"];
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8" })
    .split("\n")
    .filter((file) => file !== "" && existsSync(join(ROOT, file)));
}

/** Reads every file of the repository. */
export function findProblems(): string[] {
  const files = repositoryFiles();
  return findBrokenReferences(files, (file) => (TEXT.test(file) ? readFileSync(join(ROOT, file), "utf8") : ""));
}
