/** The pages of the site: every document in `docs`, and the documents in the repository's root that users read. */
import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { ROOT } from "../scripts/tools.ts";

/** A page of the site. */
export interface Page {
  /** The document in the repository, such as `docs/guides/client.md`. */
  readonly file: string;
  /** The path in the site without its extension, such as `guides/client`. */
  readonly path: string;
  readonly title: string;
  /** The first sentence of the document. */
  readonly summary: string;
  /** The Markdown, with links that are valid in the site. */
  readonly text: string;
}

/** The documents outside of `docs` that are pages, with their paths. */
const ROOT_PAGES: Readonly<Record<string, string>> = {
  "SECURITY.md": "threats",
  "CHANGELOG.md": "changelog",
  "CONTRIBUTING.md": "contributing",
};

/** The page in place of the README, which introduces the repository and not the site. */
const README_PAGE = "docs/start.md";

const FENCE = /^( *)```[\s\S]*?^\1```$/gm;
const LINK = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\((?!\w+:)([^)\s]+)\)/g;

/** Returns the paths of all documents that are pages, in alphabetical order. */
export function documentFiles(): string[] {
  const found = globSync("docs/**/*.{md,txt}", { cwd: ROOT }).map((file) => file.replaceAll("\\", "/"));
  return [...found, ...Object.keys(ROOT_PAGES)].sort();
}

/** Reads the pages of documents. */
export function readPages(files: readonly string[]): Page[] {
  const known = new Set(files);
  return files.map((file) => {
    const text = readFileSync(join(ROOT, file), "utf8");
    return pageOf(file, file.endsWith(".txt") ? exportsPage(file, text) : text, known);
  });
}

/** @param known The documents that are pages, to which links may lead. */
export function pageOf(file: string, markdown: string, known: ReadonlySet<string>): Page {
  const text = outsideFences(markdown, (prose) =>
    prose.replaceAll(/<!--[\s\S]*?-->\n?/g, "").replaceAll(LINK, (link, image: string, label: string, to: string) => {
      return image ? link : siteLink(file, label, to, known);
    }),
  );
  return { file, path: pathOf(file), title: titleOf(text), summary: summaryOf(text), text };
}

/** Matches a picture with a version for dark mode, as GitHub shows it. */
const PICTURE = /<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img alt="([^"]+)" src="([^"]+)">\s*<\/picture>/g;

/** Returns a page in which pictures follow the theme that the reader has chosen in the site, and not that of the system. */
export function withThemedPictures(text: string): string {
  return outsideFences(text, (prose) =>
    prose.replaceAll(PICTURE, (_, dark: string, alt: string, light: string) => {
      return `![${alt}](${light}){.light-only}\n![${alt}](${dark}){.dark-only}`;
    }),
  );
}

/** Returns the path of a document's page, without its extension. */
export function pathOf(file: string): string {
  return ROOT_PAGES[file] ?? file.replace(/^docs\//, "").replace(/\.\w+$/, "");
}

/** Returns the document and the anchor that a link leads to. */
export function targetOf(file: string, to: string): { readonly file: string; readonly anchor: string } {
  const [path = "", anchor = ""] = to.split("#");
  return { file: path === "" ? file : posix.join(posix.dirname(file), path).replace(/\/$/, ""), anchor };
}

/** Returns the links of a document to other files, and within the document. Code blocks are ignored. */
export function linksOf(markdown: string): string[] {
  const prose = markdown.replaceAll(FENCE, "");
  return [...prose.matchAll(LINK)].filter(([, image]) => !image).map(([, , , to = ""]) => to);
}

/** Returns the anchors of a document's headings. */
export function anchorsOf(markdown: string): string[] {
  return [...markdown.replaceAll(FENCE, "").matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading));
}

/** Returns the anchor of a heading, as GitHub forms it, so that a link is valid there and in the site. */
export function anchorOf(heading: string): string {
  return heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

/** Converts a link to a link in the site. A link to a file that is not a page becomes its label. */
function siteLink(file: string, label: string, to: string, known: ReadonlySet<string>): string {
  const target = targetOf(file, to);
  if (target.file === "README.md") return `[${label}](/${pathOf(README_PAGE)}.md)`;
  const page = known.has(target.file) ? target.file : [...known].find((each) => each.startsWith(`${target.file}/`));
  if (page === undefined) return label;
  return `[${label}](/${pathOf(page)}.md${target.anchor && `#${target.anchor}`})`;
}

/** The page of an entry's exports, which `npm run api` writes as text. */
function exportsPage(file: string, text: string): string {
  const name = posix.basename(file, ".txt").replace(/^index$/, "");
  const entry =
    name === "" ? "mcp-edge" : `mcp-edge/${ENTRIES.find((each) => each.replaceAll("/", "-") === name) ?? name}`;
  return `# ${entry}\n\nEverything that \`${entry}\` exports, with its types.\n\n\`\`\`ts\n${text.trimEnd()}\n\`\`\`\n`;
}

/** The entries of the package, such as `worker/durable`. */
const ENTRIES = Object.keys((JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest).exports).map(
  (entry) => entry.replace(/^\.\/?/, ""),
);
interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
}

function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1]?.replaceAll("`", "") ?? "";
}

/** Returns the first sentence of the first paragraph, as plain text. */
function summaryOf(text: string): string {
  const paragraphs = text.replaceAll(FENCE, "").split(/\n{2,}/);
  const first = paragraphs.find((each) => /^[\p{L}`[*@]/u.test(each)) ?? "";
  const plain = first
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[`*]/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
  return (/^.+?[.:](?= |$)/.exec(plain)?.[0] ?? plain).replace(/:$/, ".");
}

/** Changes the parts of a document that are not code blocks. */
function outsideFences(markdown: string, change: (prose: string) => string): string {
  let text = "";
  let end = 0;
  for (const { 0: block, index } of markdown.matchAll(FENCE)) {
    text += change(markdown.slice(end, index)) + block;
    end = index + block.length;
  }
  return text + change(markdown.slice(end));
}
