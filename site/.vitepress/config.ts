/** The configuration of the site of the documents, which `npm run docs:site` builds. */
import { type DefaultTheme, defineConfig } from "vitepress";
import { BASE } from "../../src/look/style.ts";
import { MARKDOWN } from "../markdown.ts";
import { type Entry, pagesIn, type Section } from "../sidebar.ts";
import { OUTPUT, readSite, STAGE } from "../stage.ts";
import { pageAt } from "../texts.ts";

const { sections, pages } = readSite();

/** The design tokens of all pages of the kit, as one rule. */
const TOKENS = BASE.slice(0, BASE.indexOf("}") + 1);

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%232257d6'/%3E%3Cpath d='M4 11V5l4 4 4-4v6' fill='none' stroke='%23fff' stroke-width='1.8' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E";

export default defineConfig({
  title: "mcp-edge",
  description: "A deployment kit for Model Context Protocol servers on Cloudflare Workers.",
  lang: "en",
  srcDir: STAGE,
  srcExclude: ["public/**"],
  outDir: OUTPUT,
  cacheDir: `${STAGE}.vite`,
  cleanUrls: true,
  head: [
    ["link", { rel: "icon", href: ICON }],
    ["style", {}, TOKENS],
  ],
  transformHead: ({ pageData: { relativePath, isNotFound } }) =>
    isNotFound || relativePath === "index.md"
      ? []
      : [["link", { rel: "alternate", type: "text/markdown", href: `/${relativePath}` }]],
  markdown: MARKDOWN,
  vite: { publicDir: `${STAGE}/public`, build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    search: { provider: "local" },
    outline: { level: [2, 3] },
    nav: ["Start", "Guides", "Reference", "Changelog"].flatMap(navigationItem),
    sidebar: sections.map(sidebarSection),
    editLink: { pattern: "/:path", text: "This page as Markdown" },
  },
});

/** The link to the first page of a section. */
function navigationItem(title: string): DefaultTheme.NavItem[] {
  const section = sections.find((each) => each.title === title);
  const [first] = section ? pagesIn(section) : [];
  return first === undefined ? [] : [{ text: title, link: linkTo(first) }];
}

function sidebarSection({ title, entries, isCollapsed = false }: Section): DefaultTheme.SidebarItem {
  return { text: title, collapsed: isCollapsed, items: entries.map(sidebarItem) };
}

function sidebarItem(entry: Entry): DefaultTheme.SidebarItem {
  if (typeof entry === "string") return { text: pageAt(pages, entry).title, link: linkTo(entry) };
  return { text: entry.title, collapsed: true, items: entry.pages.map(sidebarItem) };
}

function linkTo(file: string): string {
  return `/${pageAt(pages, file).path}`;
}
