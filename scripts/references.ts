/**
 * Finds references to documents and files that are not in the repository: links, paths in prose and comments, numbers of
 * decisions, and names of documents.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { ROOT } from "./tools.ts";

/** Files whose text is read. */
const TEXT = /\.(ts|js|mjs|md|toml)$/;
/** A path from the top of the repository. */
const PATH = /(?<![\w./@-])(?:src|test|scripts|docs|templates|bench|bin)\/[\w./-]*\w\.(?:ts|js|md|toml|json)\b/g;
const LINK = /(?<=\]\()(?!\w+:|#)[^)\s#]+/g;
const DECISION = /\bdecisions? (\d{3})\b/gi;
/** A document that is named in capitals, with its extension or with the number of a section. */
const NAMED = /(?<![\w/])([A-Z]{4,}(?:-[A-Z]+)*)(?:\.md\b| sections? \d)/g;

/** One line for each reference that leads nowhere. */
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
  /** Whether there is a file or a folder of this path. */
  has(path: string): boolean;
  /** Names of documents, without their extension. */
  readonly documents: ReadonlySet<string>;
  /** Numbers of decisions. */
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
  const broken = [...line.matchAll(NAMED)].filter(([, name = ""]) => !tree.documents.has(name));
  if (isDocument || /^\s*(\/\*\*?|\*|\/\/|#)/.test(line)) {
    const paths = line.replaceAll(LINK, "").matchAll(PATH);
    broken.push(...[...paths].filter(([path]) => !tree.has(path) && !tree.has(at(file, path))));
    broken.push(...[...line.matchAll(DECISION)].filter(([, number = ""]) => !tree.decisions.has(number)));
  }
  if (isDocument) broken.push(...[...line.matchAll(LINK)].filter(([to]) => !tree.has(at(file, to))));
  return broken.map(([text]) => text);
}

/** Blocks of code in a document belong to the project of a reader, where paths are others. Lines keep their numbers. */
function proseOf(file: string, text: string): string {
  if (!file.endsWith(".md")) return text;
  return text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, (block) => block.replaceAll(/[^\n]/g, ""));
}

/** A path as the folder of a file sees it. */
function at(file: string, path: string): string {
  return posix.join(posix.dirname(file), path).replace(/\/$/, "");
}

/** The files of the repository, whether committed or not. */
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
