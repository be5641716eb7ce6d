/** Writes the documents and their index to src/documents.txt. The argument is the folder of the documents. */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Documents } from "../src/documents.ts";
import { indexOf } from "./index-of.ts";
import { pageOf } from "./pages.ts";

/** The file that the Worker imports. */
const OUTPUT = join(import.meta.dirname, "../src/documents.txt");

/** Matches documents about the design of mcp-edge itself, which its users do not need. */
const INTERNAL = /^(decisions\/|architecture\.md$)/;

/** Reads the documents of a folder. */
export function readDocuments(folder: string): Documents {
  const files = globSync("**/*.{md,txt}", { cwd: folder })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !INTERNAL.test(file))
    .sort();
  const pages = files.map((file) => pageOf(file, readFileSync(join(folder, file), "utf8"), new Set(files)));
  return { pages, index: indexOf(pages) };
}

/** Writes the file, and returns its length. */
export function writeDocuments(folder: string): number {
  const text = JSON.stringify(readDocuments(folder));
  writeFileSync(OUTPUT, text);
  return text.length;
}

if (import.meta.filename === process.argv[1]) {
  const ofPackage = join(dirname(fileURLToPath(import.meta.resolve("mcp-edge/package.json"))), "docs");
  const folder = process.argv[2] ?? ofPackage;
  console.log(`${folder}: ${(writeDocuments(folder) / 1024).toFixed(0)} KiB`);
}
