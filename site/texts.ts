/** The files of the site for coding agents: `llms.txt`, which lists the pages, and `llms-full.txt`, which contains them. */
import type { Page } from "./pages.ts";
import { pagesIn, type Section } from "./sidebar.ts";

const INTRODUCTION = `# mcp-edge

> A deployment kit for Model Context Protocol servers on Cloudflare Workers, in TypeScript. Tools are written once, and clients of every
> protocol version, 2024-11-05 to 2026-07-28, use them at one URL.

Every page of this site is also available as Markdown: add \`.md\` to its path. \`/for-agents.md\` is the shortest complete instruction for
creating a server. \`/llms-full.txt\` contains all pages.
`;

/** Returns the list of pages, in the order of the sidebar, in the format of https://llmstxt.org. */
export function listOfPages(sections: readonly Section[], pages: ReadonlyMap<string, Page>): string {
  const lists = sections.map((section) => {
    const lines = pagesIn(section).map((file) => {
      const { path, title, summary } = pageAt(pages, file);
      return `- [${title}](/${path}.md)${summary && `: ${summary}`}\n`;
    });
    return `## ${section.title}\n\n${lines.join("")}`;
  });
  return [INTRODUCTION, ...lists].join("\n");
}

/** Returns all pages in one text, in the order of the sidebar, each with its path. */
export function allPages(sections: readonly Section[], pages: ReadonlyMap<string, Page>): string {
  const texts = sections.flatMap(pagesIn).map((file) => {
    const { path, text } = pageAt(pages, file);
    return `<!-- /${path}.md -->\n\n${text.trim()}\n`;
  });
  return texts.join("\n");
}

/** @throws {Error} if the page does not exist. */
export function pageAt(pages: ReadonlyMap<string, Page>, file: string): Page {
  const page = pages.get(file);
  if (!page) throw new Error(`${file} is in the sidebar and is not a document.`);
  return page;
}
