/** Tests the shop over standard input and output, with baskets in files. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stdio } from "mcp-edge/node";
import { afterAll, expect, test } from "vitest";
import { call, customer, fill, LEGACY, MODERN, open } from "./shop.ts";

const folder = mkdtempSync(join(tmpdir(), "baskets-"));
afterAll(() => rmSync(folder, { recursive: true }));

const start = () => stdio({ command: process.execPath, args: ["src/stdio.ts"], env: { BASKETS_FOLDER: folder } });

test.each([MODERN, LEGACY])(
  "a basket outlives the process that created it, and another process can order it (%s)",
  async (version) => {
    const first = await open(start(), version);
    const basket = await fill(first);
    await first.close();
    const second = await open(start(), version, { onElicit: customer().onElicit });
    expect(await call(second, "show_basket", { basket })).toContain("2 x Espresso");
    expect(await call(second, "checkout", { basket })).toContain("25.80 EUR, is on its way. Receipt: Pay on delivery.");
    await second.close();
    const third = await open(start(), version);
    expect(await call(third, "show_basket", { basket })).toContain("The basket is empty.\nOrder");
    await third.close();
  },
);
