/** Documents that try to be more than text on the site. */
import { expect, test } from "vitest";
import { MARKDOWN } from "../../site/markdown.ts";
import { withFrontmatter } from "../../site/stage.ts";

/** Not a literal: the types of VitePress would add those of browsers to the types of the tests. */
const VITEPRESS: string = "vitepress";
const { createMarkdownRenderer } = (await import(VITEPRESS)) as {
  createMarkdownRenderer(
    folder: string,
    options: typeof MARKDOWN,
  ): Promise<{ renderAsync(text: string, env?: object): Promise<string> }>;
};
const markdown = await createMarkdownRenderer(import.meta.dirname, MARKDOWN);

/** Matches two braces that are not in an attribute, where Vue evaluates nothing. */
const BRACES = /\{\{(?![^<>]*">)/;

test.each([
  { text: "a {{ process.exit(7) }} b", not: BRACES },
  { text: "# a {{ process.exit(7) }} b", not: BRACES },
  { text: "| {{ a }} |\n| --- |\n| {{ b }} |", not: BRACES },
  { text: "[{{ a }}](https://example.com/)", not: BRACES },
  { text: "a `{{ process.exit(7) }}` b", not: BRACES },
  { text: "a\n\n<script setup>\nprocess.exit(7)\n</script>", not: /<script/ },
  { text: "a <img src=x onerror=alert(1)> b", not: /<img/ },
  { text: "<component :is=\"'script'\">", not: /<component/ },
  { text: "# Title {onclick=alert(1)}", not: /<[^>]* onclick/ },
  { text: "**a**{v-html=location.hash}", not: /<[^>]* v-html/ },
  { text: "[a](javascript:alert(1))", not: /href="javascript/ },
  { text: "<<< ./hostile-documents.test.ts", not: /createMarkdownRenderer/ },
  { text: "<<< @/hostile-documents.test.ts", not: /createMarkdownRenderer/ },
  { text: "<!--@include: ./hostile-documents.test.ts-->", not: /createMarkdownRenderer/ },
])("$text is text", async ({ text, not }) => {
  expect(await markdown.renderAsync(text, { path: import.meta.filename })).not.toMatch(not);
});

test("braces and classes of pictures are kept", async () => {
  expect(await markdown.renderAsync("a {b} c")).toBe("<p>a &#123;b} c</p>\n");
  expect(await markdown.renderAsync("a `{{ b }}`")).toContain("<code>&#123;&#123; b }}</code>");
  expect(await markdown.renderAsync("![a](https://example.com/a.png){.dark-only}")).toContain('class="dark-only"');
});

test.each(["---\nhead: [[script, {}, alert(1)]]\n---\n\n# A", "---js\n{ head: process.exit(7) }\n---\n\n# A"])(
  "lines at the beginning of a document are not settings of its page (%j)",
  (text) => {
    expect(withFrontmatter(text)).toBe(`---\naside: true\n---\n\n${text}`);
  },
);
