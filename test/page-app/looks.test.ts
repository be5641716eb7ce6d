// @module-tag long
/** The page of `mcp-edge dev` in light and dark mode, on wide and narrow screens. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { richEntry, sampleEntry } from "../harness/sample-entries.ts";
import { OpenedPage } from "./opened-page.ts";

let page: OpenedPage;
beforeAll(async () => {
  page = await OpenedPage.start("src/reference/index.ts");
  page.recorder.removeAll();
  for (let number = 1; number <= 12; number += 1) page.recorder.put(sampleEntry(100_000 + number));
  page.recorder.put(richEntry("200000"));
}, 300_000);
afterAll(async () => {
  await page?.[Symbol.asyncDispose]();
});

const CALL = "form.schema button.main";

const heightOf = (selector: string) => `document.querySelector('${selector}').clientHeight`;

/** The view of a recorded call, which is also selected in the list of calls. */
const RECORDED = "#/call/200000";

/** The views of the page, and the steps that open them. */
const VIEWS: readonly (readonly [name: string, hash: string, go: () => Promise<void>])[] = [
  ["the start", "", () => page.sees("An error that helps", ".cards")],
  [
    "a question",
    "#/tool/book_table",
    async () => {
      await page.press("Call", CALL);
      await page.sees("for how many?", ".asked");
    },
  ],
  [
    "a result",
    "#/tool/ship_parcel",
    async () => {
      await page.press("Call", CALL);
      await page.sees("The tool failed", ".call");
    },
  ],
  [
    "a confirmation",
    "#/tool/reset_visitors",
    async () => {
      await page.press("Call", CALL);
      await page.sees("This tool may delete", "dialog");
    },
  ],
  ["a resource", `#/resource/${encodeURIComponent("tour://visitors")}`, () => page.sees("visits:", ".call")],
  ["a prompt", "#/prompt/explain-code", () => page.sees("language", "label")],
  ["a recorded call", RECORDED, () => page.sees("In order", ".events")],
  ["the objects", "#/objects", () => page.sees("No objects yet.")],
  ["the settings", "#/settings", () => page.sees("Connected with")],
  ["the tasks", "#/tasks", () => page.sees("Tasks", ".open h1")],
];

/** The lists beside the details, which are in tabs of their own on a narrow screen. */
const LISTS = [
  [360, "Server"],
  [360, "Calls"],
] as const;
/** The views beside which the lists are examined: in each list, the item of one of them is selected. */
const BESIDE = [RECORDED, "#/tool/ship_parcel"];

describe.each(["light", "dark"])("in %s mode", (mode) => {
  test.each(VIEWS)(
    "axe finds no accessibility violations in %s, and the page does not scroll horizontally",
    async (_, hash, go) => {
      await page.browser.setMedia({ "prefers-color-scheme": mode, "prefers-reduced-motion": "reduce" });
      await page.browser.resize(1400, 900);
      await page.open(hash);
      await go();
      const details = [1400, 900, 360].map((width) => [width, "Details"] as const);
      for (const [width, pane] of BESIDE.includes(hash) ? [...details, ...LISTS] : details) {
        await page.browser.resize(width, 740);
        const press = `[...document.querySelectorAll('.tabs button')].find((each) => each.innerText === '${pane}')?.click()`;
        if (width === 360) await page.browser.run(press);
        expect([width, pane, await page.browser.findBarriers()]).toEqual([width, pane, []]);
        expect(await page.browser.run("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
        if (pane === "Calls") expect(await page.browser.run(heightOf(".entries"))).toBeGreaterThan(300);
      }
    },
  );

  test("all actions for the calls can be reached on every screen, and Escape closes them", async () => {
    await page.open("#/tasks");
    for (const [width, height] of [
      [1400, 900],
      [1000, 700],
      [360, 640],
    ] as const) {
      await page.browser.resize(width, height);
      if (width === 360) await page.press("Calls", ".tabs button");
      await page.press("More actions", "button");
      const last = "[...document.querySelectorAll('.menu button')].at(-1)";
      await page.browser.run(`${last}.scrollIntoView()`);
      const isInWindow = `(({ left, right, top, bottom }) => left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight)`;
      expect(await page.browser.run(`${isInWindow}(document.querySelector('.menu').getBoundingClientRect())`)).toBe(
        true,
      );
      expect(await page.browser.run(`${isInWindow}(${last}.getBoundingClientRect())`)).toBe(true);
      expect(await page.browser.findBarriers()).toEqual([]);
      await page.browser.press("Escape");
      expect(await page.browser.run(heightOf(".menu"))).toBe(0);
    }
  });
});
