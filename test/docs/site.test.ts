// @module-tag long
/** The site of the documents, as `npm run docs:site` builds it: without a network, complete, and usable by everyone. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { documentFiles, pathOf } from "../../site/pages.ts";
import { OUTPUT, SITE } from "../../site/stage.ts";
import { Chromium } from "../harness/chromium.ts";
import { runToolQuietly } from "../harness/tools.ts";

/** A module that makes every connection of a process fail. */
const WITHOUT_NETWORK = `data:text/javascript,${encodeURIComponent(
  'import net from "node:net"; net.Socket.prototype.connect = () => { throw new Error("This build uses the network."); };',
)}`;

let built: { readonly status: number | null; readonly output: string };
let server: Server;
let browser: Chromium;
beforeAll(async () => {
  const { status, stdout, stderr } = spawnSync("node", ["--import", WITHOUT_NETWORK, join(SITE, "build.ts")], {
    encoding: "utf8",
  });
  built = { status, output: `${stdout}${stderr}` };
  server = createServer(({ url = "/" }, response) => {
    const found = fileAt(new URL(url, "http://localhost").pathname);
    const { type, bytes } = found.bytes ? found : fileAt("/404");
    response.writeHead(found.bytes ? 200 : 404, { "Content-Type": type }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  browser = await Chromium.start();
  await browser.open("about:blank");
}, 600_000);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  server?.close();
});

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".png": "image/png",
  ".svg": "image/svg+xml",
};

/** The file for a path, as Cloudflare's static assets find it. */
function fileAt(path: string): { readonly type: string; readonly bytes: Buffer | undefined } {
  const name = path === "/" ? "/index.html" : extname(path) === "" ? `${path}.html` : path;
  const file = join(OUTPUT, name);
  const bytes = file.startsWith(OUTPUT) && existsSync(file) ? readFileSync(file) : undefined;
  return { type: TYPES[extname(name)] ?? "text/plain; charset=utf-8", bytes };
}

const urlOf = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
const read = (name: string) => readFileSync(join(OUTPUT, name), "utf8");
const pages = documentFiles().map(pathOf);

test("the site is built without a network and without dead links", () => {
  expect(built.status, built.output).toBe(0);
  expect(built.output).toContain("build complete");
  expect(built.output).not.toMatch(/dead link/i);
});

test("each document is a page, and exists beside it as Markdown", () => {
  expect(pages.filter((path) => !existsSync(join(OUTPUT, `${path}.html`)))).toEqual([]);
  expect(pages.filter((path) => !/^# \S/m.test(read(`${path}.md`)))).toEqual([]);
});

test("every link and anchor in the pages leads to a page of the site", () => {
  const anchors = new Map(
    pages.map((path) => [path, [...read(`${path}.html`).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)]),
  );
  const broken = pages.flatMap((path) =>
    [...read(`${path}.html`).matchAll(/<a [^>]*href="\/([^"#]*)(?:#([^"]*))?"/g)].flatMap(([, to = "", anchor]) => {
      if (to === "" || to.endsWith(".md")) return to === "" || existsSync(join(OUTPUT, to)) ? [] : [`${path}: ${to}`];
      const isThere = anchor ? anchors.get(to)?.includes(decodeURIComponent(anchor)) : anchors.has(to);
      return isThere ? [] : [`${path}: ${to}#${anchor}`];
    }),
  );
  expect(broken).toEqual([]);
});

test("llms.txt lists each page, and llms-full.txt contains it", () => {
  const listed = [...read("llms.txt").matchAll(/^- \[.+\]\(\/(.+)\.md\)/gm)].map(([, path = ""]) => path);
  expect(listed.sort()).toEqual([...pages].sort());
  const full = read("llms-full.txt");
  expect(pages.filter((path) => !full.includes(`<!-- /${path}.md -->`))).toEqual([]);
});

test("pages load nothing from another origin", () => {
  const loaded = pages.flatMap((path) => [
    ...read(`${path}.html`).matchAll(
      /<(?:script|img|iframe)[^>]* src="(https?:[^"]+)|<link [^>]*href="(https?:[^"]+)/g,
    ),
  ]);
  expect(loaded.map(([text]) => text)).toEqual([]);
});

test("wrangler accepts the Worker that serves the site", { timeout: 120_000 }, () => {
  const deployed = runToolQuietly("wrangler", ["deploy", "--dry-run", "--config", join(SITE, "wrangler.toml")]);
  expect(deployed.status, deployed.output).toBe(0);
});

/** A page of each kind: the first page, text, code, pictures, tables of several widths, and what is shown for an unknown path. */
const READ = [
  "/",
  "/start",
  "/guides/client",
  "/guides/page",
  "/reference/limits",
  "/concepts/eras",
  "/hosts/README",
  "/hosts/claude-code",
  "/missing",
];
test.each(READ.flatMap((path) => ["light", "dark"].map((scheme) => ({ path, scheme }))))(
  "axe finds no barrier in $path, $scheme",
  { timeout: 120_000 },
  async ({ path, scheme }) => {
    await browser.setMedia({ "prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce" });
    await browser.resize(1280, 900);
    await browser.goTo(urlOf(path));
    await browser.waitFor(`document.documentElement.classList.contains("dark") === ${scheme === "dark"}`);
    await browser.waitFor("document.querySelector('h1') !== null");
    expect(await browser.findBarriers()).toEqual([]);
  },
);

test.each(["light", "dark"])(
  "pictures follow the theme that the reader has chosen, %s",
  { timeout: 120_000 },
  async (scheme) => {
    // The system has the other scheme.
    const system = scheme === "dark" ? "light" : "dark";
    await browser.setMedia({ "prefers-color-scheme": system, "prefers-reduced-motion": "reduce" });
    await browser.resize(1280, 900);
    await browser.goTo(urlOf("/guides/page"));
    await browser.waitFor(`document.documentElement.classList.contains("dark") === ${system === "dark"}`);
    await browser.waitFor("(document.querySelector('.VPSwitchAppearance').click(), true)");
    await browser.waitFor(`document.documentElement.classList.contains("dark") === ${scheme === "dark"}`);
    const shown = await browser.run(
      "[...document.querySelectorAll('.vp-doc img')].filter((each) => each.checkVisibility()).map(({ src }) => new URL(src).pathname.replace(/\\.[^/]*$/, ''))",
    );
    const suffix = scheme === "dark" ? "-dark" : "";
    expect(shown).toEqual([`/assets/page${suffix}`, `/assets/dev-page${suffix}`]);
    await browser.run("localStorage.clear()");
  },
);

test("no page is wider than a small screen", { timeout: 120_000 }, async () => {
  await browser.resize(360, 740);
  for (const path of READ) {
    await browser.goTo(urlOf(path));
    expect(await browser.run("document.documentElement.scrollWidth"), path).toBeLessThanOrEqual(360);
  }
});

test("the search finds a page by its words", { timeout: 120_000 }, async () => {
  await browser.resize(1280, 900);
  await browser.goTo(urlOf("/start"));
  // The button works once the page is hydrated.
  await browser.waitFor(
    "(document.querySelector('.VPNavBarSearch button').click(), document.querySelector('.VPLocalSearchBox input') !== null)",
  );
  await browser.run("document.querySelector('.VPLocalSearchBox input').focus()");
  await browser.type("introspection");
  await browser.waitFor(
    "[...document.querySelectorAll('.VPLocalSearchBox .result')].some(({ href }) => href.includes('/guides/authorization-tokens'))",
  );
});
