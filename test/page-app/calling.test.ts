// @module-tag long
/** Calling what a server offers, with the page of `mcp-edge dev`, in both eras. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OpenedPage } from "./opened-page.ts";

let page: OpenedPage;
beforeAll(async () => {
  page = await OpenedPage.start("src/reference/index.ts");
}, 300_000);
afterAll(async () => {
  await page?.[Symbol.asyncDispose]();
});

describe.each(["2026-07-28", "2025-11-25"])("in %s", (version) => {
  test("lists the tools, calls one, and shows its result", async () => {
    await page.open("#/tool/add", { version });
    await page.sees(version, ".top");
    await page.sees("Adds two numbers");
    await page.fill("a", "2");
    await page.fill("b", "40");
    await page.press("Call", "form button");
    await page.sees("Done", ".call");
    await page.sees('{"sum":42}', ".model");
    expect(page.problems).toEqual([]);
  });
});
