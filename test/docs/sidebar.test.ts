/** The pages of the site: their order, their links and their lengths. `site.test.ts` builds the site. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { anchorsOf, documentFiles, linksOf, pageOf, pathOf, targetOf, withThemedPictures } from "../../site/pages.ts";
import { pagesIn, sectionsOf } from "../../site/sidebar.ts";
import { readSite } from "../../site/stage.ts";
import { allPages, listOfPages } from "../../site/texts.ts";

const ROOT = join(import.meta.dirname, "../..");
const files = documentFiles();
const documents = files.filter((file) => file.endsWith(".md"));
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const proseOf = (markdown: string) => markdown.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, "");

test("the sidebar contains every document once", () => {
  expect(sectionsOf(files).flatMap(pagesIn).sort()).toEqual(files);
});

test("the sections are in the order in which a reader needs them", () => {
  expect(sectionsOf(files).map(({ title }) => title)).toEqual([
    "Start",
    "Tutorial",
    "Guides",
    "Concepts",
    "Hosts",
    "Operate",
    "Security",
    "Reference",
    "Migration",
    "Changelog",
  ]);
});

test.each([
  ["Hosts", "docs/hosts/README.md", 11],
  ["Migration", "docs/migration/README.md", 7],
])("the section %s begins with its index", (name, index, count) => {
  const pages = sectionsOf(files)
    .filter(({ title }) => title === name)
    .flatMap(pagesIn);
  expect(pages[0]).toBe(index);
  expect(pages).toHaveLength(count);
});

test("a document that the sidebar does not list is not found there", () => {
  const listed = sectionsOf([...files, "docs/guides/unlisted.md"]).flatMap(pagesIn);
  expect(listed).not.toContain("docs/guides/unlisted.md");
});

test("a section and a group without documents are omitted", () => {
  const sections = sectionsOf(["docs/start.md", "docs/guides/client.md", "docs/tutorial/1-first-server.md"]);
  expect(sections).toEqual([
    { title: "Start", entries: ["docs/start.md"] },
    { title: "Tutorial", entries: ["docs/tutorial/1-first-server.md"] },
    { title: "Guides", entries: [{ title: "Write a client", pages: ["docs/guides/client.md"] }] },
  ]);
});

test("every document has a title and another path than all other documents", () => {
  expect(documents.filter((file) => !/^# \S/m.test(read(file)))).toEqual([]);
  expect(new Set(files.map(pathOf)).size).toBe(files.length);
});

test.each(documents)("every link in %s leads to a page, a heading or a file", (name) => {
  for (const link of linksOf(read(name))) {
    const { file, anchor } = targetOf(name, link);
    expect(() => readFileSync(join(ROOT, file)), link).not.toThrow(/ENOENT/);
    if (anchor !== "") expect(anchorsOf(read(file)), link).toContain(anchor);
  }
});

const PICTURES = documents.flatMap((file) =>
  [...read(file).matchAll(/<(?:img|source) [^>]*(?:src|srcset)="([^"]+)"/g)].map(([, link = ""]) => ({ file, link })),
);

test("every picture exists, in light and dark, and has at most 150 KB", () => {
  expect(PICTURES.length).toBeGreaterThanOrEqual(10);
  for (const { file, link } of PICTURES) {
    const path = join(ROOT, targetOf(file, link).file);
    for (const each of [path, path.replace(/(-dark)?\.png$/, "-dark.png")]) {
      expect(statSync(each).size, each).toBeLessThanOrEqual(150_000);
    }
  }
  expect(documents.filter((file) => /^ *<(?!\/?(?:picture|source|img)\b|!--)[a-z]/m.test(proseOf(read(file))))).toEqual(
    [],
  );
});

/** The command line has one row for each command. */
const LONGER: Readonly<Record<string, number>> = { "docs/guides/command-line.md": 160 };

test.each(documents.filter((file) => /^docs\/(guides|concepts|tutorial|hosts|migration)\//.test(file)))(
  "%s has at most 150 lines",
  (file) => {
    expect(read(file).trimEnd().split("\n").length).toBeLessThanOrEqual(LONGER[file] ?? 150);
  },
);

test("the instructions for coding agents have at most 100 lines", () => {
  expect(read("docs/for-agents.md").trimEnd().split("\n").length).toBeLessThanOrEqual(100);
});

test.each([...documents, "README.md", "src/cli/commands/new/shared/AGENTS.md", "examples/docs-server/README.md"])(
  "the commands in %s pass the arguments of tools as options, which mcp-edge call requires",
  (file) => {
    const calls = [...read(file).matchAll(/mcp-edge call \S+ \S+ \w+=/g)].map(([command]) => command);
    expect(calls).toEqual([]);
  },
);

describe("a page", () => {
  const known = new Set(["docs/guides/client.md", "docs/guides/once.md", "SECURITY.md", "docs/decisions/001-a.md"]);
  const textOf = (markdown: string) => pageOf("docs/guides/client.md", markdown, known).text;

  test.each([
    { link: "[once](once.md)", page: "[once](/guides/once.md)", why: "a document in the same folder" },
    { link: "[a `b` [c]](once.md#d)", page: "[a `b` [c]](/guides/once.md#d)", why: "an anchor of a document" },
    { link: "[threats](../../SECURITY.md)", page: "[threats](/threats.md)", why: "a document in the root" },
    { link: "[here](#top)", page: "[here](/guides/client.md#top)", why: "an anchor of the same document" },
    { link: "[all](../decisions)", page: "[all](/decisions/001-a.md)", why: "the first page of a folder" },
    { link: "[it](../../README.md#test-it)", page: "[it](/start.md)", why: "the start in place of the README" },
    { link: "the [gateway](../../templates/gateway)", page: "the gateway", why: "a folder that is not in the site" },
    { link: "[MCP](https://example.com)", page: "[MCP](https://example.com)", why: "another site" },
    { link: "![A call](../images/a.png)", page: "![A call](../images/a.png)", why: "an image" },
    { link: "a <!-- hidden -->b", page: "a b", why: "a comment" },
    { link: "```ts\n[a](b.md)\n```", page: "```ts\n[a](b.md)\n```", why: "code" },
  ])("has $page for $why", ({ link, page }) => {
    expect(textOf(link)).toBe(page);
  });

  test("shows a picture of the theme that the reader has chosen in the site", () => {
    const picture =
      '<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="../images/a-dark.png">\n  <img alt="A call" src="../images/a.png">\n</picture>';
    expect(withThemedPictures(`Before.\n\n${picture}\n`)).toBe(
      "Before.\n\n![A call](../images/a.png){.light-only}\n![A call](../images/a-dark.png){.dark-only}\n",
    );
    expect(withThemedPictures(`\`\`\`html\n${picture}\n\`\`\``)).toContain("<picture>");
  });

  test("is summarized by its first sentence, without markup", () => {
    const { title, summary } = pageOf(
      "docs/guides/client.md",
      "# The `client`\n\n`connect()` *opens* [a](b.md) one:\n",
      known,
    );
    expect({ title, summary }).toEqual({ title: "The client", summary: "connect() opens a one." });
  });
});

describe("the texts for coding agents", () => {
  const { sections, pages } = readSite();

  test("list each page with its summary, in the order of the sidebar", () => {
    const links = [...listOfPages(sections, pages).matchAll(/^- \[.+\]\(\/(.+)\.md\): .+\.$/gm)].map(
      ([, path]) => path,
    );
    expect(links).toEqual(sections.flatMap(pagesIn).map(pathOf));
  });

  test("contain each page", () => {
    const paths = [...allPages(sections, pages).matchAll(/^<!-- \/(.+)\.md -->$/gm)].map(([, path]) => path);
    expect(paths).toEqual(sections.flatMap(pagesIn).map(pathOf));
  });
});
