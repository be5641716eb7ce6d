// @module-tag long
/** The page of `mcp-edge dev` with the real recorder, workerd and wrangler, in both eras. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { buildPageApp } from "../../scripts/page-app.ts";
import { ROOT } from "../../scripts/tools.ts";
import { connect } from "../../src/client/index.ts";
import type { RecordingFile } from "../../src/recorder/api.ts";
import type { Entry } from "../../src/recorder/entry.ts";
import { until } from "../../src/testing/until.ts";
import { type Dev, Project, START_MS } from "../recorder/dev-project.ts";
import { LegacyClient, ModernClient } from "../worker/client.ts";
import { PageDriver } from "./page-driver.ts";

const project = new Project(`export { default, McpObject } from "${ROOT}src/reference/index.ts";`);
let dev: Dev;
let page: PageDriver;
beforeAll(async () => {
  await buildPageApp(`${ROOT}dist/page-app`);
  dev = await project.dev("--contents", "--faults");
  page = await PageDriver.open(dev.url("/__mcp-edge/"));
}, 2 * START_MS);
afterAll(async () => {
  await page?.[Symbol.asyncDispose]();
  await dev?.[Symbol.asyncDispose]();
  project[Symbol.dispose]();
});
afterEach(() => {
  // This test breaks connections deliberately.
  expect(page.problems.filter((text) => !/net::ERR_(CONNECTION_RESET|INCOMPLETE|EMPTY|NETWORK)/.test(text))).toEqual(
    [],
  );
});

const CALL = "form.schema button.main";

/** Opens the entry of the page's last call. */
async function openEntry(target: string): Promise<Entry> {
  await page.press("View trace", ".call a");
  await page.sees(target, "h1");
  const hash = (await page.browser.run("location.hash")) as string;
  const id = hash.slice("#/call/".length);
  return dev.entry(target, (summary) => summary.id === id);
}

describe.each(["2026-07-28", "2025-11-25"])("in %s", (version) => {
  const open = (hash: string) => page.open(hash, { version });
  const isLegacy = version === "2025-11-25";

  test("a call of the page appears in the list immediately, and shows its lanes, messages and price", async () => {
    await open("#/tool/add");
    await page.fill("a", "2");
    await page.fill("b", "40");
    await page.press("Call", CALL);
    await page.sees("add tools/call", ".row");
    const entry = await openEntry("add");
    await page.sees(version, ".tags");
    await page.sees(`$${entry.dollarsPerMillion.toFixed(2)}`, ".figures");
    await page.sees("serves a request", ".events");
    const lanes = (await page.texts(".lane > span")).slice(1);
    expect(lanes.slice(0, 2)).toEqual([expect.stringContaining("Client mcp-edge page"), "Worker"]);
    if (isLegacy) expect(lanes.join()).toContain("session");
    await page.press("0.0 ms", ".events summary");
    await page.sees("b: 40", ".events");
  });

  test("a call of another client appears in the list immediately, with the name of that client", async () => {
    await open("");
    if (isLegacy) await (await LegacyClient.open(dev.url())).call("add", { a: 1, b: 1 });
    else await new ModernClient(dev.url()).call("add", { a: 1, b: 1 });
    await page.sees(isLegacy ? "legacy" : "ladder", ".row");
  });

  test("a question during a call is recorded with its answer", async () => {
    await open("#/tool/book_table");
    await page.press("Call", CALL);
    await page.sees("A table at Trattoria Faggio for how many?", ".asked");
    await page.press("Answer", ".asked button");
    await page.sees("A table for 2", ".call");
    await openEntry("book_table");
    await page.sees(isLegacy ? "elicitation/create" : "result A table for 2", ".events");
    const [related = ""] = await page.texts(".tags a");
    await page.press(related, ".tags a");
    await page.sees(isLegacy ? "answers #" : "continued by #", ".tags");
    if (!isLegacy) await page.sees("input required", ".events");
  });

  test("progress is in the lane of the client, and a running stream can be cut in its entry", async () => {
    await open("#/tool/roast_coffee");
    await page.fill("seconds", "30");
    await page.press("Call", CALL);
    await page.sees("Heating the drum", ".progress");
    await page.press("View trace", ".call a");
    await page.sees("notifications/progress", ".events");
    await page.press("Cut the stream", "button");
    await page.sees("Cut on purpose", ".tags");
  });

  test("a task is recorded, and its requests are linked", async () => {
    await open("#/tool/write_report");
    await page.fill("pages", "1");
    if (isLegacy) await page.fill("In the background, as a task", true);
    await page.press("Call", CALL);
    await page.sees("A report of 1 pages.", ".call");
    await openEntry("write_report");
    await page.sees("same task as #", ".tags");
    await page.sees("task", ".lane > span");
  });

  test("an entry is copied as a shell command and as a test", async () => {
    await open("#/tool/add");
    await page.fill("a", "3");
    await page.fill("b", "4");
    await page.press("Call", CALL);
    await openEntry("add");
    await page.browser.run(
      "Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: async (text) => { window.copied = text; } } })",
    );
    await page.press("Copy as curl", "button");
    await page.browser.waitFor("window.copied?.startsWith('curl')");
    const command = (await page.browser.run("window.copied")) as string;
    if (!isLegacy) {
      const { stdout } = await promisify(execFile)("sh", ["-c", command]);
      expect(stdout).toContain('"structuredContent":{"sum":7}');
    }
    await page.press("Copy as test", "button");
    await page.browser.waitFor("window.copied?.includes('startWorker')");
    expect(await page.browser.run("window.copied")).toContain("tools/call add");
  });
});

describe("objects and faults", () => {
  test("objects show their tables without being woken, and can be evicted, reset and woken by their alarm", async () => {
    await page.open("#/objects", { version: "2025-11-25" });
    await page.sees("session", ".call h2");
    const press = (role: string, button: string) =>
      page.browser.run(`(() => {
        const object = [...document.querySelectorAll('.call')].find((each) => each.querySelector('h2')?.innerText === ${JSON.stringify(role)});
        [...object.querySelectorAll('.actions button')].find((each) => each.innerText === ${JSON.stringify(button)}).click();
      })()`);
    await page.sees("row", ".call summary");
    for (const button of ["Evict", "Reset", "Run its alarm"]) {
      const before = (await page.texts(".call .actions")).join();
      await press("session", button);
      await page.browser.waitFor(
        `[...document.querySelectorAll('.call .actions')].map((each) => each.innerText.trim()).join() !== ${JSON.stringify(before)}`,
      );
    }
  });

  test("the clock is advanced, answers are delayed, and workerd is killed and restarted", async () => {
    await page.open("#/tool/add");
    await page.press("More actions", "button");
    await page.press("Clock: 1 hour ahead", ".menu button");
    await page.sees("The clock is 3600000 ms ahead", ".menu .about");
    await page.press("Delay answers by 5 s", ".menu button");
    await page.sees("5", ".menu .about");
    await page.press("Stop delaying", ".menu button");
    await page.press("Kill workerd", ".menu button");
    await page.browser.waitFor("/started|killed|again/.test(document.querySelector('.menu .group .about')?.innerText)");
    // On a loaded machine, wrangler may start workerd again later than a page is waited for.
    let answer = "";
    const isServed = async () => {
      answer = await (await new ModernClient(dev.url()).call("add", { a: 1, b: 1 })).text();
      return answer.includes('"sum":2');
    };
    await until("workerd is started again", isServed, START_MS).catch((error: Error) => {
      throw new Error(`${error.message}. The last response is: ${answer}. Output: ${dev.output.slice(-2_000)}`);
    });
    await page.open("#/tool/add");
    await page.fill("a", "1");
    await page.fill("b", "1");
    await page.press("Call", CALL);
    await page.sees("Done", ".call");
  });
});

test("a call of a read-only tool with an idempotency key has no findings, although the key is stored", async () => {
  const client = await connect(dev.url(), { name: "agent", version: "1" });
  await client.callTool("add", { a: 1, b: 1 });
  const entry = await dev.entry("the call", (summary) => summary.client?.name === "agent" && summary.target === "add");
  expect(entry.counts.rowsWritten).toBeGreaterThan(0);
  expect(entry.findings).toEqual([]);
  await client.close();
});

test("a recording is exported and imported, and two calls are compared", async () => {
  await page.open("");
  const add = (b: number) => new ModernClient(dev.url()).call("add", { a: 1, b });
  for (const b of [1, 2]) await (await add(b)).text();
  await dev.entry("the calls", ({ target }) => target === "add");
  const file = await dev.api<RecordingFile>("recording");
  const pair = file.entries.filter(({ target }) => target === "add").slice(-2);
  expect(pair).toHaveLength(2);
  await page.press("More actions", "button");
  await page.browser.run(`(() => {
    const files = new DataTransfer();
    files.items.add(new File([${JSON.stringify(JSON.stringify({ ...file, entries: pair }))}], 'recording.json'));
    const input = document.querySelector('.menu input[type=file]');
    input.files = files.files;
    input.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);
  await page.sees("2 entries were imported.", ".menu");
  const [a, b] = (await dev.api<{ id: string }[]>("entries")).slice(-2).map(({ id }) => id);
  await page.show(`#/call/${a}`);
  await page.press("Compare with…", "button");
  await page.show(`#/call/${b}`);
  await page.press(`Compare with #${a}`, "a");
  await page.sees("structuredContent.sum", "table");
});
