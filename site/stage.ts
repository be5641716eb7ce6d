/** Writes what VitePress reads and what it does not build: pages, images, the texts for coding agents, and the headers of Cloudflare. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../scripts/tools.ts";
import { documentFiles, type Page, readPages, withThemedPictures } from "./pages.ts";
import { type Section, sectionsOf } from "./sidebar.ts";
import { allPages, listOfPages } from "./texts.ts";

/** The folder of the configuration of VitePress. */
export const SITE = join(ROOT, "site");
/** The folder with the pages that VitePress reads. */
export const STAGE = join(ROOT, "node_modules/.cache/mcp-edge-site");
/** The folder of the built site. */
export const OUTPUT = join(ROOT, "dist/site");

/** Reads the documents. */
export function readSite(): { readonly sections: readonly Section[]; readonly pages: ReadonlyMap<string, Page> } {
  const files = documentFiles();
  return { sections: sectionsOf(files), pages: new Map(readPages(files).map((page) => [page.file, page])) };
}

/** Writes the pages for VitePress. Only files that have changed are written, so that a server of VitePress reloads only these. */
export function stage(): void {
  const { pages } = readSite();
  for (const { path, text } of pages.values()) {
    write(join(STAGE, `${path}.md`), withFrontmatter(withThemedPictures(text)));
  }
  const home = readFileSync(join(SITE, "index.md"), "utf8").replaceAll("../docs/", "./");
  write(join(STAGE, "index.md"), withThemedPictures(home));
  cpSync(join(ROOT, "docs/images"), join(STAGE, "images"), { recursive: true });
  const copied = join(STAGE, "public");
  writeTexts(copied);
  cpSync(join(SITE, "_headers"), join(copied, "_headers"));
}

/** Writes the texts for coding agents into a folder: each page as Markdown, `llms.txt` and `llms-full.txt`. */
export function writeTexts(folder: string): void {
  const { sections, pages } = readSite();
  for (const { path, text } of pages.values()) write(join(folder, `${path}.md`), text);
  write(join(folder, "llms.txt"), listOfPages(sections, pages));
  write(join(folder, "llms-full.txt"), allPages(sections, pages));
}

/** Adds the settings of a page. They are always there, so that lines at the beginning of a document are never read as settings. */
export function withFrontmatter(text: string): string {
  return `---\naside: ${!isWide(text)}\n---\n\n${text}`;
}

/** Returns whether a page has a table with five columns or more, which needs the place of the outline. */
function isWide(text: string): boolean {
  return /^\| --- (\| --- ){4}/m.test(text);
}

/** Removes the pages of an earlier build, which may no longer exist. */
export function clear(): void {
  for (const folder of [STAGE, OUTPUT]) rmSync(folder, { recursive: true, force: true });
}

function write(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, "utf8") === text) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
