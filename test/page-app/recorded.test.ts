// @module-tag long
/** The recorded calls in the page of `mcp-edge dev`: the list, the panel of a call, faults, comparison and files. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ObjectState } from "../../src/recorder/api.ts";
import { richEntry, sampleEntry } from "../harness/sample-entries.ts";
import { OpenedPage } from "./opened-page.ts";

let page: OpenedPage;
beforeAll(async () => {
  page = await OpenedPage.start("src/reference/index.ts");
}, 300_000);
afterAll(async () => {
  await page?.[Symbol.asyncDispose]();
});
afterEach(() => {
  expect(page.problems).toEqual([]);
});

/** Ids that cannot collide with the calls of the page itself. */
const at = (number: number) => 100_000 + number;
const rows = () => page.texts(".row");
const isAbove = (text: string) =>
  `[...document.querySelectorAll('.row')][0]?.innerText.includes(${JSON.stringify(text)})`;

async function openList(): Promise<void> {
  page.recorder.removeAll();
  await page.open("");
  for (let number = 1; number <= 40; number += 1) page.recorder.put({ ...sampleEntry(number), id: String(at(number)) });
  page.recorder.put(richEntry(String(at(41))));
  await page.browser.waitFor(isAbove("search_shipments"));
}

describe("the list", () => {
  test("shows calls of all clients immediately, with their outcomes as text", async () => {
    await openList();
    page.recorder.put({ ...sampleEntry(8), id: String(at(50)), outcome: "running" });
    await page.browser.waitFor(isAbove("track_shipment"));
    expect((await rows())[0]).toMatch(/^Running:\s+track_shipment tools\/call/);
    page.recorder.put({ ...sampleEntry(8), id: String(at(50)), outcome: "cut-by-server" });
    await page.browser.waitFor(isAbove("Cut by the server"));
    // Calls of this page appear in the same way.
    await page.show("#/tool/add");
    await page.fill("a", "1");
    await page.fill("b", "1");
    await page.press("Call", "form.schema button.main");
    await page.sees("add tools/call", ".row");
    await page.sees("this page", ".row");
    await page.press("View trace", ".call a");
    await page.sees("tools/call add", ".events");
  });

  test("keeps a call that is reported while the list is being read, above older calls", async () => {
    await openList();
    const held = Promise.withResolvers<void>();
    page.recorder.listIsHeld = held.promise;
    page.recorder.dropStreams();
    await page.sees("not connected to the recorder", ".timeline");
    await page.sees("live", ".timeline");
    page.browser.errors.length = 0;
    page.recorder.put({ ...sampleEntry(8), id: String(at(50)), outcome: "running" });
    await page.browser.waitFor(isAbove("track_shipment"));
    page.recorder.listIsHeld = undefined;
    held.resolve();
    page.recorder.put({ ...sampleEntry(8), id: String(at(51)), outcome: "cut-by-server" });
    await page.browser.waitFor(isAbove("Cut by the server"));
    expect((await rows())[1]).toMatch(/^Running:\s+track_shipment tools\/call/);
  });

  test("is filtered by words, and hides housekeeping by default", async () => {
    await openList();
    expect((await rows()).filter((row) => row.includes("tools/list"))).toEqual([]);
    await page.fill("Hide successful lists, notifications and streams", false);
    await page.sees("tools/list", ".row");
    await page.fillSelector("#filter", "exception codex");
    await page.browser.waitFor(
      "[...document.querySelectorAll('.row')].every((row) => row.innerText.includes('cancel_pickup') && row.innerText.includes('codex'))",
    );
    await page.fillSelector("#filter", "nothing of the kind");
    await page.sees("No calls match the filters.");
  });

  test("is usable with the keyboard: c focuses the list, and arrow keys open calls", async () => {
    await openList();
    await page.browser.run("document.body.focus()");
    await page.browser.press("c");
    await page.browser.waitFor("document.activeElement.matches('.entries')");
    await page.browser.press("ArrowDown");
    await page.browser.waitFor(`location.hash === '#/call/${at(41)}'`);
    await page.browser.press("ArrowDown");
    await page.browser.waitFor(`location.hash === '#/call/${at(40)}'`);
    // The list is rendered again after the event that the changed hash causes.
    const active = "document.activeElement.getAttribute('aria-activedescendant')";
    await page.browser.waitFor(`${active} === 'entry-${at(40)}'`);
    await page.browser.press("End");
    await page.browser.waitFor(`document.querySelector('#entry-${at(1)}')?.getAttribute('aria-selected') === 'true'`);
    const isInView = `(() => { const row = document.querySelector('#entry-${at(1)}').getBoundingClientRect(); const list = document.querySelector('.entries').getBoundingClientRect(); return row.bottom <= list.bottom + 1; })()`;
    await page.browser.waitFor(isInView);
  });

  test("with 10,000 calls, each keystroke in the filter is painted, and only visible rows are rendered", async () => {
    page.recorder.removeAll();
    for (let number = 1; number <= 10_000; number += 1)
      page.recorder.put({ ...sampleEntry(number), id: String(at(number)) });
    await page.open("");
    await page.browser.waitFor(
      "document.querySelector('.timeline h2 small').textContent === '10,000' || document.querySelectorAll('.row').length > 5",
    );
    await page.browser.run("document.querySelector('#filter').focus()");
    expect(await page.browser.run("document.querySelectorAll('.row').length")).toBeLessThan(60);
    // The time from each keystroke until the next frame is painted.
    await page.browser.run(`
      window.painted = [];
      document.querySelector('#filter').addEventListener('input', () => {
        const begin = performance.now();
        requestAnimationFrame(() => { const channel = new MessageChannel(); channel.port1.onmessage = () => window.painted.push(performance.now() - begin); channel.port2.postMessage(0); });
      }, true);
    `);
    for (const key of "export") await page.browser.type(key);
    await page.browser.waitFor("window.painted.length === 6");
    await page.browser.waitFor(
      "[...document.querySelectorAll('.row')].every((row) => row.innerText.includes('export_ledger'))",
    );
    const painted = (await page.browser.run("window.painted")) as number[];
    expect(painted).toHaveLength(6);
    // Scrolling to the end renders the last rows.
    await page.fillSelector("#filter", "");
    await page.browser.run("document.querySelector('.entries').scrollTop = 1e9");
    await page.browser.waitFor(`document.querySelector('#entry-${at(1)}') !== null`);
  });
});

describe("an opened call", () => {
  test("shows findings, lanes, the list of events, rows by table, figures and headers", async () => {
    await openList();
    await page.show(`#/call/${at(41)}`);
    await page.sees("24 statements of one form ran in one invocation.", ".finding");
    expect(await page.texts(".lane > span")).toEqual([
      "",
      "Client mcp-edge page 0.1.0",
      "Worker",
      "session 51bd07e3",
      "hub c04d11fe",
      "Storage",
    ]);
    await page.sees("TypeError: Cannot read properties of undefined", ".events");
    await page.sees("$4.63", ".figures");
    expect((await page.texts("tbody tr")).map((row) => row.split("\t"))).toContainEqual(["parcels", "24", "24", "0"]);
    await page.press("Request headers (3)", "summary");
    await page.sees("<token, 812 characters>", ".headers");
    await page.press("notifications/progress 0", ".events summary").catch(() => undefined);
    await page.press("Storage", ".switch button");
    await page.browser.waitFor(
      "![...document.querySelectorAll('.events li')].some((row) => row.innerText.includes('SELECT'))",
    );
  });

  test("opens the event that is selected in the chart", async () => {
    await openList();
    await page.show(`#/call/${at(41)}`);
    await page.browser.waitFor("document.querySelector('.lane.hub, .event.is-work') !== null");
    await page.browser.run("document.querySelector('.event.is-work').click()");
    await page.browser.waitFor(
      "document.activeElement.matches('summary.line') && document.activeElement.parentElement.open",
    );
  });

  test("is reloaded when it changes", async () => {
    await openList();
    const entry = { ...richEntry(String(at(60))), outcome: "running" as const };
    page.recorder.put(entry);
    await page.show(`#/call/${at(60)}`);
    await page.sees("Running", ".tags");
    await page.press("Cut the stream", "button");
    await page.sees("Done: cut.");
    page.recorder.put({ ...entry, outcome: "cut-on-purpose" });
    await page.sees("Cut on purpose", ".tags");
    expect(page.recorder.posted.at(-1)).toEqual({
      path: "faults",
      body: { kind: "cut", entry: String(at(60)) },
      isFromPage: true,
    });
  });

  test("is copied as a curl command and as a test, and compared with another call", async () => {
    await openList();
    await page.show(`#/call/${at(41)}`);
    await page.sees("Copy as curl");
    await page.browser.run(
      "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } })",
    );
    await page.press("Copy as curl", "button");
    await page.browser.waitFor(`window.copied === 'curl of ${at(41)}'`);
    await page.press("Copy as test", "button");
    await page.browser.waitFor(`window.copied === 'test of ${at(41)}'`);
    page.recorder.comparison = { pairs: [], differences: [{ where: "counts.rowsRead", left: 27, right: 0 }] };
    await page.press("Compare with…", "button");
    await page.show(`#/call/${at(40)}`);
    await page.press(`Compare with #${at(41)}`, "a");
    await page.sees("counts.rowsRead", "table");
    expect(page.recorder.posted.at(-1)?.body).toEqual({ a: String(at(41)), b: String(at(40)) });
  });

  test("that does not exist shows an error", async () => {
    await page.open("#/call/999999");
    await page.sees("There is no entry 999999.", ".mistake");
    page.browser.errors.length = 0;
  });
});

const OBJECT: ObjectState = {
  id: "51bd07e3".padEnd(64, "0"),
  className: "McpObject",
  role: "session",
  name: "session:1",
  awake: false,
  lastInvokedAtMs: Date.UTC(2026, 0, 1),
  alarmAtMs: Date.UTC(2030, 0, 1),
  bytes: 20_480,
  tables: [{ name: "streams", rows: 1, columns: ["id", "state"], first: [[1, "<text, 3 characters>"]] }],
  keys: [{ key: "level", bytes: 4, value: "info" }],
  facts: [["streams", "1"]],
  entries: ["100041"],
};

test("the work of mcp-edge itself can be hidden in a recorded call", async () => {
  await openList();
  await page.open(`#/call/${at(41)}`);
  await page.sees("In order", ".events");
  const before = (await page.texts(".events li")).length;
  await page.press("mcp-edge", ".events .switch button");
  await page.browser.waitFor(`document.querySelectorAll('.events li').length < ${before}`);
  expect((await page.texts(".events li")).some((row) => row.includes("Client"))).toBe(true);
});

describe("objects and faults", () => {
  test("objects show their storage and their next alarm", async () => {
    page.recorder.objects = [OBJECT];
    page.recorder.hasFaults = true;
    await page.open("#/objects");
    await page.sees("asleep", ".call");
    await page.sees("20,480 bytes", ".call");
    await page.press("streams: 1 row", ".call summary");
    await page.sees("<text, 3 characters>", ".call td");
    await page.press("Evict", ".call button");
    await page.sees("Done: evict.", ".call");
    expect(page.recorder.posted.at(-1)?.body).toEqual({ kind: "evict", object: OBJECT.id });
  });

  test("faults that require a flag are disabled without it", async () => {
    page.recorder.hasFaults = false;
    await page.open("#/objects");
    await page.sees("Reset and alarms need mcp-edge dev --faults", ".call");
    expect(
      await page.browser.run(
        "[...document.querySelectorAll('.call .actions button')].filter(({ disabled }) => disabled).map(({ innerText }) => innerText)",
      ),
    ).toEqual(["Reset", "Run its alarm"]);
    await page.press("More actions", "button");
    await page.press("Kill workerd", "button");
    await page.sees("Done: kill.", ".menu");
    await page.press("Delay answers by 5 s", "button");
    await page.sees("Done: delay.", ".menu");
    expect(page.recorder.posted.slice(-2).map(({ body }) => body)).toEqual([
      { kind: "kill" },
      { kind: "delay", ms: 5_000 },
    ]);
    expect(page.recorder.posted.every(({ isFromPage }) => isFromPage)).toBe(true);
  });

  test("a recording is exported, imported and removed", async () => {
    await openList();
    await page.press("More actions", "button");
    expect(await page.browser.run("document.querySelector('.menu a').getAttribute('href')")).toBe(
      `${page.recorder.origin}/__mcp-edge/api/recording`,
    );
    await page.browser.run(`(() => {
      const files = new DataTransfer();
      files.items.add(new File([JSON.stringify({ entries: [1, 2] })], 'recording.json'));
      const input = document.querySelector('.menu input[type=file]');
      input.files = files.files;
      input.dispatchEvent(new Event('change', { bubbles: true }));
    })()`);
    await page.sees("2 entries were imported.", ".menu");
    await page.press("Remove all calls", "button");
    await page.sees("No calls yet.");
  });
});

test("HTML in texts of servers and clients is shown as text", async () => {
  const attack = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>";
  const rich = richEntry(String(at(70)));
  page.recorder.removeAll();
  await page.open("");
  page.recorder.put({
    ...rich,
    target: attack,
    outcomeText: attack,
    client: { name: attack, version: "1" },
    messages: [{ atMs: rich.startedAtMs, from: "server", message: { result: { content: attack, isError: true } } }],
    findings: [{ what: attack, where: attack, why: attack }],
  });
  await page.show(`#/call/${at(70)}`);
  await page.sees(attack, "h1");
  await page.press("0.0 ms", ".events summary");
  await page.sees(attack, ".events");
  await page.sees(attack, ".row");
  expect(await page.browser.run("[document.images.length, window.hacked ?? null]")).toEqual([0, null]);
});

test("shows a message while the recorder is not reachable", async () => {
  await page.open("");
  page.recorder.dropStreams();
  await page.sees("not connected to the recorder", ".timeline");
  await page.sees("live", ".timeline");
  page.browser.errors.length = 0;
});
