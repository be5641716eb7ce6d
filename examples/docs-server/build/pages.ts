/** Divides documents into pages and sections. */
import { posix } from "node:path";
import type { Page, Section } from "../src/documents.ts";
import { SCHEME } from "../src/library.ts";

/** @param files All documents, to which links may lead. */
export function pageOf(file: string, text: string, files: ReadonlySet<string>): Page {
  const path = file.replace(/\.\w+$/, "");
  if (file.endsWith(".txt")) return exportsPage(path, text);
  const sections = sectionsOf(withLinks(file, text.replaceAll(/<!--[\s\S]*?-->\n?/g, ""), files));
  return { path, title: sections[0]?.heading ?? path, sections };
}

/** Divides Markdown at its headings of the levels 1 to 3. Headings in blocks of code do not count. */
function sectionsOf(markdown: string): Section[] {
  const parts: { heading: string; lines: string[] }[] = [];
  let fence: string | undefined;
  for (const line of markdown.split("\n")) {
    const [, mark] = /^ *(```+|~~~+)/.exec(line) ?? [];
    if (mark !== undefined) fence = fence === undefined ? mark : fence === mark ? undefined : fence;
    const [, heading] = (fence === undefined && /^#{1,3} (.+)$/.exec(line)) || [];
    if (heading !== undefined || parts.length === 0) parts.push({ heading: plain(heading ?? ""), lines: [] });
    parts.at(-1)?.lines.push(line);
  }
  const anchors = new Map<string, number>();
  return parts
    .map(({ heading, lines }, at) => {
      const anchor = at === 0 ? "" : anchorOf(heading);
      const count = anchors.get(anchor) ?? 0;
      anchors.set(anchor, count + 1);
      return { heading, anchor: count > 0 ? `${anchor}-${count}` : anchor, text: lines.join("\n").trim() };
    })
    .filter(({ text }) => text !== "");
}

/** The page of an entry's exports: each export is a section. */
function exportsPage(path: string, text: string): Page {
  const [title = "", ...rest] = text.split("\n");
  const declarations = rest.join("\n").split(/\n(?=export )/);
  const sections = declarations.map((declaration, at) => {
    const [, name = title] = /^export (?:declare )?(?:abstract )?\w+ (\w+)/.exec(declaration) ?? [];
    const text = at === 0 ? declaration.trim() : `\`\`\`ts\n${declaration.trim()}\n\`\`\``;
    return { heading: name, anchor: at === 0 ? "" : name.toLowerCase(), text };
  });
  return { path, title, sections: sections.filter((section) => section.text !== "") };
}

/** Converts links between documents to links that the tool `read` accepts. Other relative links lead nowhere, and become their label. */
function withLinks(file: string, markdown: string, files: ReadonlySet<string>): string {
  return markdown.replaceAll(
    /(!?)\[([^\]]*)\]\((?!\w+:)([^)\s]+)\)/g,
    (_, image: string, label: string, to: string) => {
      const [path = "", anchor = ""] = to.split("#");
      const target = path === "" ? file : posix.join(posix.dirname(file), path);
      if (image !== "" || !files.has(target)) return label;
      return `[${label}](${SCHEME}${target.replace(/\.\w+$/, "")}${anchor && `#${anchor}`})`;
    },
  );
}

/** Returns a heading without markup. */
function plain(heading: string): string {
  return heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("`", "")
    .trim();
}

/** Returns the anchor of a heading, as GitHub forms it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}
