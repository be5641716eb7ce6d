// @module-tag long
/** People with a browser: a keyboard only, redirects after a form, frames and foreign pages. In Chromium. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { readBrowser, readPageForm } from "../../../src/authorization-server/pages/cookies.ts";
import { signInPages } from "../../../src/authorization-server/pages/index.ts";
import { Chromium, WITH_MOUSE } from "../../harness/chromium.ts";
import { PageServer } from "./page-server.ts";

const pages = signInPages({ name: "Dice" });

let browser: Chromium;
/** The authorization server, at 127.0.0.1. */
let server: PageServer;
/** The client, at localhost. Its callback redirects to a site of another origin, as many clients do. */
let client: PageServer;
let site: PageServer;
/** The decisions that were accepted, and how many forms were refused. */
let decisions: string[];
let refused: number;

beforeAll(async () => {
  [server, client, site] = await Promise.all([PageServer.start(), PageServer.start(), PageServer.start()]);
  const callback = `http://localhost:${client.port}/callback`;
  server.answer = async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/authorize") {
      const { cookie, codeFor } = await readBrowser(request);
      return pages.consent({
        client: { id: "c", name: "Claude" },
        redirectUri: callback,
        scopes: [],
        user: "ada",
        action: "/consent",
        request: "r1",
        code: await codeFor("consent:r1"),
        cookies: cookie === undefined ? [] : [cookie],
      });
    }
    if (pathname !== "/consent") return undefined;
    const fields = await readPageForm(request, (given) => `consent:${given.get("request")}`);
    if (fields === undefined) refused += 1;
    else decisions.push(fields.get("decision") ?? "");
    return fields === undefined ? pages.error("formRefused") : pages.goTo(`${callback}?code=secret-code`);
  };
  client.answer = () => new Response(null, { status: 302, headers: { Location: `${site.origin}/welcome` } });
  site.answer = () => new Response("<title>Welcome</title>", { headers: { "Content-Type": "text/html" } });
  browser = await Chromium.start(WITH_MOUSE);
  await browser.open(`${server.origin}/authorize`);
}, 300_000);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  for (const each of [server, client, site]) await each?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  decisions = [];
  refused = 0;
  for (const each of [server, client, site]) each.requests.length = 0;
  browser.errors.length = 0;
});

test("after Allow the browser reaches the client, which can redirect to another origin, and no referrer contains the code", async () => {
  await browser.goTo(`${server.origin}/authorize?state=secret-state`);
  await browser.click("[value=allow]");
  await browser.waitFor('document.title === "Welcome"');
  expect(decisions).toEqual(["allow"]);
  const sent = client.requests.find(({ url }) => url.includes("/callback"));
  expect(sent?.url).toContain("code=secret-code");
  expect(sent?.headers.get("Referer")).toBeNull();
  expect(site.requests[0]?.headers.get("Referer")).toBeNull();
});

test.each([
  ["Deny", 1, "deny"],
  ["Allow", 2, "allow"],
] as const)("with only a keyboard, %s is reached and pressed", async (label, tabs, decision) => {
  await browser.goTo(`${server.origin}/authorize`);
  for (let count = 0; count < tabs; count += 1) await browser.press("Tab");
  const focused =
    "({ text: document.activeElement.textContent, outline: getComputedStyle(document.activeElement).outlineStyle })";
  expect(await browser.run(focused)).toEqual({ text: label, outline: "solid" });
  await browser.press("Enter");
  await browser.waitFor('document.title === "Welcome"');
  expect(decisions).toEqual([decision]);
});

test("a click that began in another window does not press Allow, and the next click does", async () => {
  // A new tab, over which the mouse has never been.
  await browser.open(`${server.origin}/authorize`);
  await browser.clickSuddenly("[value=allow]");
  await browser.waitFor('document.querySelector("html").matches(":hover")');
  expect(await browser.run('getComputedStyle(document.querySelector("[value=allow]")).animation')).toMatch(/0\.6s/);
  expect(server.requests.filter(({ method }) => method === "POST")).toEqual([]);
  await browser.click("[value=allow]");
  await browser.waitFor('document.title === "Welcome"');
  expect(decisions).toEqual(["allow"]);
});

test("Enter without a focused button does not decide", async () => {
  await browser.goTo(`${server.origin}/authorize`);
  await browser.press("Enter");
  await browser.press(" ");
  expect(await browser.run("document.activeElement.tagName")).toBe("BODY");
  expect(decisions).toEqual([]);
  expect(server.requests.filter(({ method }) => method === "POST")).toEqual([]);
});

test("a foreign page cannot show the consent page in a frame", async () => {
  site.answer = () =>
    new Response(`<title>Frame</title><iframe src="${server.origin}/authorize"></iframe>`, {
      headers: { "Content-Type": "text/html" },
    });
  await browser.goTo(`${site.origin}/`);
  await browser.waitFor('document.title === "Frame"');
  expect(server.requests.map(({ url }) => new URL(url).pathname)).toContain("/authorize");
  const hasError = () => browser.errors.some((text) => text.includes("frame-ancestors"));
  for (let tries = 0; !hasError() && tries < 100; tries += 1)
    await browser.run("new Promise((next) => setTimeout(next, 50))");
  expect(hasError()).toBe(true);
});

test("a form that a foreign page sends is refused, although it has the code of the request", async () => {
  await browser.goTo(`${server.origin}/authorize`);
  const code = await browser.run('document.querySelector("[name=code]").value');
  site.answer = () =>
    new Response(
      `<title>Form</title><form method="post" action="${server.origin}/consent"><input name="request" value="r1"><input name="code" value="${code}"><button name="decision" value="allow">Win</button></form>`,
      { headers: { "Content-Type": "text/html" } },
    );
  await browser.goTo(`${site.origin}/`);
  await browser.waitFor('document.title === "Form"');
  await browser.click("button");
  await browser.waitFor('document.title.includes("That did not work")');
  expect({ refused, decisions }).toEqual({ refused: 1, decisions: [] });
});
