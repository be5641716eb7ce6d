// @module-tag long
/** The page of `page()` in Chromium: a server with everything that it can show. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Chromium } from "../harness/chromium.ts";

let worker: TestWorker;
let browser: Chromium;
beforeAll(async () => {
  worker = await startWorker({ entry: "test/worker/fixtures/product-page.ts" });
  browser = await Chromium.start();
  await browser.open(worker.url("/mcp"));
}, 300_000);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await worker?.stop();
});
beforeEach(() => {
  browser.errors.length = 0;
});

const text = () => browser.run("document.body.innerText") as Promise<string>;
const openAll = "for (const each of document.querySelectorAll('details')) each.open = true";

describe.each(["light", "dark"])("in %s mode", (scheme) => {
  test.each([1400, 900, 360])("axe finds no barrier at %i pixels, and nothing scrolls sideways", async (width) => {
    await browser.setMedia({ "prefers-color-scheme": scheme });
    await browser.resize(width, 900);
    for (const path of ["/mcp", "/plain/mcp", "/refused/mcp"]) {
      await browser.goTo(worker.url(path));
      await browser.run(openAll);
      expect(await browser.findBarriers()).toEqual([]);
      expect(await browser.run("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    }
    expect(browser.errors.filter((each) => !each.includes("status of 401"))).toEqual([]);
  });
});

test("shows the brand, the description, the instructions, and each definition with its arguments", async () => {
  await browser.goTo(worker.url("/mcp"));
  await browser.run(openAll);
  const shown = await text();
  for (const part of [
    "Northwind Logistics 2.4.0",
    "Track shipments, get quotes",
    "northwind.example",
    "Look up a shipment before you change it.",
    "May delete or overwrite",
    '"economy" | "express" | "overnight"',
    "Write a notice about a delay",
    "northwind://tariffs",
    "northwind://shipments/{number}",
  ]) {
    expect(shown).toContain(part);
  }
  expect(await browser.run("document.title")).toBe("Northwind Logistics: MCP server");
  expect(await browser.run("document.images[0].naturalWidth > 0")).toBe(true);
});

test("lists definitions with a group after the others, folded under its name", async () => {
  await browser.goTo(worker.url("/mcp"));
  const groups = "[...document.querySelectorAll('.group')].map(({ open, innerText }) => [open, innerText])";
  expect(await browser.run(groups)).toEqual([[false, "Partners 2"]]);
  await browser.click(".group summary");
  expect(await text()).toMatch(/Cancel a pickup[\s\S]*Partners 2\s+list_depots/);
});

test("a button copies its text, and says so", async () => {
  await browser.goTo(worker.url("/mcp"));
  await browser.run(
    "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } })",
  );
  await browser.click(".copy button");
  await browser.waitFor("document.querySelector('[role=status]').textContent === 'Copied'");
  expect(await browser.run("window.copied")).toBe(worker.url("/mcp"));
  await browser.waitFor("document.querySelector('.copy button').textContent === 'Copy'");
});

test("without a clipboard, a button selects the text", async () => {
  await browser.goTo(worker.url("/mcp"));
  await browser.run(
    "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async () => { throw new Error(); } } })",
  );
  await browser.click(".copy button");
  await browser.waitFor(`getSelection().toString() === ${JSON.stringify(worker.url("/mcp"))}`);
});

test("a caller who is refused sees the brand and how to connect, but not what the server offers", async () => {
  await browser.goTo(worker.url("/refused/mcp"));
  const shown = await text();
  expect(shown).toContain("Northwind Logistics");
  expect(shown).toContain("Add to Cursor");
  expect(shown).not.toMatch(/shipment|2\.4\.0|curl/i);
});
